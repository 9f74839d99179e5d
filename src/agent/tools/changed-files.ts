import { z } from "zod";
import { count } from "../../core/text/count.ts";
import { shorten } from "../../repo/diff/file-diff.ts";
import type { ChangedFile } from "../../repo/diff-source.ts";
import type { ChangeType } from "../../repo/git/workspace.ts";
import { fitting, showPath } from "../../repo/show.ts";
import { wholeNumber } from "./read-arguments.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

const Input = z.strictObject({
  start: wholeNumber(1).optional().describe("First, from 1."),
  end: wholeNumber(1).optional().describe("Last, inclusive."),
});
type Input = z.infer<typeof Input>;

export interface FileChange {
  path: string;
  change_type: ChangeType;
  old_path: string | null;
  additions: number | null;
  deletions: number | null;
  binary: boolean;
  total_hunks: number;
  reviewable: boolean;
  skip_reason: string | null;
}

function toFileChange({ change, reading, totalHunks, reviewable, skipReason }: ChangedFile): FileChange {
  return {
    path: change.path,
    change_type: change.type,
    old_path: change.oldPath,
    additions: change.additions,
    deletions: change.deletions,
    binary: change.additions === null && !change.isUnreadable,
    total_hunks: reading === "line" ? 0 : totalHunks,
    reviewable,
    skip_reason: skipReason,
  };
}

async function execute(input: Input, context: ToolContext) {
  const files = await context.diffs.files();
  const { start = 1, end = files.length } = input;
  if (files.length > 0 && start > files.length) {
    throw new ToolError(`start ${start} is past the end: ${count(files.length, "file")} changed`);
  }
  if (files.length > 0 && end < start) throw new ToolError(`end ${end} is before start ${start}`);
  const output = files.slice(start - 1, end).map(toFileChange);
  const left = files.length - (start - 1 + output.length);
  return left > 0 ? { output, note: `${count(left, "further file")} changed.` } : { output };
}

/** git's letters for the changes of a file. */
export const changeLetters: Record<ChangeType, string> = {
  added: "A",
  modified: "M",
  deleted: "D",
  renamed: "R",
  copied: "C",
  type_changed: "T",
};

/** A change that one line tells: `R src/b.ts (was src/a.ts)  same content`. */
export function toldLine({ change }: ChangedFile): string {
  const { path, oldPath, type, oldMode, newMode } = change;
  const from = oldPath === null ? "" : ` (was ${showPath(oldPath)})`;
  if (type === "added") return `A ${showPath(path)}  an empty file`;
  const mode = oldMode === newMode ? "same content" : `same content, mode ${oldMode} -> ${newMode}`;
  return `${changeLetters[type]} ${showPath(path)}${from}  ${type === "deleted" ? "git shows no lines of it" : mode}`;
}

/** Two paths of any length fit into one answer. */
const shownPath = (path: string) => shorten(showPath(path));

function line(file: FileChange): string {
  const path =
    file.old_path === null
      ? shownPath(file.path)
      : `${shownPath(file.path)} (was ${shownPath(file.old_path)})`;
  const lines = file.additions === null ? "" : ` +${file.additions} -${file.deletions}`;
  const state = file.reviewable
    ? ` ${count(file.total_hunks, "hunk")}`
    : ` not reviewed: ${file.skip_reason}`;
  return `${changeLetters[file.change_type]} ${path}${lines}${state}`;
}

function render(output: FileChange[], input: Input, maxBytes: number) {
  if (output.length === 0) return { text: "No file changed." };
  const heading = `${count(output.length, "changed file")} (A added, M modified, D deleted, R renamed, T type changed):`;
  const lines = output.map(line);
  const shown = fitting(lines, maxBytes - heading.length - 1);
  const text = [heading, ...lines.slice(0, shown)].join("\n");
  if (shown === lines.length) return { text };
  const { start = 1 } = input;
  return { text, next: { start: start + shown, end: start + lines.length - 1 } };
}

export const changedFiles = defineTool<Input, FileChange[]>({
  name: "changed_files",
  title: "Changed files",
  description: "The changed files with added and removed lines, hunks, and why one is not reviewed.",
  returns:
    '`FileChange[]`: `path`, `change_type` (`"added"`, `"modified"`, `"deleted"`, `"renamed"`, `"copied"`, `"type_changed"`), `old_path`, `additions`, `deletions` (null for a binary file), `binary`, `total_hunks`, `reviewable`, `skip_reason`; in git\'s order.',
  example: {},
  kind: "read",
  input: Input,
  execute,
  render,
});
