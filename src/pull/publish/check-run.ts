import { AppError, type ErrorCode, errorLine } from "../../core/errors.ts";
import { type CheckMark, formatMarker, markerIn, withoutMarker } from "../../core/ledger/marker.ts";
import type { CheckRunUpdate, OwnCheckRun, PullState, RepositoryApi } from "../github/pull-request-api.ts";
import { isNoReview, isWaiting } from "./conclusions.ts";
import { checkRunKey, type ReviewKey } from "./existing.ts";
import { isAmbiguous, postOnce, repeat } from "./post-once.ts";
import { publicPlain, publicText } from "./public-text.ts";

type CheckApi = Pick<
  RepositoryApi,
  "checkRuns" | "createCheckRun" | "updateCheckRun" | "pullState" | "pause"
>;

/** The check run of one review. */
export interface CheckRun {
  /** Undefined if GitHub refuses us check runs. */
  readonly id: number | undefined;
  /** An earlier attempt opened it, and may have added annotations. */
  readonly takenUp: boolean;
  /** Why there is no check run, as a sentence for people; undefined if there is one. */
  readonly problem: string | undefined;
  /** A review of this head and trigger has ended with a conclusion: there is nothing to do. */
  readonly reviewed: boolean;
  /** The conclusion of the newest review of this head and branch when this one began; null if there was none. */
  readonly before: Own | null;
  /** The content while the review runs. */
  readonly goingOn: CheckRunUpdate;
  /** May be called again; the last call counts. */
  conclude(update: CheckRunUpdate): Promise<void>;
}

/**
 * Opens the check run of a head and trigger, or takes over that of an earlier attempt.
 *
 * @param again a person asked for this check run again: it is reopened even if a review has concluded it
 */
export async function openCheckRun(
  api: CheckApi,
  pull: PullState,
  trigger: string,
  again = false,
): Promise<CheckRun> {
  const { headSha } = pull;
  const externalId = checkRunKey({ head: headSha, trigger });
  const begun = goingOn(inProgress, pull);
  const keep = again ? () => false : isReviewed;
  const opened = await upsert(api, { head: headSha, trigger }, async () => begun, keep);
  let problem = opened.problem;
  // A check run that is taken over is not the newest: GitHub shows another one, which must not be green during the review.
  if (opened.found && !opened.kept && problem === undefined)
    problem = await withoutPermission(() => settle(api, headSha, pull));
  return {
    id: opened.id,
    takenUp: opened.found,
    get problem() {
      return problem;
    },
    reviewed: opened.kept,
    before: reviewedAs(pull, opened.before),
    goingOn: begun,
    async conclude(update) {
      const { id } = opened;
      if (id === undefined) return;
      problem = await withoutPermission(async () => {
        const commit = await readCommit(api, headSha, pull);
        await repeatUpdate(api, id, concluded(update, pull, commit, externalId));
        await settle(api, headSha, pull);
      });
    },
  };
}

/** Updates all check runs of a commit after it became, or is no longer, a pull request's head. Resolves to a notice if GitHub refuses. */
export const settleChecks = (api: CheckApi, headSha: string, pull: PullState): Promise<string | undefined> =>
  withoutPermission(() => settle(api, headSha, pull));

/** Whether a check run holds the conclusion of a review, whatever it shows. */
const isReviewed = (run: OwnCheckRun): boolean => isReview(ownOf(run));

/** Creates a concluded check run for a skipped pull request, unless a review has concluded it. Resolves to a notice if GitHub refused. */
export async function concludeAtOnce(
  api: CheckApi,
  pull: PullState,
  trigger: string,
  update: CheckRunUpdate,
): Promise<string | undefined> {
  const { headSha } = pull;
  const externalId = checkRunKey({ head: headSha, trigger });
  const shown = async () => concluded(update, pull, await readCommit(api, headSha, pull), externalId);
  const { problem } = await upsert(api, { head: headSha, trigger }, shown, isReviewed);
  return problem ?? (await withoutPermission(() => settle(api, headSha, pull)));
}

/** The same for a commit of a merge queue, which is not the head of a pull request. */
export async function concludeQueued(
  api: CheckApi,
  headSha: string,
  update: CheckRunUpdate,
): Promise<string | undefined> {
  const key = { head: headSha, trigger: "merge_group" };
  return (await upsert(api, key, async () => update, isReviewed)).problem;
}

/** Concludes a check run that an earlier attempt left open, if there is one. */
export async function closeCheckRun(
  api: CheckApi,
  key: ReviewKey,
  pull: PullState,
  update: CheckRunUpdate,
): Promise<void> {
  const externalId = checkRunKey(key);
  const existing = runsOf(await api.checkRuns(key.head), externalId);
  const open = existing.filter((run) => ownOf(run) === null);
  if (open.length === 0) return;
  const commit = await readCommit(api, key.head, pull);
  for (const { id } of open) await api.updateCheckRun(id, concluded(update, pull, commit, externalId));
  await settle(api, key.head, pull);
}

/** The check runs of one review, oldest first; more than one if workers did not know about each other. */
const runsOf = (runs: readonly OwnCheckRun[], externalId: string) =>
  runs.filter((run) => run.externalId === externalId);

/** Closes duplicates of a review's check run. They show its conclusion, or "Called off" until it has one. */
export async function closeDoubledChecks(api: CheckApi, headSha: string, externalId: string): Promise<void> {
  const [existing, ...doubles] = runsOf(await api.checkRuns(headSha), externalId);
  if (existing === undefined) return;
  const { completed, conclusion, title } = existing;
  const isKnown = completed && isConclusion(conclusion);
  const shown = isKnown ? { conclusion, title: publicPlain(title ?? "") } : calledOff;
  const update = { status: "completed", ...shown, summary: doubled } as const;
  for (const { id, completed } of doubles) if (!completed) await api.updateCheckRun(id, update);
}

const calledOff = { conclusion: "cancelled", title: publicPlain("Called off") } as const;
const doubled = publicText("Another worker of Hunkwise is reviewing this change. See its check run.");

export const inProgress: CheckRunUpdate = {
  status: "in_progress",
  title: publicPlain("Reviewing"),
  summary: publicText("Hunkwise is reading this change."),
};

interface Upserted {
  id: number | undefined;
  found: boolean;
  kept: boolean;
  before: readonly OwnCheckRun[];
  problem: string | undefined;
}

async function upsert(
  api: CheckApi,
  key: ReviewKey,
  content: () => Promise<CheckRunUpdate>,
  keep: (run: OwnCheckRun) => boolean,
): Promise<Upserted> {
  const { head } = key;
  const externalId = checkRunKey(key);
  let done: Omit<Upserted, "problem"> = { id: undefined, found: false, kept: false, before: [] };
  const problem = await withoutPermission(async () => {
    const wanted = await content();
    let isCurrent = false;
    let before: readonly OwnCheckRun[] | undefined;
    const find = async () => {
      const runs = await api.checkRuns(head);
      before ??= runs;
      const [existing, ...doubles] = runsOf(runs, externalId);
      const kept = existing !== undefined && keep(existing);
      done = { id: existing?.id, found: existing !== undefined, kept, before };
      // A late worker must not reopen what was concluded meanwhile.
      isCurrent =
        kept ||
        (existing?.completed === false && wanted.status === "in_progress" && ownOf(existing) === null);
      if (kept && doubles.some(({ completed }) => !completed))
        await closeDoubledChecks(api, head, externalId);
      return existing !== undefined;
    };
    if (await find()) return isCurrent ? undefined : repeatUpdate(api, done.id, wanted);
    const create = async () => {
      done.id = await api.createCheckRun(head, externalId, wanted);
    };
    await postOnce(api, create, find);
  });
  return { ...done, problem };
}

async function repeatUpdate(api: CheckApi, id: number | undefined, update: CheckRunUpdate): Promise<void> {
  if (id !== undefined) await repeat(api, () => api.updateCheckRun(id, update));
}

/** Errors that end the whole job. */
const ofTheJob = new Set<ErrorCode>(["aborted", "lease_lost", "superseded", "github_unauthorized"]);

/** Resolves to a notice if GitHub refuses for good; other failures reject. */
async function withoutPermission(action: () => Promise<void>): Promise<string | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    const isFinal = error instanceof AppError && !error.retryable && !isAmbiguous(error);
    if (!isFinal || ofTheJob.has(error.code)) throw error;
    return `No check run: ${errorLine(error)}`;
  }
}

/*
 * One conclusion for a commit. GitHub shows the newest check run of a name on a commit, from any pull request, and counts "skipped" and
 * "neutral" as passed
 * (https://docs.github.com/en/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/troubleshooting-required-status-checks).
 * So each check run keeps its own review's conclusion in its marker, and shows the worst of that and of the other open pull requests with
 * this head: a stranger's draft of the same commit cannot hide a failure.
 */

type Conclusion = NonNullable<CheckRunUpdate["conclusion"]>;
export type Own = NonNullable<CheckMark["own"]>;

/** From best to worst. */
const ranks: Record<Conclusion, number> = { success: 0, skipped: 1, neutral: 2, cancelled: 3, failure: 4 };

interface Judged extends OwnCheckRun {
  mark: CheckMark;
}

/** The check runs of a commit, and those of their pull requests that are open and have it as head. */
interface Commit {
  runs: readonly Judged[];
  pulls: readonly PullState[];
}

/** Most pull requests to look up; any others are assumed to be open. */
const mostPulls = 50;

/** `pull` is not looked up; it may have another head. */
async function readCommit(
  api: Pick<CheckApi, "checkRuns" | "pullState">,
  headSha: string,
  pull: PullState,
): Promise<Commit> {
  const runs = judged(await api.checkRuns(headSha));
  const known = new Map<number, PullState | undefined>([[pull.number, pull]]);
  for (const { mark } of runs.toReversed()) {
    if (known.has(mark.pull)) continue;
    const assumed = { number: mark.pull, state: "open", headSha, baseRef: mark.base } as const;
    known.set(mark.pull, known.size > mostPulls ? assumed : await api.pullState(mark.pull));
  }
  const isHere = (one: PullState | undefined) => one?.state === "open" && one.headSha === headSha;
  return { runs, pulls: [...known.values()].filter((one) => one !== undefined).filter(isHere) };
}

/** Duplicates of one review all get the conclusion of the one that has one. */
function judged(runs: readonly OwnCheckRun[]): Judged[] {
  const ofReviews = [...Map.groupBy(runs, ({ externalId }) => externalId).values()];
  const all = ofReviews.flatMap((doubles) => {
    const marked = doubles.flatMap((run) => {
      const mark = markOf(run);
      return mark ? [{ ...run, mark }] : [];
    });
    const isDecided = ({ mark: { own } }: Judged) => own !== null && own.conclusion !== "cancelled";
    const lead = marked.findLast(isDecided) ?? marked[0];
    if (!lead) return [];
    const { mark, summary, text } = lead;
    return doubles.map((run) => ({ ...run, mark, summary, text }));
  });
  return all.toSorted((a, b) => a.id - b.id);
}

const isConclusion = (text: string | null): text is Conclusion => text !== null && Object.hasOwn(ranks, text);

/** Null for a check run without a pull request, such as a merge queue's. */
const markOf = ({ summary }: OwnCheckRun): CheckMark | null => markerIn(summary ?? "", "check") ?? null;

/** The conclusion of the check run's own review, whatever it shows; null while it runs. */
export function ownOf(run: OwnCheckRun): Own | null {
  const mark = markOf(run);
  if (mark) return mark.own;
  return run.completed && isConclusion(run.conclusion)
    ? { conclusion: run.conclusion, title: run.title ?? "" }
    : null;
}

/** The base branch of a check run's pull request; undefined if not known. */
export const baseOf = (run: OwnCheckRun): string | undefined => markOf(run)?.base;

const reviewConclusions = new Set<Conclusion>(["success", "neutral", "failure"]);

/** Whether this is a review's conclusion. A withheld, skipped, canceled or failed review has none and may be repeated. */
export const isReview = (own: Own | null): boolean =>
  own !== null && reviewConclusions.has(own.conclusion) && !isNoReview(own.title);

const worse = <One extends Own>(a: One, b: One) => (ranks[b.conclusion] > ranks[a.conclusion] ? b : a);

/** The newest review of a pull request for its base branch. A check run that is requested again keeps its id, so ids do not tell. */
function reviewOf({ number, baseRef }: PullState, runs: readonly Judged[]): Judged | undefined {
  const isMeant = ({ mark }: Judged) => mark.pull === number && mark.base === baseRef && isReview(mark.own);
  return runs
    .filter(isMeant)
    .toSorted((a, b) => a.mark.turn - b.mark.turn)
    .at(-1);
}

export const reviewedAs = (pull: PullState, runs: readonly OwnCheckRun[]): Own | null =>
  reviewOf(pull, judged(runs))?.mark.own ?? null;

/**
 * The verdict of a pull request on this commit: its newest review for its base branch, else the worst of its other conclusions, except
 * canceled ones: red stays red while the base branch is one that is not reviewed.
 */
function verdictOf(pull: PullState, runs: readonly Judged[]): Own | null {
  const review = reviewOf(pull, runs);
  if (review) return review.mark.own;
  const others = runs
    .flatMap(({ mark }) => (mark.pull === pull.number ? (mark.own ?? []) : []))
    .filter(({ conclusion }) => conclusion !== "cancelled");
  return others.length === 0 ? null : others.reduce(worse);
}

/** What a check run shows. `from`: the pull request it comes from, if it is not the check run's own conclusion. */
interface Shown {
  /** Null: it waits for another review. */
  conclusion: Conclusion | null;
  title: string;
  from: number | null;
}

/**
 * A skipped pull request affects others only while it waits to be reviewed. A closed one does not count. Of two reviews of one pull request
 * the newer one counts. A running review is waited for, unless its pull request has a finished one.
 */
function shownBy(run: Judged, own: Own, { runs, pulls }: Commit): Shown {
  const { mark } = run;
  const here = pulls.find(({ number }) => number === mark.pull);
  const newest = here && reviewOf(here, runs);
  const verdicts = pulls.flatMap((pull) => {
    const isOther = pull !== here;
    const verdict = verdictOf(pull, runs);
    if (!verdict || (here && isOther && verdict.conclusion === "skipped" && !isWaiting(verdict))) return [];
    return [{ ...verdict, from: isOther || (newest && newest !== run) ? pull.number : null }];
  });
  const byItself = { ...own, from: null as number | null };
  // GitHub shows the last check run. The others may stay as they were.
  const isOutdone = newest !== undefined && newest !== run && isReview(own) && runs.at(-1) === run;
  const isOwn = here ? !isOutdone : verdicts.length === 0;
  const worst = (isOwn ? [byItself, ...verdicts] : verdicts).reduce(worse);
  const goesOn = (number: number) => runs.some((one) => one.mark.pull === number && one.mark.own === null);
  const awaited = pulls.find((pull) => goesOn(pull.number) && (pull !== here || newest === undefined));
  if (worst.conclusion === "failure") return worst;
  const waiting = [...(isOwn ? [byItself] : []), ...verdicts].find(isWaiting);
  if (awaited === undefined && waiting === undefined) return worst;
  return { conclusion: null, title: own.title, from: awaited?.number ?? waiting?.from ?? null };
}

/** Ends the review's own part of a check run's summary. Quoted text cannot contain it, because it begins like a marker. */
const ownEnd = "\n\n<!-- hunkwise:commit -->\n";

function goingOn(update: CheckRunUpdate, { number, baseRef }: PullState): CheckRunUpdate {
  const marker = formatMarker({ kind: "check", pull: number, base: baseRef, own: null, turn: 0 });
  return { ...update, summary: publicText(`${update.summary}\n\n${marker}`) };
}

/** The content of the check run `externalId` for a review that concluded with `update`. Repeated calls give the same. */
function concluded(
  update: CheckRunUpdate,
  pull: PullState,
  commit: Commit,
  externalId: string,
): CheckRunUpdate {
  const { conclusion = "neutral", title, summary, text = null } = update;
  const before = commit.runs.filter((one) => one.externalId !== externalId);
  const turn = 1 + Math.max(0, ...before.map((one) => one.mark.turn));
  const mark = { pull: pull.number, base: pull.baseRef, own: { conclusion, title }, turn };
  const run = { id: 0, externalId, completed: true, conclusion, title, summary, text, mark };
  // Its new conclusion replaces its earlier one.
  const others = before.filter((one) => one.mark.own !== null || one.mark.pull !== pull.number);
  return rendered(run, mark.own, { ...commit, runs: [...others, run] });
}

function rendered(run: Judged, own: Own, commit: Commit): CheckRunUpdate {
  const { conclusion, title, from } = shownBy(run, own, commit);
  const [ownPart = ""] = withoutMarker(run.summary ?? "").split(ownEnd);
  const other = from === run.mark.pull ? null : from;
  const why = from === null ? "" : whyOther(other, conclusion, own);
  const summary = [
    ownPart,
    ...(why === "" ? [] : [`${ownEnd.trim()}\n${why}`]),
    formatMarker({ kind: "check", ...run.mark }),
  ];
  return {
    ...(conclusion === null
      ? { status: from === null ? "queued" : "in_progress" }
      : { status: "completed", conclusion }),
    title: publicPlain(from === null ? title : titleOf(other, conclusion, title)),
    summary: publicText(summary.join("\n\n")),
    ...(run.text !== null && { text: publicText(run.text) }),
  };
}

function titleOf(other: number | null, conclusion: Conclusion | null, title: string): string {
  if (conclusion === null)
    return `Waiting for ${other === null ? "another review of this pull request" : `the review of #${other}`}`;
  return other === null ? title : `#${other} has the same commit: ${title}`;
}

const oneCheck = "GitHub shows one check for each commit";

function whyOther(other: number | null, conclusion: Conclusion | null, own: Own): string {
  const ownPart = `This review's own conclusion is "${own.conclusion}".`;
  if (other === null)
    return conclusion === null
      ? "Another review of this pull request is not finished. This check run waits for it, because it is about another base branch or about no review."
      : `The conclusion "${conclusion}" comes from a newer review of this pull request, which has its own check run. ${ownPart}`;
  return conclusion === null
    ? `Pull request #${other} has the same head commit, and its review is not finished. ${oneCheck}, so this check run waits.`
    : `The conclusion "${conclusion}" comes from pull request #${other}, which has the same head commit. ${oneCheck}, so this check run shows the worst conclusion of the open pull requests. ${ownPart}`;
}

/** Most rounds. Other workers rarely change a commit meanwhile, and each of them does this too. */
const mostRounds = 3;

/**
 * Updates every check run of a commit, when a review ends or takes over a check run, and when a pull request leaves the commit. Workers may
 * do this at the same time, because each writes its own conclusion first, and reads again after writing.
 */
async function settle(api: CheckApi, headSha: string, pull: PullState): Promise<void> {
  let present = pull;
  for (let round = 0; round < mostRounds; round++) {
    const commit = await readCommit(api, headSha, present);
    const stale = commit.runs.flatMap((run) => {
      const { own } = run.mark;
      if (own === null) return [];
      const { conclusion } = shownBy(run, own, commit);
      const isShown = conclusion === (run.completed ? run.conclusion : null);
      return isShown ? [] : [{ id: run.id, update: rendered(run, own, commit) }];
    });
    if (stale.length === 0) return;
    for (const { id, update } of stale) await repeatUpdate(api, id, update);
    present = (await api.pullState(pull.number)) ?? present;
  }
}
