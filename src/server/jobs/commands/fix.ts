import type { TrajectoryEntry } from "../../../agent/record/trajectory.ts";
import type { TestPlace } from "../../../border/messages.ts";
import { runTask } from "../../../border/run-task.ts";
import type { EffectiveConfig } from "../../../config/repo-config.ts";
import { AppError } from "../../../core/errors.ts";
import { type ProofTest, worstFirst } from "../../../core/finding.ts";
import { isOpenCarried, isOpenFinding, type Ledger, type PostedFinding } from "../../../core/ledger/entry.ts";
import { proofIn } from "../../../core/ledger/folds.ts";
import { splitLines } from "../../../core/text/cut.ts";
import type { PullRequest, SourceBranch } from "../../../pull/github/pull-request-api.ts";
import { answerFixed } from "../../../pull/publish/channels.ts";
import { currentLedger } from "../../../pull/publish/existing.ts";
import {
  type FixReport,
  renderFix,
  suggestionComments,
  suggestionsBody,
} from "../../../pull/publish/fix-texts.ts";
import { postOnce } from "../../../pull/publish/post-once.ts";
import { parseFilePatch } from "../../../repo/diff/file-diff.ts";
import { createPrivacy } from "../../../repo/diff/filter.ts";
import { openWorkspace } from "../../../repo/git/object-workspace.ts";
import { FixInput, FixResult, type FixTarget, fixTask } from "../../../tasks/fix/fix-input.ts";
import { suggestionsFor } from "../../../tasks/fix/suggestions.ts";
import type { Command, JobOutcome } from "../../queue/job.ts";
import { requireLease } from "../../queue/run-job.ts";
import { isRefusal, lastResult, recordedTests, recordStart } from "../attempts.ts";
import { withFolders } from "../load-config.ts";
import { beginRun, type CommandReading } from "../model-run.ts";
import {
  answered,
  answeredWithError,
  askedThread,
  type CommandContext,
  configFor,
  isMarked,
  mayWrite,
  ownThreads,
  reviewAfter,
  say,
  withCheckout,
} from "./command-context.ts";
import { type CommittedFix, changesTo, commitFix, patchTo } from "./commit-fix.ts";

/** Most findings of one fix; nobody reads a larger commit. */
const MOST = 10;

/** Repairs the finding of the thread, or all open ones, and pushes the repair. A normal review then answers and resolves what is fixed. */
export async function fix(
  context: CommandContext,
  { all, withTests }: Extract<Command, { name: "fix" }>,
): Promise<JobOutcome> {
  const { api, deps, tools, comment } = context;
  if (!all && comment.thread === null) return answered(context, WHERE, "it names no finding");
  const models = deps.models.all;
  if (models === null) return answered(context, NO_MODEL, "there is no model to ask");
  const recorded = await tools.recorded();
  const known = lastResult(FixResult, recorded);
  // A recorded repair of an earlier head is only pushed on top of that head.
  const present = await api.pull();
  const pull = known ? { ...present, headSha: known.head } : present;
  if (pull.state === "closed" && !known) return { kind: "skipped", reason: "the pull request is closed" };
  const ledger = await currentLedger(api);
  const entries = known ? repairedBy(known.result, ledger) : wanted(ledger, all ? null : comment.thread);
  if (entries.length === 0) return answered(context, nothingToDo(all, ledger), "there is nothing to repair");
  try {
    return await repair({ context, pull, entries, withTests: withTests === true, models, recorded });
  } catch (error) {
    return answeredWithError(context, "I cannot repair this", error);
  }
}

const WHERE =
  "Which finding? Write `/fix` in the thread of a finding, or `/fix all` to repair all open findings.";
const NO_MODEL =
  "I cannot repair this, because no model is configured here. Only the built-in analyzers review.";

/** The worst first. */
function wanted({ entries }: Ledger, thread: number | null): PostedFinding[] {
  const open = entries.filter(
    (one) => one.comment !== null && isOpenFinding(one) && (thread === null || one.comment === thread),
  );
  return open.toSorted(worstFirst).slice(0, MOST);
}

/** The findings of a recorded repair, in any state: it may have been pushed. */
const repairedBy = ({ repairs }: FixResult, { entries }: Ledger) =>
  entries.filter((entry) => repairs.some(({ id }) => id === entry.id));

function nothingToDo(all: boolean, { state }: Ledger): string {
  if (!all) return "This thread does not belong to an open finding of mine.";
  return state.carried.some(isOpenCarried)
    ? "There is no open finding with a thread. I cannot repair the findings that are only in the summary."
    : "There are no open findings.";
}

interface FixOrder extends Omit<CommandReading, "config" | "most"> {
  context: CommandContext;
  entries: readonly PostedFinding[];
  /** Whether the tests that show the findings must pass, and become a part of the repair. */
  withTests: boolean;
}
type Wanted = Omit<FixOrder, "place">;

async function repair(wanted: Wanted): Promise<JobOutcome> {
  const { context, pull, entries } = wanted;
  const { headSha: head } = pull;
  const end = await withCheckout(context, pull, async (place) => {
    const repaired: Repaired = { ...wanted, place, made: await makeFix({ ...wanted, place }) };
    const landing = await landFix(repaired);
    const titles = new Map(entries.map(({ id, title }) => [id, title]));
    const end = await endOf(repaired, landing);
    await say(context, renderFix({ fix: repaired.made.fix, titles, head, end }));
    if (landing.kind === "pushed") await answerThreads(repaired, landing.commit);
    return landing.kind;
  });
  return end === "pushed" ? reviewAfter(context) : { kind: "done", reason: end };
}

/** A request for a repair allows us to resolve its thread, even if people wrote in it. */
async function answerThreads({ context, entries, made }: Repaired, headSha: string): Promise<void> {
  const fixed = entries.flatMap((entry) => {
    const check = made.fix.repairs.find(({ id }) => id === entry.id)?.check;
    if (check?.state !== "fixed") return [];
    return [{ entry: { ...entry, is_theirs: false }, state: "fixed" as const, reason: check.reason }];
  });
  try {
    await answerFixed(fixed, { api: context.api, headSha });
  } catch (error) {
    // GitHub does not show the push yet, or there is a newer one: the next review checks.
    if (!(error instanceof AppError) || error.code !== "stale_head") throw error;
  }
}

/** Offers a repair that may not be pushed: as suggestions if all of it can be, otherwise as a patch. */
async function endOf(repaired: Repaired, landing: Landing): Promise<FixReport["end"]> {
  if (landing.kind === "moved") return { ...landing, mayHaveStood: repaired.made.isRecorded };
  if (landing.kind !== "offered") return landing;
  const { why, commit } = landing;
  if (await suggest(repaired, commit)) return { kind: "suggested", why };
  const { place, context } = repaired;
  return { kind: "patch", why, patch: await patchTo(commit, { place, signal: context.tools.signal }) };
}

async function suggest(repaired: Repaired, commit: string): Promise<boolean> {
  const { context, place } = repaired;
  const changes = await changesTo(commit, { place, signal: context.tools.signal });
  const files = changes.map(({ path, fix: fixed, change, text }) => ({
    path,
    fix: parseFilePatch(fixed, path, null),
    change: change === "" ? undefined : parseFilePatch(change, path, null),
    lines: splitLines(text),
  }));
  const suggestions = suggestionsFor(files);
  const comments = suggestions && suggestionComments(suggestions, context.comment.id);
  if (!comments) return false;
  await requireLease(context.tools);
  const { api, comment } = context;
  const isPosted = async () =>
    isMarked(await api.ownReviews(), "suggested", (marker) => marker.comment === comment.id);
  try {
    if (await isPosted()) return true;
    const body = suggestionsBody(comment.id);
    await postOnce(api, () => api.createReview(place.shas.head, body, comments), isPosted);
    return true;
  } catch (error) {
    // GitHub refuses comments on one of these lines, or all comments.
    if (!isRefusal(error)) throw error;
    return false;
  }
}

/** How a repair ended. */
type Landing =
  | Exclude<CommittedFix, { kind: "committed" }>
  /** The branch moved on in the meantime. */
  | { kind: "moved" }
  | Clear
  /** Complete, but we may not push it; `why` is the reason in words. */
  | { kind: "offered"; commit: string; why: string };

interface Repaired extends FixOrder {
  made: MadeFix;
}

/** Pushes a repair if the branch has not changed. Another attempt makes the same commit and finds it pushed. */
async function landFix(repaired: Repaired): Promise<Landing> {
  const { context, pull, place, entries, made } = repaired;
  const { deps, job, tools } = context;
  const github = await deps.github.pushing(job.task.repository);
  const committed = await commitFix({
    ...made,
    place,
    author: github.author,
    at: job.createdAt,
    signal: tools.signal,
    named: entries.flatMap(({ path, files }) => [path, ...files]),
  });
  if (committed.kind !== "committed") return committed;
  const { commit } = committed;
  const clear = await lookBeforePush(repaired, commit);
  if (clear) return clear;
  const target = targetOf(pull.source);
  if ("why" in target) return { kind: "offered", commit, why: target.why };
  if (!(await mayWrite(context))) return { kind: "offered", commit, why: NO_LONGER };
  await requireLease(context.tools);
  try {
    const { owner, repo: name, branch } = target;
    const end = await deps.disk.push({
      ...{ place, owner, name, branch, from: place.shas.head, to: commit, signal: tools.signal },
      authorization: await github.authorization(),
    });
    if (end.kind === "pushed") return { kind: "pushed", commit };
    return end.kind === "moved"
      ? end
      : { kind: "offered", commit, why: `GitHub rejected the push: ${end.reason}` };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "github_forbidden") throw error;
    return { kind: "offered", commit, why: "this installation has not granted `Contents: Read and write`" };
  }
}

const NO_LONGER = "the person who asked no longer has write access";

/** The branch to push to, or why there is none. */
function targetOf(source: SourceBranch | null): SourceBranch | { why: string } {
  if (source === null) return { why: "the repository of the branch no longer exists" };
  if (source.isDefault)
    return { why: `\`${source.branch}\` is the default branch, and only people may push to it` };
  if (source.isFork && !source.maintainersMayPush)
    return { why: "the fork does not let maintainers push to the branch" };
  return source;
}

/** How many commits of a pull request are searched for ours; it is one of the newest. */
const MOST_COMMITS = 1_000;

/** Why a repair needs no push any more. */
type Clear =
  | { kind: "pushed"; commit: string }
  /** People settled its findings in the meantime. */
  | { kind: "settled" }
  | { kind: "closed" };

/** Checks right before the push whether it is still wanted; null if it is: people may have settled its findings or closed the pull request. */
async function lookBeforePush({ context, entries, made }: Repaired, commit: string): Promise<Clear | null> {
  const now = await context.api.pull();
  // An earlier attempt pushed it, and ended before its answer.
  if (made.isRecorded && (await isIn(context, now, commit))) return { kind: "pushed", commit };
  if (now.state === "closed") return { kind: "closed" };
  const ledger = await currentLedger(context.api);
  const open = new Set(ledger.entries.filter(isOpenFinding).map(({ id }) => id));
  const repaired = entries.filter(({ id }) => made.fix.repairs.some((one) => one.repaired && one.id === id));
  return repaired.some(({ id }) => open.has(id)) ? null : { kind: "settled" };
}

async function isIn(context: CommandContext, pull: PullRequest, commit: string): Promise<boolean> {
  if (pull.headSha === commit) return true;
  return withCheckout(context, pull, async (place) => {
    await using workspace = openWorkspace(place);
    return (await workspace.commits(MOST_COMMITS)).some(({ sha }) => sha === commit);
  });
}

interface MadeFix {
  fix: FixResult;
  /** An earlier attempt made it, and may have pushed it. */
  isRecorded: boolean;
  isPrivate(path: string): boolean;
  /** The test that the repair of a finding has to pass, by the finding's id. */
  testOf(id: string): ProofTest | undefined;
}

/** Lets a model repair findings. Rejects with `budget_spent`, `config_invalid`, and with a fault of the model that may pass. */
async function makeFix(order: FixOrder): Promise<MadeFix> {
  const { context, pull, place, recorded } = order;
  const { deps, tools } = context;
  const config = await withFolders(await configFor(context, pull), place, deps);
  const isPrivate = createPrivacy(config.paths.private);
  const known = lastResult(FixResult, recorded);
  if (known?.head === pull.headSha)
    return { fix: known.result, isRecorded: true, isPrivate, testOf: testsOf(recordedTargets(recorded)) };

  const run = await beginRun(context, { ...order, config, most: fixTask.most });
  const pinned = await run.pin(Pinned, async () => ({
    ...(await run.common()),
    targets: await targetsOf(order, isPrivate),
  }));
  const input: FixInput = { ...run.input, ...pinned };
  const hasTests = input.targets.some(({ test }) => test);
  const testPlace = hasTests ? await testPlaceOf(order, config) : undefined;
  await recordStart({ kind: "run", what: "fix", shas: place.shas, input }, recorded, tools);
  const fix = await runTask(fixTask, input, {
    ...run.process,
    sandbox: await deps.processes.commandSandbox(config, tools.signal),
    started: deps.processes.start(place.root),
    testPlace,
    tested: recordedTests(recorded),
  });
  if (fix.stop_reason === "model_error") run.throwIfPassing();
  await run.recordResult(fix);
  return { fix, isRecorded: false, isPrivate, testOf: testsOf(input.targets) };
}

const testsOf =
  (targets: readonly FixTarget[]): MadeFix["testOf"] =>
  (id) =>
    targets.find((target) => target.id === id)?.test;

function recordedTargets(recorded: readonly TrajectoryEntry[]): readonly FixTarget[] {
  const start = recorded.findLast((entry) => entry.kind === "run" && entry.what === "fix");
  return (start?.kind === "run" && FixInput.safeParse(start.input).data?.targets) || [];
}

/** Where the tests run; rejects with `not_allowed` if they cannot, before anything is paid for. */
async function testPlaceOf({ context, place }: FixOrder, config: EffectiveConfig): Promise<TestPlace> {
  const { deps, tools, job } = context;
  if (!config.prove.enabled)
    throw withoutTests("no test can run: the configuration of the base branch switches proofs off");
  const wanted = { place, config, repository: `${job.task.repository.id}` };
  const found = await deps.processes.findTestPlace(wanted, tools.signal);
  if ("why" in found) throw withoutTests(`no test can run: ${found.why}`);
  return found;
}

const withoutTests = (why: string) =>
  new AppError("not_allowed", why, { remedy: "To repair it without a test, write /fix alone" });

const Pinned = FixInput.pick({ pull: true, targets: true, limits: true });

async function targetsOf(
  { context, entries, withTests }: FixOrder,
  isPrivate: (path: string) => boolean,
): Promise<FixTarget[]> {
  const shown = entries.filter(({ path }) => !isPrivate(path));
  if (shown.length === 0)
    throw new AppError("config_invalid", "the configuration keeps the files of these findings private");
  const threads = await ownThreads(context);
  const targets = shown.flatMap(({ comment, id, title, symbol, source, files }): FixTarget[] => {
    const thread = askedThread(threads, { comment: { id: context.comment.id, thread: comment } });
    if (!thread) return [];
    const proof = withTests ? proofIn(threads.find((one) => one.comment === comment)?.body ?? "") : null;
    // Its command is in the comment for people: a person may have edited it.
    const test = proof && { path: proof.path, text: proof.text };
    return [{ ...thread, id, title, symbol, source, files, ...(test && { test }) }];
  });
  if (withTests && targets.length > 0 && targets.every(({ test }) => !test))
    throw withoutTests(
      targets.length === 1 ? "the finding has no test that shows it" : "no finding has a test that shows it",
    );
  if (targets.length > 0) return targets;
  throw new AppError("github_forbidden", "GitHub does not show the threads of these findings to the App");
}
