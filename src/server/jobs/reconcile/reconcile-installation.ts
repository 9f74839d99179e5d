import { errorLine } from "../../../core/errors.ts";
import type { InstallationApi, InstalledRepository, OpenPull } from "../../../pull/github/app-client.ts";
import type { OwnCheckRun } from "../../../pull/github/pull-request-api.ts";
import { isReview, ownOf } from "../../../pull/publish/check-run.ts";
import { isNoReview } from "../../../pull/publish/conclusions.ts";
import { checkRunKey } from "../../../pull/publish/existing.ts";
import {
  eventReview,
  type JobOutcome,
  keyOf,
  missedPriority,
  purgeJob,
  type RepositoryRef,
} from "../../queue/job.ts";
import type { Queue } from "../../queue/queue.ts";
import { isRefusal, isUnanswered, triggerOf } from "../attempts.ts";
import {
  type InstallationMemory,
  type Look,
  type ReconcileOptions,
  readInstallationMemory,
  type SeenPull,
  writeInstallationMemory,
} from "./reconcile-app.ts";

interface Allowance {
  requests: number;
  /** Pull requests without any activity since the App was installed. */
  early: number;
}

interface LookOptions {
  api: InstallationApi;
  queue: Pick<Queue, "enqueue" | "knows">;
  allowance: Allowance;
  /** When the run began. */
  now: number;
  onMissed: (pull: OpenPull) => void;
}

const hourMs = 3_600_000;
/** People are still looking at a pull request with activity this recent, however late the App was installed. */
const freshMs = 48 * hourMs;
/** How far a look reaches back before the last one: a review in progress then may have failed since. */
const overlapMs = 2 * hourMs;
/** A head whose reviews fail again and again is skipped until something happens in its pull request. */
const mostTries = 2;

/**
 * Takes up the open pull requests of a repository with activity since the last look, if their head has no review and none is pending. The
 * first look reaches back to the App's installation, and at least two days. If the allowance ends, the next look reaches back as far.
 */
async function lookAtRepository(
  repository: RepositoryRef,
  before: Look,
  options: LookOptions,
): Promise<Look> {
  const { api, allowance, now } = options;
  const since = sinceOf(before, now);
  const pulls: Look["pulls"] = {};
  let isWhole = true;
  for await (const page of api.pulls(repository, "open")) {
    allowance.requests--;
    const news = page.filter(({ updatedAt }) => updatedAt >= since);
    for (const pull of news) {
      if (allowance.requests <= 0) isWhole = false;
      const known = before.pulls[pull.number];
      const seen = isWhole ? await lookAtPull(repository, pull, known, before.firstSeen, options) : known;
      if (seen) pulls[pull.number] = seen;
    }
    if (!isWhole || news.length < page.length) break;
  }
  return { ...before, pulls, lookedAt: isWhole ? now : before.lookedAt, triedAt: now };
}

const sinceOf = ({ lookedAt, firstSeen }: Look, now: number) =>
  lookedAt === null ? Math.min(firstSeen, now - freshMs) : lookedAt - overlapMs;

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
  const check = await checkOf(repository, pull, api);
  const seen = { headSha, baseRef, updatedAt, isReviewed: false, tries: isAsBefore ? before.tries : 0 };
  if (check !== "hidden" && check && isReview(ownOf(check))) return { ...seen, isReviewed: true };
  // A job has looked at it in this state, and recorded why it is skipped (a draft, a label).
  if (isAsBefore && isSettled(check)) return { ...seen, tries: mostTries };
  if (isEarly) allowance.early--;
  await queue.enqueue(eventReview(repository, number, headSha, { priority: missedPriority }));
  onMissed(pull);
  return { ...seen, tries: seen.tries + 1 };
}

type ExistingCheck = OwnCheckRun | "hidden" | undefined;

/** Our check run of the head for events; "hidden" if we may not see it. */
async function checkOf(
  repository: RepositoryRef,
  pull: OpenPull,
  api: InstallationApi,
): Promise<ExistingCheck> {
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

function isSettled(check: ExistingCheck): boolean {
  if (check === "hidden") return true;
  const own = check && ownOf(check);
  return own ? !isNoReview(own.title) : false;
}

/** Of the 5,000 that GitHub grants an installation in an hour. */
const mostRequests = 200;
/** How many requests an unanswered one counts for. */
const unansweredCosts = 20;
/** At most this many pull requests of an installation without activity since it was made: the App does not review everything at once. */
const mostEarly = 20;

/** Looks for missed pull requests of an installation. Starts with the repository whose last attempt is oldest. */
export async function reconcileInstallation(id: number, options: ReconcileOptions): Promise<JobOutcome> {
  const { upkeep, signal, log } = options;
  const installation = await upkeep.access.app(signal).installation(id);
  if (installation === null) return { kind: "skipped", reason: "the App is no longer installed there" };
  if (installation.isSuspended) return { kind: "skipped", reason: "the installation is suspended" };
  try {
    const api = await upkeep.access.installation(id, signal);
    return await lookAround(api, installation, options);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    log.warn({ installation: id, err: error }, `The installation was not checked: ${errorLine(error)}`);
    return { kind: "skipped", reason: "GitHub refuses access to the installation" };
  }
}

async function lookAround(
  api: InstallationApi,
  { id, createdAt }: { id: number; createdAt: number },
  options: ReconcileOptions,
): Promise<JobOutcome> {
  const { upkeep, log } = options;
  const now = options.now();
  const known = await readInstallationMemory(upkeep.notes, id);
  const before = known ?? { early: 0, repositories: [], looks: {} };
  const allowance: Allowance = { requests: mostRequests, early: mostEarly - before.early };
  const repositories = await readRepositories(api, allowance);
  // Repositories that are new to us were added now, unless nothing is known yet.
  const firstSeen = known === null ? createdAt : now;
  const unseen: Look = { firstSeen, lookedAt: null, triedAt: 0, pulls: {} };
  const gone = before.repositories.filter((one) => !repositories.some((present) => present.id === one.id));
  const memory = { ...before, repositories, looks: looksAt(repositories, before) };
  if (gone.length > 0) await upkeep.queue.enqueue(purgeJob(id, gone));
  let missed = 0;
  try {
    for (const repository of longestUntriedFirst(repositories, memory)) {
      if (allowance.requests <= 0) break;
      const look = memory.looks[repository.id] ?? unseen;
      memory.looks[repository.id] = repository.isBusy
        ? await lookIfShown(repository, look)
        : { ...look, lookedAt: now, triedAt: now, pulls: {} };
    }
  } finally {
    memory.early = mostEarly - allowance.early;
    await writeInstallationMemory(upkeep.notes, id, memory);
  }
  return { kind: "done", reason: `${missed} pull requests were missed` };

  async function lookIfShown(listed: InstalledRepository, look: Look): Promise<Look> {
    const { owner, name } = listed;
    const repository = { installation: id, id: listed.id, owner, name };
    const fields = { repo: `${owner}/${name}` };
    try {
      return await lookAtRepository(repository, look, {
        api,
        allowance,
        now,
        queue: upkeep.queue,
        onMissed: ({ number: pull, headSha: head }) => {
          missed++;
          log.info({ ...fields, pull, head }, "A pull request was missed");
        },
      });
    } catch (error) {
      if (!isRefusal(error) && !isUnanswered(error)) throw error;
      if (isUnanswered(error)) allowance.requests -= unansweredCosts;
      log.warn({ ...fields, err: error }, `Its pull requests could not be listed: ${errorLine(error)}`);
      // The next look reaches back as far.
      return { ...look, triedAt: now };
    }
  }
}

async function readRepositories(api: InstallationApi, allowance: Allowance): Promise<InstalledRepository[]> {
  const repositories: InstalledRepository[] = [];
  for await (const page of api.repositories()) {
    allowance.requests--;
    repositories.push(...page);
  }
  return repositories;
}

function looksAt(
  present: readonly InstalledRepository[],
  { looks }: InstallationMemory,
): InstallationMemory["looks"] {
  return Object.fromEntries(present.flatMap(({ id }) => (looks[id] ? [[String(id), looks[id]]] : [])));
}

const longestUntriedFirst = (repositories: readonly InstalledRepository[], { looks }: InstallationMemory) =>
  repositories.toSorted((a, b) => (looks[a.id]?.triedAt ?? 0) - (looks[b.id]?.triedAt ?? 0));
