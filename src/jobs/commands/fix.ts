import { parseFilePatch } from "../../diff/file-diff.ts";
import { AppError } from "../../errors.ts";
import { worstFirst } from "../../finding.ts";
import { openWorkspace } from "../../git/object-workspace.ts";
import type { RevisionPlace } from "../../git/workspace.ts";
import type { PullRequest, SourceBranch } from "../../github/pull-request-api.ts";
import { isOpenCarried, isOpenFinding, type Ledger, type PostedFinding } from "../../ledger/entry.ts";
import { parseMarker } from "../../ledger/marker.ts";
import type { Models } from "../../llm/model.ts";
import { answerFixed } from "../../publish/answer-fixed.ts";
import { currentLedger } from "../../publish/existing.ts";
import { renderFix, suggestionComments, suggestionsBody, type ToldFix } from "../../publish/fix-texts.ts";
import { postOnce } from "../../publish/post-once.ts";
import type { Command, JobOutcome } from "../../queue/job.ts";
import { requireLease } from "../../queue/run-job.ts";
import type { FixResult } from "../../review/fix/fix-input.ts";
import { suggestionsFor } from "../../review/fix/suggestions.ts";
import { splitLines } from "../../text/cut.ts";
import { isRefusal } from "../attempts.ts";
import {
  answered,
  answeredWithError,
  type CommandContext,
  mayWrite,
  reviewAfter,
  say,
} from "./command-context.ts";
import { type CommittedFix, changesTo, commitFix, patchTo } from "./commit-fix.ts";
import { type MadeFix, makeFix, recordedFix } from "./make-fix.ts";

/** Most findings of one fix; nobody reads a larger commit. */
const MOST = 10;

/**
 * Repairs the finding of the thread, or all open ones, and pushes the repair to the pull request's branch, on request with the tests that
 * show the findings. Then a normal review reads the push, and answers and resolves what is fixed.
 */
export async function fix(
  context: CommandContext,
  { all, withTests }: Extract<Command, { name: "fix" }>,
): Promise<JobOutcome> {
  const { api, deps, tools, comment } = context;
  if (!all && comment.thread === null) return answered(context, WHERE, "it names no finding");
  if (deps.models === null) return answered(context, NO_MODEL, "there is no model to ask");
  const recorded = await tools.recorded();
  const known = recordedFix(recorded);
  // A recorded repair of an earlier head is only pushed on top of that head.
  const pull = atHead(await api.pull(), known?.head);
  if (pull.state === "closed" && !known) return { kind: "skipped", reason: "the pull request is closed" };
  const ledger = await currentLedger(api);
  const entries = known ? repairedBy(known.fix, ledger) : wanted(ledger, all ? null : comment.thread);
  if (entries.length === 0) return answered(context, nothingToDo(all, ledger), "there is nothing to repair");
  try {
    const how = { withTests: withTests === true, models: deps.models, recorded };
    return await repair({ context, pull, entries, ...how });
  } catch (error) {
    return answeredWithError(context, "I cannot repair this", error);
  }
}

const WHERE =
  "Which finding? Write `/fix` in the thread of a finding, or `/fix all` to repair all open findings.";
const NO_MODEL =
  "I cannot repair this, because no model is configured here. Only the built-in analyzers review.";

const atHead = (pull: PullRequest, head: string | undefined): PullRequest =>
  head === undefined ? pull : { ...pull, headSha: head };

/** The worst first. */
function wanted({ entries }: Ledger, thread: number | null): PostedFinding[] {
  const standing = entries.filter(
    (one) => one.comment !== null && isOpenFinding(one) && (thread === null || one.comment === thread),
  );
  return standing.toSorted(worstFirst).slice(0, MOST);
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

interface Repairing {
  context: CommandContext;
  pull: PullRequest;
  entries: readonly PostedFinding[];
  withTests: boolean;
  models: Models;
  recorded: Awaited<ReturnType<CommandContext["tools"]["recorded"]>>;
}

async function repair({ context, pull, entries, ...how }: Repairing): Promise<JobOutcome> {
  const { deps, tools, job } = context;
  const { number, headSha: head, baseSha: base, baseRef } = pull;
  const { repository } = job.task;
  const checkout = await deps.checkout({
    ...{ repository, pull: number, head, base, baseRef, signal: tools.signal },
  });
  const place: RevisionPlace = checkout.place;
  try {
    const made = await makeFix({ context, pull, entries, place, ...how });
    const landed: Landed = { context, pull, place, entries, made };
    const landing = await landFix(landed);
    const titles = new Map(entries.map(({ id, title }) => [id, title]));
    await say(context, renderFix({ fix: made.fix, titles, head, end: await endOf(landed, landing) }));
    if (landing.kind !== "pushed") return { kind: "done", reason: landing.kind };
    await answerThreads(landed, landing.commit);
  } finally {
    await checkout.release();
  }
  return reviewAfter(context);
}

/** A request for a repair allows us to resolve its thread, even if people wrote in it. */
async function answerThreads({ context, entries, made }: Landed, headSha: string): Promise<void> {
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
async function endOf(landed: Landed, landing: Landing): Promise<ToldFix["end"]> {
  if (landing.kind === "moved") return { ...landing, mayHaveStood: landed.made.isRecorded };
  if (landing.kind !== "offered") return landing;
  const { why, commit } = landing;
  if (await suggest(landed, commit)) return { kind: "suggested", why };
  const { place, context } = landed;
  return { kind: "patch", why, patch: await patchTo(commit, { place, signal: context.tools.signal }) };
}

async function suggest(landed: Landed, commit: string): Promise<boolean> {
  const { context, place } = landed;
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
  const isOurs = ({ body }: { body: string }) => {
    const marker = parseMarker(body);
    return marker?.kind === "suggested" && marker.comment === comment.id;
  };
  const stands = async () => (await api.ownReviews()).some(isOurs);
  try {
    if (await stands()) return true;
    await postOnce(() => api.createReview(place.shas.head, suggestionsBody(comment.id), comments), stands);
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

interface Landed {
  context: CommandContext;
  pull: PullRequest;
  /** Checkout of the head that was repaired. */
  place: RevisionPlace;
  entries: readonly PostedFinding[];
  made: MadeFix;
}

/**
 * Pushes a repair to the pull request's branch if the branch has not changed. Another attempt makes the same commit and finds it
 * pushed.
 */
async function landFix(landed: Landed): Promise<Landing> {
  const { context, pull, place, entries, made } = landed;
  const { deps, job, tools } = context;
  const github = await deps.github.pushing(job.task.repository, tools.signal);
  const committed = await commitFix({
    ...{ ...made, place, author: github.author, at: job.createdAt, signal: tools.signal },
    named: entries.flatMap(({ path, files }) => [path, ...files]),
  });
  if (committed.kind !== "committed") return committed;
  const { commit } = committed;
  const clear = await lookBeforePush(landed, commit);
  if (clear) return clear;
  const target = targetOf(pull.source);
  if ("why" in target) return { kind: "offered", commit, why: target.why };
  if (!(await mayWrite(context))) return { kind: "offered", commit, why: NO_LONGER };
  await requireLease(context.tools);
  try {
    const { owner, repo: name, branch } = target;
    const end = await deps.push({
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
  /** The pull request was closed. */
  | { kind: "closed" };

interface BeforePush {
  context: CommandContext;
  /** The findings to repair. */
  entries: readonly PostedFinding[];
  made: MadeFix;
}

/**
 * Checks right before the push whether it is still wanted; null if it is. A repair takes minutes, and people may settle its findings or
 * close the pull request meanwhile, so the pull request and the ledger are read again. An earlier attempt may have pushed it and ended
 * before its answer.
 */
async function lookBeforePush({ context, entries, made }: BeforePush, commit: string): Promise<Clear | null> {
  const now = await context.api.pull();
  if (made.isRecorded && (await isIn(context, now, commit))) return { kind: "pushed", commit };
  if (now.state === "closed") return { kind: "closed" };
  const ledger = await currentLedger(context.api);
  const standing = new Set(ledger.entries.filter(isOpenFinding).map(({ id }) => id));
  const repaired = entries.filter(({ id }) => made.fix.repairs.some((one) => one.repaired && one.id === id));
  return repaired.some(({ id }) => standing.has(id)) ? null : { kind: "settled" };
}

async function isIn(
  { job, deps, tools }: CommandContext,
  pull: PullRequest,
  commit: string,
): Promise<boolean> {
  const { number, headSha: head, baseSha: base, baseRef } = pull;
  if (head === commit) return true;
  const { repository } = job.task;
  const checkout = await deps.checkout({
    ...{ repository, pull: number, head, base, baseRef, signal: tools.signal },
  });
  try {
    await using workspace = openWorkspace(checkout.place);
    return (await workspace.commits(MOST_COMMITS)).some(({ sha }) => sha === commit);
  } finally {
    await checkout.release();
  }
}
