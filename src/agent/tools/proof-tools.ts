import { z } from "zod";
import { cutLine, headAndTail } from "../../core/text/cut.ts";
import { shownBytes } from "../../repo/diff/file-diff.ts";
import { pathFault } from "../../repo/diff/paths.ts";
import { defineTool, type Rendered, type ToolContext, ToolError, type TriedTest } from "./tool.ts";

const MAX_PATH = 300;
const MAX_CONTENT = 20_000;
/** For up to three runs, one after the other, with everything around them. */
const TRYING_MS = 15 * 60_000;
const MAX_NOTE_BYTES = 1_000;
const MAX_PASSED_BYTES = 600;

/** A shell reads such a path as one word, and no program reads it as an option, nor as a file with options: pytest does so after an `@`. */
export const testPath = /^[\w+][\w@.+/-]*$/;

const Input = z.strictObject({
  path: z
    .string()
    .min(1)
    .max(MAX_PATH)
    .regex(testPath, "only letters, digits and the characters _ @ . + / -, and no @ at its beginning")
    .refine((path) => pathFault(path) === undefined, "must be a path below the root folder")
    .describe("A new file, where tests of that code are kept, so that its imports resolve."),
  content: z.string().min(1).max(MAX_CONTENT).describe("The whole test file."),
  on: z
    .array(z.enum(["base", "head", "repaired"]))
    .min(1)
    .max(3)
    .default(["base", "head"])
    .describe(
      "On which files it runs: those of the merge base, those of the head, or those of the head with the finding's suggestion.",
    ),
});
type Input = z.infer<typeof Input>;

interface Output {
  runs: readonly TriedTest[];
}

async function execute(input: Input, { proof }: ToolContext, signal: AbortSignal) {
  if (!proof) throw new ToolError("no test can be run here: this is not a proof");
  const runs = await proof.tryTest({ path: input.path, text: input.content }, [...new Set(input.on)], signal);
  return { output: { runs } };
}

const names = { base: "merge base", head: "head", repaired: "head with the suggestion" };

function render({ runs }: Output, _input: Input, maxBytes: number): Rendered {
  const room = maxBytes / Math.max(1, runs.length) - 200;
  // Nobody learns much from what a test that passes prints.
  const parts = runs.map((run) => renderRun(run, run.passed ? Math.min(room, MAX_PASSED_BYTES) : room));
  return {
    text: parts.map(({ text }) => text).join("\n\n"),
    truncated: parts.some(({ truncated }) => truncated),
  };
}

/** stderr gets the room that stdout leaves, and at least half of it. */
function renderRun({ on, passed, exitCode, stdout, stderr, note }: TriedTest, room: number) {
  const errors = headAndTail(stderr, room / 2, shownBytes);
  const out = headAndTail(stdout, room - shownBytes(errors.text), shownBytes);
  const text = [
    `## ${names[on]}: ${passed ? "passed" : "failed"} (exit code ${exitCode})`,
    ...(note === null ? [] : [cutLine(note, MAX_NOTE_BYTES)]),
    ...(out.text === "" ? [] : [out.text]),
    ...(errors.text === "" ? [] : [`[stderr]\n${errors.text}`]),
  ].join("\n");
  return { text, truncated: out.truncated || errors.truncated };
}

export const tryTest = defineTool<Input, Output>({
  name: "try_test",
  title: "Run a test of a proof",
  description:
    "Runs one new test file once on each of the named revisions, without network, in copies that are thrown away. The last file that was run is the test of the proof. A file that can cheat is refused, with the line.",
  returns: "`runs`, each with `on`, `passed`, `exitCode`, `stdout`, `stderr` and a `note`.",
  example: {
    path: "test/cart-total.proof.test.ts",
    content:
      'import assert from "node:assert/strict";\nimport { total } from "../src/cart.ts";\n\nassert.equal(total([]), 0);\n',
  },
  kind: "change",
  input: Input,
  timeoutMs: TRYING_MS,
  execute,
  render,
});

const MAX_LINE = 300;
const MAX_REASON = 1_000;
/** For the runs that decide: up to six, one after the other. */
const DECIDING_MS = 30 * 60_000;

const line = z
  .string()
  .max(MAX_LINE)
  .default("")
  .transform((text) => text.replaceAll(/\s+/g, " ").trim());

const End = z.strictObject({
  outcome: z
    .enum(["regression", "reproduced", "ran_right", "none"])
    .describe(
      "regression: the test passes at the merge base and fails at the head. reproduced: it fails at the head and passes with the suggestion. ran_right: the input of the finding was run, and the head does the right thing, whatever the merge base does. none: none of these could be shown.",
    ),
  before: line.describe(
    "What happens at the merge base (for `reproduced`: with the suggestion) on the input, with the value. Only what happens, without a judgment. Left out for `ran_right`.",
  ),
  now: line.describe(
    "What happens at the head on the same input, with the value or the error that the run printed.",
  ),
  reason: z
    .string()
    .min(1)
    .max(MAX_REASON)
    .describe("One plain sentence: what the test does; for `none`, why it cannot be shown."),
});
type End = z.infer<typeof End>;

export const finishProof = defineTool<End, { outcome: End["outcome"] }>({
  name: "finish_proof",
  title: "End a proof",
  description:
    "Ends a proof. The last test is run again, twice on each revision. These runs decide, not what you say. If they show something else, the answer says so, and you may write a better test.",
  returns: "`outcome` as it was accepted.",
  example: {
    outcome: "regression",
    before: "total([]) returns 0",
    now: "total([]) throws TypeError: Reduce of empty array with no initial value",
    reason: "An empty cart is added up.",
  },
  kind: "report",
  finishes: true,
  input: End,
  timeoutMs: DECIDING_MS,
  async execute(input, { proof }, signal) {
    if (!proof) throw new ToolError("there is no proof to end here");
    const isMark = input.outcome === "regression" || input.outcome === "reproduced";
    if (isMark && (input.before === "" || input.now === ""))
      throw new ToolError("`before` and `now` say what happens on the input, with the values");
    const answer = await proof.finish(input, signal);
    if (!answer.ok) throw new ToolError(answer.reason);
    return { output: { outcome: input.outcome }, endsLoop: true };
  },
  render: ({ outcome }) => ({ text: `Recorded: ${outcome}.` }),
});
