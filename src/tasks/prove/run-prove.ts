import { createHash } from "node:crypto";
import pMap from "p-map";
import type { TestEnd } from "../../agent/record/test-end.ts";
import { provingTools } from "../../agent/tools/index.ts";
import { type ProofReport, ToolError, type TriedTest } from "../../agent/tools/tool.ts";
import { AppError, asValue, publicLine } from "../../core/errors.ts";
import type { Proof, ProofTest, Revision } from "../../core/finding.ts";
import { decodeText } from "../../core/text/decode.ts";
import { startPlaceRun, type WorkDependencies } from "../loop/review-run.ts";
import { runLoop, workResult } from "../loop/run-loop.ts";
import { publicModelError, type StopReason, whyNoResult, worstStop } from "../shapes/review-result.ts";
import { askIntent, type ProveRun, proveMessages } from "./messages.ts";
import { type ChangedCode, type ChangedFileText, findChangedCode } from "./proof/changed-code.ts";
import { type Claimed, type Judgment, judge, RUNS, revisionsOf, type TestRuns } from "./proof/judge.ts";
import type { ProveInput, ProveResult, ProveTarget } from "./prove-input.ts";

export interface ReplacedFile {
  path: string;
  bytes: Uint8Array;
}

/** Runs test files in the sandbox. */
export interface TestPort {
  /** The command line that runs a test; or why it cannot be run, as the end of a sentence. */
  commandFor(test: ProofTest): { command: string } | { why: string };
  /** Why a test is refused before it runs; null if it may run. */
  whyRefused(test: ProofTest): Promise<string | null>;
  /**
   * @param replaced for `repaired`: the file with the suggestion
   * @param key identifies this run; one that was recorded is not run again
   */
  run(order: TestRun, signal: AbortSignal): Promise<TestEnd>;
}

export interface TestRun {
  test: ProofTest;
  on: Revision;
  replaced: ReplacedFile | null;
  /** Two runs with the same key are the same run. */
  key: string;
}

interface ProveDependencies extends WorkDependencies {
  tests: TestPort;
}

/** Proofs at once; each run of a test may use a core. */
const CONCURRENCY = 2;

/** Lets a model write a test for each finding, and decides by runs of it what it shows. Writes nothing. */
export async function runProve(input: ProveInput, deps: ProveDependencies): Promise<ProveResult> {
  const { tests } = deps;
  const run = await startPlaceRun(input, deps);
  const changed = await findChangedCode(changedTexts(run));
  deps.progress({ type: "phase", phase: "proving" });
  let done = 0;
  const ended = await pMap(
    input.targets,
    async (target) => {
      const proved = await proofOf(run, target, tests, changed);
      deps.progress({ type: "proof", done: ++done, total: input.targets.length });
      return proved;
    },
    { concurrency: CONCURRENCY },
  );
  return {
    proofs: ended.map(({ proof }, at) => ({ id: input.targets[at]?.id ?? "", proof })),
    ...workResult(run, "verify", worstStop(ended.map(({ stopReason }) => stopReason))),
  };
}

const notShown = (reason: string): Proof => ({ kind: "not_shown", reason });

/** The files that a review reads. Others, generated ones for example, may be many and large, and no finding is about them. */
async function* changedTexts({ change: { files }, deps }: ProveRun): AsyncGenerator<ChangedFileText> {
  for (const { change, totalHunks, reviewable } of files) {
    if (!reviewable || totalHunks === 0 || change.type === "deleted" || deps.isPrivate(change.path)) continue;
    const [diff, file] = await Promise.all([
      deps.diffs.fileDiff(change, 3).catch(asValue),
      deps.workspace.readBlob(change.newOid).catch(asValue),
    ]);
    if (diff instanceof AppError || file instanceof AppError || file.binary) continue;
    yield { change, diff, text: file.text };
  }
}

const TURNS = 24;
const TOKENS = 600_000;
const TIME_SHARE = 0.6;
/** How often a model may end a proof that the runs do not confirm. */
const ATTEMPTS = 3;

/** Our own words never judge; neither may those of the model in our comment. */
const JUDGING =
  /\b(?:bugs?|buggy|faults?|faulty|defects?|wrong(?:ly)?|broken|incorrect(?:ly)?|regress\w*)\b/i;

interface LastTest {
  test: ProofTest;
  command: string;
}

async function proofOf(
  run: ProveRun,
  target: ProveTarget,
  tests: TestPort,
  allChanged: ChangedCode,
): Promise<{ proof: Proof; stopReason: StopReason }> {
  // A test of other changed code says nothing about the finding.
  const changed = allChanged.about(target.path);
  const { workspace } = run.deps;
  let newest: LastTest | null = null;
  let attempts = 0;
  let decided: Proof | null = null as Proof | null;
  /** Whether the failure at the head comes from an error that the change adds. */
  let isOnPurpose = false;

  const messages = await proveMessages(run, target).catch(asValue);
  if (messages instanceof AppError) return { proof: notShown(publicLine(messages)), stopReason: "finished" };
  const { stopReason, modelError } = await runLoop(run, {
    loop: `prove:${target.id}`,
    role: "verify",
    messages,
    outputTools: provingTools,
    ports: { proof: { tryTest, finish } },
    turns: TURNS,
    tokens: TOKENS,
    milliseconds: run.limits.timeLeft() * TIME_SHARE,
  });
  if (decided === null) {
    const why = modelError
      ? publicModelError(modelError)
      : whyNoResult(stopReason, "the model did not finish the proof");
    return { proof: notShown(why.replace(/\.$/, "")), stopReason };
  }
  return { proof: await unlessAskedFor(decided), stopReason };

  async function tryTest(
    test: ProofTest,
    on: readonly TriedTest["on"][],
    signal: AbortSignal,
  ): Promise<readonly TriedTest[]> {
    for (const ref of ["head", "merge_base"] as const) {
      const tree = await workspace.tree(ref);
      if (tree.has(test.path)) throw new ToolError(`'${test.path}' exists already: write a new file`);
      const other = lookalike(test.path, tree.keys());
      if (other !== null)
        throw new ToolError(
          `a test runner could run '${other}' as well as '${test.path}': choose another name`,
        );
    }
    const refused = await tests.whyRefused(test);
    if (refused !== null) throw new ToolError(`this test shows nothing: ${refused}`);
    const how = tests.commandFor(test);
    if ("why" in how) throw new ToolError(`'${test.path}' cannot be run: ${how.why}`);
    const tried = { test, command: how.command };
    newest = tried;
    const runs: TriedTest[] = [];
    for (const one of on) {
      const end = await runOnce(tried, one, "try", signal);
      const note = noteOf(end, changed);
      runs.push({
        on: one,
        passed: end.exit_code === 0,
        exitCode: end.exit_code,
        note,
        stdout: end.stdout,
        stderr: end.stderr,
      });
    }
    return runs;
  }

  async function runOnce(
    { test, command }: LastTest,
    on: Revision,
    nth: string,
    signal: AbortSignal,
  ): Promise<TestEnd> {
    const replaced = on === "repaired" ? await repairedFile() : null;
    const { head, mergeBase } = workspace.shas;
    const { paths, prove } = run.input.config;
    const files = [on === "base" ? mergeBase : head, replaced && sha256(replaced.bytes), paths.private];
    const environment = [mergeBase, prove.prepare];
    const key = sha256(JSON.stringify([files, environment, command, test.path, test.text, nth]));
    return tests.run({ test, on, replaced, key }, signal);
  }

  /** @throws ToolError if there is no suggestion that can be put in place */
  async function repairedFile(): Promise<ReplacedFile> {
    const { suggestion, path, side, line, start_line } = target;
    const entry = (await workspace.tree("head")).get(path);
    if (suggestion === null || side !== "RIGHT" || line === null || !entry)
      throw new ToolError("the finding has no suggestion: `repaired` cannot be run");
    const { text, encoding } = decodeText(await workspace.readBytes(entry.oid));
    if (encoding !== "utf8") throw new ToolError("the file of the suggestion is not UTF-8");
    const lines = text.split("\n");
    const kept = suggestion === "" ? [] : suggestion.split("\n");
    lines.splice((start_line ?? line) - 1, line - (start_line ?? line) + 1, ...kept);
    return { path, bytes: Buffer.from(lines.join("\n"), "utf8") };
  }

  async function finish(
    report: ProofReport,
    signal: AbortSignal,
  ): Promise<{ ok: true } | { ok: false; reason: string }> {
    const { outcome, reason } = report;
    if (outcome === "none") {
      decided = notShown(oneLine(reason));
      return { ok: true };
    }
    const last = newest;
    if (!last) return { ok: false, reason: "no test was run: call try_test first" };
    const word = JUDGING.exec(`${report.before} ${report.now}`)?.[0];
    if (word) return { ok: false, reason: `\`before\` and \`now\` say only what happens, not '${word}'` };
    attempts += 1;
    const { judgment, runs } = await judgeRuns(outcome, last, signal);
    if (judgment.ok) {
      const { frames = [] } = judgment.failure ?? {};
      const output = (runs.head ?? []).map(({ stdout, stderr }) => `${stdout}\n${stderr}`).join("\n");
      isOnPurpose = changed.isThrownOnPurpose({ frames, output });
      decided = shown(outcome, report, runs, judgment, last);
      return { ok: true };
    }
    decided = notShown(`the test does not show it: ${judgment.reason}`);
    return attempts >= ATTEMPTS ? { ok: true } : { ok: false, reason: judgment.reason };
  }

  async function judgeRuns(claimed: Claimed, last: LastTest, signal: AbortSignal) {
    const runs: Partial<Record<Revision, TestEnd[]>> = {};
    for (const on of revisionsOf[claimed]) {
      const ends: TestEnd[] = [];
      for (let nth = 1; nth <= RUNS; nth++) ends.push(await runOnce(last, on, `${nth}`, signal));
      runs[on] = ends;
    }
    const read = async (path: string) => {
      const entry = (await workspace.tree("head")).get(path);
      const file = entry && (await workspace.readBlob(entry.oid).catch(() => null));
      return file && !file.binary ? file.text : null;
    };
    const executed = (runs.head ?? []).flatMap((end) => end.executed ?? []);
    const code = { changed, leading: await changed.leadingTo(executed, read) };
    return { runs, judgment: judge(claimed, last.test, runs, code) };
  }

  function shown(
    kind: Claimed,
    { before, now }: ProofReport,
    runs: TestRuns,
    { failure }: Extract<Judgment, { ok: true }>,
    last: LastTest,
  ): Proof {
    return {
      kind,
      ...last,
      before: kind === "ran_right" ? "" : before,
      // What the run itself printed comes last: the words before it are a model's.
      now: failure === null ? now : `${now} (${failure.line})`,
      runs: revisionsOf[kind].flatMap((on) => {
        const end = runs[on]?.[0];
        return end ? [{ on, exit_code: end.exit_code, output: shownOutput(end) }] : [];
      }),
    };
  }

  /** A mark needs that nothing in the change asks for what happens now; a new fault and an added error also need words against them. */
  async function unlessAskedFor(proof: Proof): Promise<Proof> {
    if (proof.kind !== "regression" && proof.kind !== "reproduced") return proof;
    const { test, before, now } = proof;
    const intent = await askIntent(run, { target, test, before, now });
    if (intent === null) return notShown("it is not known whether the pull request asks for it");
    if (!intent.fits) return notShown("the test shows something else than the finding says");
    if (intent.asks === "now") return notShown(`the pull request asks for it: "${oneLine(intent.quote)}"`);
    if (intent.asks === "before") return proof;
    if (proof.kind === "reproduced")
      return notShown("nothing in the pull request says that it should be otherwise");
    if (isOnPurpose)
      return notShown("the change adds this error, and nothing in it says that it should not happen here");
    return proof;
  }
}

/**
 * A file that a runner may take for the test as well: Vitest and Jest run all files whose path contains the given one, and Jest reads it as a
 * pattern. A test of the pull request's own would decide then.
 */
function lookalike(path: string, others: Iterable<string>): string | null {
  const plain = (one: string) => one.toLowerCase().replace(/[^a-z0-9]/g, "-");
  const wanted = plain(path);
  for (const other of others) if (plain(other).includes(wanted)) return other;
  return null;
}

const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text).digest("hex");

const MAX_REASON = 300;
const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim().slice(0, MAX_REASON).replace(/\.$/, "");

const MAX_OUTPUT = 4_000;

function shownOutput({ stdout, stderr }: TestEnd): string {
  const text = [stdout.trimEnd(), stderr.trimEnd()].filter((part) => part !== "").join("\n");
  return text.length <= MAX_OUTPUT ? text : `${text.slice(0, MAX_OUTPUT)}\n…`;
}

function noteOf({ ended, changed, executed }: TestEnd, code: ChangedCode): string | null {
  const notes: string[] = [];
  if (ended !== null) notes.push(`A limit ended it: ${ended}.`);
  if (changed.length > 0) notes.push(`It changed files of the repository: ${changed.join(", ")}.`);
  if (executed === null)
    notes.push("It is not known which functions it ran, so it shows nothing: run it in another way.");
  else if (!executed.some((one) => code.includes(one)))
    notes.push(
      "It ran none of the changed functions: it shows nothing, unless a changed list of parameters refused the call.",
    );
  return notes.join(" ") || null;
}
