import type { CheckRunUpdate, OwnCheckRun, PullState, RepositoryApi } from "../github/pull-request-api.ts";
import { type CheckMark, formatMarker, parseMarker } from "../ledger/marker.ts";
import { isNoReview } from "./conclusions.ts";
import { publicPlain, publicText } from "./public-text.ts";

/*
 * One conclusion for a commit. GitHub shows the newest check run of a name on a commit, whichever pull request it is of, and takes
 * "skipped" and "neutral" for passed (https://docs.github.com/en/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/troubleshooting-required-status-checks).
 * So each check run keeps in its marker what its own review came to, and shows the worst of that and what the other open pull
 * requests with this head came to: a stranger's draft of a commit is never better than the commit.
 */

type CheckApi = Pick<RepositoryApi, "checkRuns" | "updateCheckRun" | "pullState">;
type Conclusion = NonNullable<CheckRunUpdate["conclusion"]>;
type Own = NonNullable<CheckMark["own"]>;

/** From what people want to what stops them. */
const ranks: Record<Conclusion, number> = { success: 0, skipped: 1, neutral: 2, cancelled: 3, failure: 4 };

/** A check run and what its own review came to. */
interface Judged extends OwnCheckRun {
  mark: CheckMark;
}

/** The check runs of a commit, and the open pull requests among theirs that have it as their head. */
export interface Commit {
  runs: readonly Judged[];
  pulls: readonly PullState[];
}

/** Check runs of pull requests that are asked about. Of any more it is assumed that they are open. */
const mostPulls = 50;

/** `pull` is known already, whether it has this head or not. */
export async function readCommit(api: CheckApi, headSha: string, pull: PullState): Promise<Commit> {
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

/** Doubles of one review came to what one of them came to, whoever closed the others. */
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

const eventKey = /^[0-9a-f]+:event#([1-9]\d{0,8})@(.{1,255})$/;
export const isConclusion = (text: string | null): text is Conclusion =>
  text !== null && Object.hasOwn(ranks, text);

/** Older versions wrote no marker. Null: a check run of no pull request, such as a merge queue's. */
function markOf({ externalId, completed, conclusion, title, summary }: OwnCheckRun): CheckMark | null {
  const marker = parseMarker(summary ?? "");
  if (marker?.kind === "check") return marker;
  const [, pull, base] = eventKey.exec(externalId) ?? [];
  if (pull === undefined || base === undefined) return null;
  const own = completed && isConclusion(conclusion) ? { conclusion, title: title ?? "" } : null;
  return { pull: Number(pull), base, own };
}

/** What the review of a check run came to by itself, whatever it shows; null while it goes on. */
export function ownOf(run: OwnCheckRun): Own | null {
  const mark = markOf(run);
  if (mark) return mark.own;
  return run.completed && isConclusion(run.conclusion)
    ? { conclusion: run.conclusion, title: run.title ?? "" }
    : null;
}

const reviewConclusions = new Set<Conclusion>(["success", "neutral", "failure"]);

/** Whether it says how a review ended; a withheld, skipped, called off or failed one does not, and may be made good. */
export const isReview = (own: Own | null): boolean =>
  own !== null && reviewConclusions.has(own.conclusion) && !isNoReview(own.title);

const worse = <One extends Own>(a: One, b: One) => (ranks[b.conclusion] > ranks[a.conclusion] ? b : a);

/**
 * What an open pull request came to on this commit: its newest review for the branch that it is to be merged into. If there is
 * none, the worst of all else that was not called off: what was red stays so while it is for a branch that is not reviewed.
 */
function verdictOf({ number, baseRef }: PullState, runs: readonly Judged[]): Own | null {
  const own = runs.filter(({ mark }) => mark.pull === number && mark.own !== null).toReversed();
  const review = own.find(({ mark }) => mark.base === baseRef && isReview(mark.own));
  if (review) return review.mark.own;
  const others = own
    .flatMap(({ mark }) => mark.own ?? [])
    .filter(({ conclusion }) => conclusion !== "cancelled");
  return others.length === 0 ? null : others.reduce(worse);
}

/** What a check run shows. `from`: the pull request that it comes from, if not its own. */
interface Shown {
  /** Null: it waits for the review of another pull request. */
  conclusion: Conclusion | null;
  title: string;
  from: number | null;
}

/** What nobody reviewed says nothing of others. What a pull request came to that is gone says nothing at all. */
function shownBy({ mark }: Judged, own: Own, { runs, pulls }: Commit): Shown {
  const isHere = pulls.some(({ number }) => number === mark.pull);
  const verdicts = pulls.flatMap((pull) => {
    const from = pull.number === mark.pull ? null : pull.number;
    const verdict = verdictOf(pull, runs);
    if (!verdict || (isHere && from !== null && verdict.conclusion === "skipped")) return [];
    return [{ ...verdict, from }];
  });
  const byItself = { ...own, from: null as number | null };
  const worst = (isHere || verdicts.length === 0 ? [byItself, ...verdicts] : verdicts).reduce(worse);
  const goesOn = (number: number) => runs.some((run) => run.mark.pull === number && run.mark.own === null);
  const awaited = pulls.find(({ number }) => number !== mark.pull && goesOn(number));
  if (awaited === undefined || worst.conclusion === "failure") return worst;
  return { conclusion: null, title: own.title, from: awaited.number };
}

/** Ends what a review came to by itself, in the summary of a check run. Nothing quoted can hold it: it begins as markers do. */
const ownEnd = "\n\n<!-- hunkwise:commit -->\n";

/** What a review that goes on shows. */
export function goingOn(update: CheckRunUpdate, { number, baseRef }: PullState): CheckRunUpdate {
  const marker = formatMarker({ kind: "check", pull: number, base: baseRef, own: null });
  return { ...update, summary: publicText(`${update.summary}\n\n${marker}`) };
}

/** What a review that came to `update` shows in its check run. */
export function concluded(update: CheckRunUpdate, pull: PullState, commit: Commit): CheckRunUpdate {
  const { conclusion = "neutral", title, summary, text = null } = update;
  const mark = { pull: pull.number, base: pull.baseRef, own: { conclusion, title } };
  const run = { id: 0, externalId: "", completed: true, conclusion, title, summary, text, mark };
  // Its own newest word comes first, whatever it said before.
  const others = commit.runs.filter((one) => one.mark.own !== null || one.mark.pull !== pull.number);
  return rendered(run, mark.own, { ...commit, runs: [...others, run] });
}

function rendered(run: Judged, own: Own, commit: Commit): CheckRunUpdate {
  const { conclusion, title, from } = shownBy(run, own, commit);
  const [said = ""] = withoutMarker(run.summary ?? "").split(ownEnd);
  const why = from === null ? "" : conclusion === null ? waits(from) : comesFrom(from, conclusion, own);
  const summary = [
    said,
    ...(why === "" ? [] : [`${ownEnd.trim()}\n${why}`]),
    formatMarker({ kind: "check", ...run.mark }),
  ];
  return {
    ...(conclusion === null ? { status: "in_progress" } : { status: "completed", conclusion }),
    title: publicPlain(from === null ? title : titleOf(from, conclusion, title)),
    summary: publicText(summary.join("\n\n")),
    ...(run.text !== null && { text: publicText(run.text) }),
  };
}

function withoutMarker(summary: string): string {
  const body = summary.trimEnd();
  return parseMarker(body) ? body.slice(0, Math.max(0, body.lastIndexOf("\n"))).trimEnd() : summary;
}

const titleOf = (from: number, conclusion: Conclusion | null, title: string) =>
  conclusion === null ? `Waiting for the review of #${from}` : `#${from} has this commit too: ${title}`;
const waits = (from: number) =>
  `Pull request #${from} has the same head commit, and its review is not finished. GitHub shows one check for a commit, so this one waits.`;
const comesFrom = (from: number, conclusion: Conclusion, own: Own) =>
  `The conclusion "${conclusion}" comes from pull request #${from}, which has the same head commit. GitHub shows one check for a commit, so it shows the worst of its open pull requests. By itself, this review concluded with "${own.conclusion}".`;

/**
 * Has every check run of a commit show what it has to. To be called whenever a review ends, and when a pull request leaves the
 * commit, by a push, by closing or for another branch; any number of workers may, since each of them writes what it came to first.
 */
export async function settleCommit(
  api: CheckApi,
  headSha: string,
  pull: PullState,
  update: (id: number, update: CheckRunUpdate) => Promise<void> = api.updateCheckRun,
): Promise<void> {
  const commit = await readCommit(api, headSha, pull);
  for (const run of commit.runs) {
    const { own } = run.mark;
    if (own === null) continue;
    const { conclusion } = shownBy(run, own, commit);
    if (conclusion === (run.completed ? run.conclusion : null)) continue;
    await update(run.id, rendered(run, own, commit));
  }
}
