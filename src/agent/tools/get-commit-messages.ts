import { z } from "zod";
import { count } from "../../core/text/count.ts";
import type { Commit } from "../../repo/git/workspace.ts";
import { fitting } from "../../repo/show.ts";
import { wholeNumber } from "./read-arguments.ts";
import { defineTool, type ToolContext } from "./tool.ts";

const DEFAULT_COMMITS = 20;
const MAX_COMMITS = 250;

const Input = z.strictObject({
  max_commits: wholeNumber(1, MAX_COMMITS).default(DEFAULT_COMMITS).describe(`Up to ${MAX_COMMITS}.`),
});
type Input = z.infer<typeof Input>;

async function execute(input: Input, context: ToolContext) {
  const found = await context.workspace.commits(input.max_commits + 1);
  const output = found.slice(0, input.max_commits);
  if (found.length <= input.max_commits) return { output };
  if (input.max_commits === MAX_COMMITS)
    return { output, note: "There are older commits that cannot be listed.", truncated: true };
  return { output, next: { max_commits: Math.min(input.max_commits * 4, MAX_COMMITS) } };
}

function entry(commit: Commit): string {
  // A message with carriage returns has one before every line break.
  const message = commit.message.trimEnd().replace(/\r*\n/g, "\n  ");
  return `${commit.sha.slice(0, 12)} ${commit.date} ${commit.author}\n  ${message}`;
}

function render(output: Commit[], _input: Input, maxBytes: number) {
  if (output.length === 0) return { text: "No commits between the merge base and head." };
  const entries = output.map(entry);
  // The newest commit is always shown, as much as fits.
  const shown = Math.max(1, fitting(entries, maxBytes - 64));
  const left = entries.length - shown;
  const rest = left > 0 ? [`(${count(left, "older commit")} did not fit)`] : [];
  return { text: [...entries.slice(0, shown), ...rest].join("\n"), truncated: left > 0 };
}

export const getCommitMessages = defineTool<Input, Commit[]>({
  name: "get_commit_messages",
  title: "Commit messages",
  description: "Commits of the change with their whole messages, newest first.",
  returns: "`CommitInfo[]`: `sha`, `author`, `date` (ISO 8601), `message` (whole); newest first.",
  example: { max_commits: 20 },
  kind: "read",
  input: Input,
  execute,
  render,
});
