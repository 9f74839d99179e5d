/** A command that people write in the first line of a comment. */
export interface CommandHelp {
  /** As it is written behind the slash. */
  usage: string;
  does: string;
}

/** All of them, in the order in which they are told. */
export const commandTable: readonly CommandHelp[] = [
  { usage: "review", does: "reviews what no review has read yet" },
  { usage: "review full", does: "reviews the whole change afresh" },
  { usage: "review --dry-run", does: "shows in one comment what a review of the whole change would post" },
  {
    usage: "ask QUESTION",
    does: "answers a question about the change; in the thread of a finding, about the finding",
  },
  {
    usage: "fix",
    does: "in the thread of a finding: repairs it and pushes the repair to the branch; `/fix all` repairs all that are open",
  },
  {
    usage: "resolve",
    does: "dismisses the finding in whose thread it is written; in the conversation, all that are open",
  },
  { usage: "pause", does: "stops reviews of pushes; commands go on working" },
  { usage: "resume", does: "goes on with them, and reviews what came meanwhile" },
  {
    usage: "remember RULE",
    does: "proposes a rule for later reviews as a pull request to the configuration",
  },
  { usage: "help", does: "shows this list" },
];

/** The table in Markdown, for people who ask and for the documentation. */
export function renderCommandTable(): string {
  const rows = commandTable.map(({ usage, does }) => `| \`/${usage}\` | ${does} |`);
  return ["| Command | What it does |", "| --- | --- |", ...rows].join("\n");
}

export const commandRules =
  "A command is in the first line of a comment, in the conversation or in a review thread, and is for people who can write to the repository. Instead of `/` the name of the App can be used: `@name review`.";
