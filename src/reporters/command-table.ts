/** A command that people write in the first line of a comment. */
export interface CommandHelp {
  /** As it is written after the slash. */
  usage: string;
  does: string;
}

/** All commands, in the order in which they are listed. */
export const commandTable: readonly CommandHelp[] = [
  { usage: "review", does: "reviews what no earlier review has read" },
  { usage: "review full", does: "reviews the whole change again" },
  { usage: "review --dry-run", does: "shows in one comment what a review of the whole change would post" },
  {
    usage: "ask QUESTION",
    does: "answers a question about the change; in the thread of a finding, about the finding",
  },
  {
    usage: "fix",
    does: "in the thread of a finding: repairs it and pushes the repair to the branch; `/fix all` repairs all open findings",
  },
  {
    usage: "resolve",
    does: "in the thread of a finding: dismisses it; in the conversation: dismisses all open findings",
  },
  { usage: "pause", does: "stops reviews of pushes; commands still work" },
  { usage: "resume", does: "starts them again, and reviews what was pushed meanwhile" },
  {
    usage: "remember RULE",
    does: "opens a pull request that adds a rule for later reviews to the configuration",
  },
  { usage: "help", does: "shows this list" },
];

/** The table in Markdown, for `/help` and for the documentation. */
export function renderCommandTable(): string {
  const rows = commandTable.map(({ usage, does }) => `| \`/${usage}\` | ${does} |`);
  return ["| Command | What it does |", "| --- | --- |", ...rows].join("\n");
}

export const commandRules =
  "Write a command in the first line of a comment, in the conversation or in a review thread. You need write access to the repository. You can use the App's name instead of `/`: `@name review`.";
