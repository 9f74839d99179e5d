import type { InstallationApi, KnownPage, OpenPull, Pages } from "../../github/app-client.ts";
import type { OwnCheckRun } from "../../github/pull-request-api.ts";
import type { RepositoryRef } from "../../queue/job.ts";
import type { Queue } from "../../queue/queue.ts";
import { isReview, ownOf } from "../../publish/commit-check.ts";
import { isNoReview } from "../../publish/conclusions.ts";
import { checkRunKey } from "../../publish/existing.ts";
import { isRefusal, triggerOf } from "../attempts.ts";
import { eventReview, keyOf, missedPriority } from "../new-jobs.ts";
import type { Look, SeenPull } from "./memory.ts";

/** What one run for an installation may still do. Counted down. */
export interface Allowance {
  /** Requests that GitHub answers in full. */
  requests: number;
  /** Pull requests in which nothing has happened since the App came. */
  early: number;
}

export interface LookOptions {
  api: InstallationApi;
  queue: Pick<Queue, "enqueue" | "knows">;
  allowance: Allowance;
  /** When the run began. */
  now: number;
  /** Called for each pull request that is taken up. */
  onMissed: (pull: OpenPull) => void;
}

const hourMs = 3_600_000;
/** However late the App came, a pull request that somebody works on is one that they look at. */
const freshMs = 48 * hourMs;
/** So far a look reaches back before the last one: a review that was under way may have failed since. */
const overlapMs = 2 * hourMs;
/** A head whose reviews fail again and again is left alone until something happens in its pull request. */
const mostTries = 2;

/**
 * Takes up the open pull requests of a repository in which something has happened since the last look, and whose head nobody
 * has reviewed or is about to. The first look reaches back to when the App came, and two days at least. Resolves to what is to
 * be remembered; when the allowance ends before the list does, the next look reaches back as far as this one.
 */
export async function lookAtRepository(
  repository: RepositoryRef,
  before: Look,
  options: LookOptions,
): Promise<Look> {
  const { api, allowance, now } = options;
  const listed = api.pulls(repository, before.pages);
  const pages: KnownPage<OpenPull>[] = [];
  const pulls: Look["pulls"] = {};
  let isWhole = true;
  for await (const page of pagesSince(listed, sinceOf(before, now), allowance)) {
    pages.push(page);
    for (const pull of page.items) {
      if (allowance.requests <= 0) isWhole = false;
      const known = before.pulls[pull.number];
      const seen = isWhole ? await lookAtPull(repository, pull, known, before.firstSeen, options) : known;
      if (seen) pulls[pull.number] = seen;
    }
    if (!isWhole) break;
  }
  return { ...before, pages, pulls, lookedAt: isWhole ? now : before.lookedAt, triedAt: now };
}

const sinceOf = ({ lookedAt, firstSeen }: Look, now: number) =>
  lookedAt === null ? Math.min(firstSeen, now - freshMs) : lookedAt - overlapMs;

/** The pages of a list, newest first, as far as something has happened since. */
async function* pagesSince(listed: Pages<OpenPull>, since: number, allowance: Allowance) {
  for await (const { isFresh, etag, next, items } of listed) {
    if (isFresh) allowance.requests--;
    const news = items.filter(({ updatedAt }) => updatedAt >= since);
    const isLast = news.length < items.length;
    yield { etag, next: isLast ? null : next, items: news };
    if (isLast) return;
  }
}

/** What is to be remembered of it; undefined for nothing. */
async function lookAtPull(
  repository: RepositoryRef,
  pull: OpenPull,
  known: SeenPull | undefined,
  firstSeen: number,
  { api, queue, allowance, onMissed }: LookOptions,
): Promise<SeenPull | undefined> {
  const { number, headSha, baseRef, updatedAt } = pull;
  const before = known?.headSha === headSha && known.baseRef === baseRef ? known : undefined;
  if (before?.isReviewed || (await queue.knows(keyOf(repository, number), headSha))) return before;
  const isAsBefore = before?.updatedAt === updatedAt;
  if (isAsBefore && before.tries >= mostTries) return before;
  const isEarly = updatedAt < firstSeen;
  if (isEarly && allowance.early <= 0) return before;
  allowance.requests--;
  const check = await standing(repository, pull, api);
  const seen = { headSha, baseRef, updatedAt, isReviewed: false, tries: isAsBefore ? before.tries : 0 };
  if (check !== "hidden" && check && isReview(ownOf(check))) return { ...seen, isReviewed: true };
  // A job has looked at it as it is now, and said why it is left out (a draft, a label).
  if (isAsBefore && isSettled(check)) return { ...seen, tries: mostTries };
  if (isEarly) allowance.early--;
  await queue.enqueue(eventReview(repository, number, headSha, { priority: missedPriority }));
  onMissed(pull);
  return { ...seen, tries: seen.tries + 1 };
}

type Check = OwnCheckRun | "hidden" | undefined;

/** Our check run of the head for events; "hidden" where we may not see it: the job finds out by other signs. */
async function standing(repository: RepositoryRef, pull: OpenPull, api: InstallationApi): Promise<Check> {
  const { number, headSha: head, baseRef } = pull;
  const trigger = triggerOf({ trigger: `event#${number}`, requestedBy: null }, { baseRef });
  try {
    const runs = await api.repository(repository).checkRuns(head);
    return runs.find(({ externalId }) => externalId === checkRunKey({ head, trigger }));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return "hidden";
  }
}

function isSettled(check: Check): boolean {
  if (check === "hidden") return true;
  const own = check && ownOf(check);
  return own ? !isNoReview(own.title) : false;
}
