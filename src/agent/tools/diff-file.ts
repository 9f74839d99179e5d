import { z } from "zod";
import { count } from "../../core/text/count.ts";
import {
  headerFacts,
  MAX_DIFF_LINES,
  parseFilePatch,
  printDiff,
  renderHunks,
} from "../../repo/diff/file-diff.ts";
import { WITHHELD } from "../../repo/diff/filter.ts";
import { isPathTooLong } from "../../repo/diff/paths.ts";
import { noteShown, pageBudget, servedHunks, takePage } from "../../repo/diff-pages.ts";
import { type ChangedFile, GITHUB_CONTEXT } from "../../repo/diff-source.ts";
import type { Change, Workspace } from "../../repo/git/workspace.ts";
import { latin1Note, MAX_RENDERED_BYTES, showPath, UNREAD } from "../../repo/show.ts";
import { didYouMean, keysToRead, nearMisses, refusePrivate } from "./paths.ts";
import { wholeNumber } from "./read-arguments.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

const kinds: Record<string, string> = {
  "100644": "file",
  "100755": "executable file",
  "120000": "symbolic link",
  "160000": "submodule",
};
const kindOf = (mode: string) => kinds[mode] ?? `mode ${mode}`;
const ABSENT = "000000";

/** The content of a special entry: the target of a link, the commit of a submodule. */
async function contentOf(mode: string, oid: string, workspace: Workspace): Promise<string> {
  if (mode === "120000") return `symbolic link to '${(await workspace.readBlob(oid)).text}'`;
  if (mode === "160000") return `submodule at commit ${oid}`;
  return kindOf(mode);
}

/** Describes a change without hunks: binary, mode only, pure rename, submodule, symbolic link, empty file. */
async function changeInWords(change: Change, workspace: Workspace): Promise<string> {
  if (change.isUnreadable) return `Before or after the change it cannot be read: ${UNREAD}.`;
  const sentences: string[] = [];
  if (change.oldPath !== null) sentences.push(`Renamed from '${change.oldPath}'.`);
  const special = [change.oldMode, change.newMode].some((mode) => mode === "120000" || mode === "160000");
  if (special) {
    sentences.push(await specialChange(change, workspace));
    return sentences.join(" ");
  }
  const both = change.oldMode !== ABSENT && change.newMode !== ABSENT;
  if (both && change.oldMode !== change.newMode) {
    sentences.push(
      `Mode changed from ${change.oldMode} to ${change.newMode} (now ${kindOf(change.newMode)}).`,
    );
  }
  if (change.additions === null) sentences.push(`Binary file ${change.type}; there is no textual diff.`);
  else if (change.oldOid === change.newOid) sentences.push("The content is unchanged.");
  else sentences.push(`Empty file ${change.type}.`);
  return sentences.join(" ");
}

async function specialChange(change: Change, workspace: Workspace): Promise<string> {
  const now = () => contentOf(change.newMode, change.newOid, workspace);
  const before = () => contentOf(change.oldMode, change.oldOid, workspace);
  if (change.oldMode === ABSENT) return `Added: ${await now()}.`;
  if (change.newMode === ABSENT) return `Deleted: ${await before()}.`;
  return `Was: ${await before()}. Now: ${await now()}.`;
}

/** The changed file of a path, or of its old path. Throws a ToolError with the problem and a suggestion. */
async function findChange(given: string, context: ToolContext): Promise<ChangedFile> {
  const keys = await keysToRead(given, context);
  const files = await context.diffs.files();
  const named = (path: string | null) => path !== null && keys.includes(path);
  const found =
    files.find(({ change }) => named(change.path)) ?? files.find(({ change }) => named(change.oldPath));
  if (found) {
    refusePrivate(found.change.path, context);
    if (found.change.oldPath !== null && context.isPrivate(found.change.oldPath)) {
      throw new ToolError(
        `the diff of '${found.change.path}' is ${WITHHELD}: it was renamed from a private path`,
      );
    }
    return found;
  }
  refusePrivate(keys[0], context);
  throw await notChanged(keys[0], files, context);
}

async function notChanged(
  key: string,
  files: readonly ChangedFile[],
  context: ToolContext,
): Promise<ToolError> {
  if ((await context.workspace.tree("head")).has(key)) {
    return new ToolError(`'${key}' is not changed here, so it has no diff; read_file_part reads it`);
  }
  const visible = files.map(({ change }) => change.path).filter((path) => !context.isPrivate(path));
  const suggestions = nearMisses(key, visible);
  const hint = suggestions.length > 0 ? didYouMean(suggestions) : "; changed_files lists what changed";
  return new ToolError(`no changed file '${key}'${hint}`);
}

const HUNKS_A_PAGE = 20;
const MAX_CONTEXT = 1_000;

const Input = z.strictObject({
  file_path: z.string(),
  context_lines: wholeNumber(0, MAX_CONTEXT).default(GITHUB_CONTEXT).describe(`Up to ${MAX_CONTEXT}.`),
  start_hunk: wholeNumber(1).default(1).describe("First, from 1."),
  end_hunk: wholeNumber(1).optional().describe("Last, inclusive.").meta({ default: HUNKS_A_PAGE }),
});
type Input = z.infer<typeof Input>;

export interface FileDiffOutput {
  file_path: string;
  /** Unified diff of the returned hunks under git's header; a description if there is no textual diff. */
  diff: string;
  additions: number | null;
  deletions: number | null;
  total_hunks: number;
  returned_hunks: number;
  start_hunk: number;
  end_hunk: number;
}

async function withoutHunks(change: Change, context: ToolContext) {
  const { path: file_path, additions, deletions } = change;
  const counts = { additions, deletions, total_hunks: 0, returned_hunks: 0, start_hunk: 0, end_hunk: 0 };
  return { output: { file_path, diff: await changeInWords(change, context.workspace), ...counts } };
}

async function execute(input: Input, context: ToolContext, signal: AbortSignal) {
  const file = await findChange(input.file_path, context);
  const { change, reading, reviewable } = file;
  const isWhole = reviewable && reading === "whole";
  const diff = await (isWhole
    ? context.diffs.shownDiff(file)
    : context.diffs.fileDiff(change, input.context_lines));
  const served = servedHunks(diff);
  const total = served.length;
  if (total === 0) {
    const answer = await withoutHunks(change, context);
    if (reading === "line" && !signal.aborted) context.coverage.serve(change.path, 1);
    return answer;
  }
  const end = Math.min(input.end_hunk ?? input.start_hunk + HUNKS_A_PAGE - 1, total);
  if (input.start_hunk > total) {
    throw new ToolError(
      `start_hunk ${input.start_hunk} is past the end: '${change.path}' has ${count(total, "hunk")}`,
    );
  }
  if (end < input.start_hunk) {
    throw new ToolError(
      `end_hunk ${input.end_hunk} is before start_hunk ${input.start_hunk}; there are ${total}`,
    );
  }
  const hunks = takePage(served, input.start_hunk, end, pageBudget(diff));
  const last = input.start_hunk + hunks.length - 1;
  const output: FileDiffOutput = {
    file_path: change.path,
    diff: printDiff({ header: diff.header, hunks }),
    additions: change.additions,
    deletions: change.deletions,
    total_hunks: total,
    returned_hunks: hunks.length,
    start_hunk: input.start_hunk,
    end_hunk: last,
  };
  const note = await latin1Note(output.diff, [change.oldOid, change.newOid], context.workspace);
  const counted = await context.diffs.shownDiff(file);
  // An answer that comes too late is not shown.
  if (!signal.aborted) noteShown(context.coverage, counted, hunks);
  const answer = note === undefined ? { output } : { output, note };
  if (last === total) return answer;
  const width = input.context_lines === GITHUB_CONTEXT ? {} : { context_lines: input.context_lines };
  const next = { file_path: change.path, ...width, start_hunk: last + 1, end_hunk: last + HUNKS_A_PAGE };
  return { ...answer, next };
}

function render(output: FileDiffOutput) {
  const name = showPath(output.file_path);
  if (output.total_hunks === 0) return { text: `${name}: ${output.diff}` };
  const { header, hunks } = parseFilePatch(output.diff, output.file_path, null);
  const facts = headerFacts(header).map(
    (fact) => ` (${isPathTooLong(fact) ? "was a path too long to show" : fact})`,
  );
  const lines = `+${output.additions} -${output.deletions}`;
  const which =
    output.returned_hunks === output.total_hunks
      ? count(output.total_hunks, "hunk")
      : `hunks ${output.start_hunk}-${output.end_hunk} of ${output.total_hunks}`;
  return { text: `${name}${facts.join("")} ${lines}, ${which}\n${renderHunks(hunks)}` };
}

export const diffFile = defineTool<Input, FileDiffOutput>({
  name: "diff_file",
  title: "Diff of a changed file",
  description: `Diff of a changed file, ${HUNKS_A_PAGE} hunks at a time (fewer beyond ${MAX_RENDERED_BYTES / 1024} KiB, and large ones divided). A line begins with its number: "12  text" is unchanged, "13 +text" added (both numbered at head), "11 -text" removed (numbered at merge_base). Refused beyond ${count(MAX_DIFF_LINES, "line")}.`,
  returns:
    "`FileDiff`: `file_path`, `diff` (a valid unified diff, or a sentence if there is none), `additions` and `deletions` of the whole file, `total_hunks`, `returned_hunks`, `start_hunk`, `end_hunk`. Hunks that are larger than one answer are divided, and `total_hunks` counts the parts.",
  example: { file_path: "src/parser.ts", start_hunk: 1, end_hunk: 20 },
  kind: "read",
  input: Input,
  execute,
  render,
});
