import { z } from "zod";
import { parseFilePatch } from "../diff/parse.ts";
import { isPathTooLong } from "../diff/path-fault.ts";
import { headerFacts, printDiff, renderHunks } from "../diff/render.ts";
import { MAX_DIFF_LINES } from "../diff/survey.ts";
import type { Change } from "../git/workspace.ts";
import { changeInWords } from "./change-in-words.ts";
import { pageBudget, servedHunks, takePage } from "./diff-pages.ts";
import { GITHUB_CONTEXT } from "./diff-source.ts";
import { latin1Note } from "./encoding-note.ts";
import { findChange } from "./find-change.ts";
import { wholeNumber } from "./limits.ts";
import { noteShown } from "./served-hunks.ts";
import { count, showPath } from "./show.ts";
import { defineTool, MAX_RENDERED_BYTES, type ToolContext, ToolError } from "./tool.ts";

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
  /** Unified diff of the returned hunks under git's header; words where there is no textual diff. */
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
  const { change } = await findChange(input.file_path, context);
  const diff = await context.diffs.fileDiff(change, input.context_lines);
  const served = servedHunks(diff);
  const total = served.length;
  if (total === 0) return withoutHunks(change, context);
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
  const githubDiff = await context.diffs.fileDiff(change, GITHUB_CONTEXT);
  // Nobody is shown an answer that comes too late.
  if (!signal.aborted) noteShown(context.coverage, githubDiff, hunks);
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
    "`FileDiff`: `file_path`, `diff` (a valid unified diff, or words where there is none), `additions` and `deletions` of the whole file, `total_hunks`, `returned_hunks`, `start_hunk`, `end_hunk`. Hunks larger than one answer are divided and `total_hunks` counts the parts.",
  example: { file_path: "src/parser.ts", start_hunk: 1, end_hunk: 20 },
  kind: "read",
  input: Input,
  execute,
  render,
});
