import { errorLine } from "../../errors.ts";
import type {
  Installation,
  InstallationApi,
  InstalledRepository,
  KnownPage,
} from "../../github/app-client.ts";
import type { JobOutcome } from "../../queue/job.ts";
import { isRefusal, isUnanswered } from "../attempts.ts";
import { purgeJob } from "../new-jobs.ts";
import { type Allowance, lookAtRepository } from "./look-at-repository.ts";
import {
  type InstallationMemory,
  type Look,
  readAppMemory,
  readInstallationMemory,
  writeInstallationMemory,
} from "./memory.ts";
import type { ReconcileOptions } from "./reconcile-app.ts";

/** Of the 5,000 that GitHub grants an installation in an hour. The next run goes on where this one ends. */
const mostRequests = 200;
/** What a question takes of these to which GitHub has no answer: it was asked several times, and GitHub may be unwell. */
const unansweredCosts = 20;
/** The App does not come with a review of everything: of what nobody has touched since, so many for an installation. */
const mostEarly = 20;

/**
 * Looks for pull requests of an installation that were missed: lost webhooks, downtime, a lost database. The repository that was
 * not tried for longest comes first.
 */
export async function reconcileInstallation(id: number, options: ReconcileOptions): Promise<JobOutcome> {
  const { upkeep, signal, log } = options;
  const installation = await find(id, options);
  if (installation === null) return { kind: "skipped", reason: "the App is not installed there any more" };
  if (installation.isSuspended) return { kind: "skipped", reason: "the installation is suspended" };
  try {
    const api = await upkeep.access.installation(id, signal);
    return await lookAround(api, installation, options);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    log.warn({ installation: id, err: error }, `Nothing was looked for: ${errorLine(error)}`);
    return { kind: "skipped", reason: "GitHub refuses the installation" };
  }
}

/** As the App's own run has just seen it; asked for where that knows nothing of it, or has known it suspended. */
async function find(id: number, { upkeep, signal, now }: ReconcileOptions): Promise<Installation | null> {
  const { installations } = await readAppMemory(upkeep.notes, now());
  const listed = installations.flatMap(({ items }) => items).find((one) => one.id === id);
  return listed && !listed.isSuspended ? listed : upkeep.access.app(signal).installation(id);
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
  const listed = await readRepositories(api, before.repositories, allowance);
  // Repositories that are new to us came now, unless it is we who know nothing yet.
  const firstSeen = known === null ? createdAt : now;
  const unseen: Look = { firstSeen, lookedAt: null, triedAt: 0, pages: [], pulls: {} };
  const memory = forget(listed.repositories, { ...before, repositories: listed.pages });
  if (listed.gone.length > 0) await upkeep.queue.enqueue(purgeJob(id, listed.gone));
  let missed = 0;
  try {
    for (const repository of longestUntriedFirst(listed.repositories, memory)) {
      if (allowance.requests <= 0) break;
      const look = memory.looks[repository.id] ?? unseen;
      memory.looks[repository.id] = repository.isBusy
        ? await lookIfShown(repository, look)
        : { ...look, lookedAt: now, triedAt: now, pages: [], pulls: {} };
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
        ...{ api, allowance, now, queue: upkeep.queue },
        onMissed: ({ number: pull, headSha: head }) => {
          missed++;
          log.info({ ...fields, pull, head }, "A pull request was missed");
        },
      });
    } catch (error) {
      if (!isRefusal(error) && !isUnanswered(error)) throw error;
      if (isUnanswered(error)) allowance.requests -= unansweredCosts;
      log.warn({ ...fields, err: error }, `Its pull requests are not shown: ${errorLine(error)}`);
      // The next look reaches back as far as this one would have.
      return { ...look, triedAt: now };
    }
  }
}

/** All repositories of the installation, and those that it had the last time and has no more. */
async function readRepositories(
  api: InstallationApi,
  known: readonly KnownPage<InstalledRepository>[],
  allowance: Allowance,
) {
  const pages: KnownPage<InstalledRepository>[] = [];
  for await (const { isFresh, ...page } of api.repositories(known)) {
    if (isFresh) allowance.requests--;
    pages.push(page);
  }
  const repositories = pages.flatMap(({ items }) => items);
  const present = new Set(repositories.map(({ id }) => id));
  const before = known.flatMap(({ items }) => items);
  const gone = before
    .filter(({ id }) => !present.has(id))
    .map(({ id, owner, name }) => ({ id, owner, name }));
  return { pages, repositories, gone };
}

/** Nothing is remembered of a repository that is gone. */
function forget(present: readonly InstalledRepository[], memory: InstallationMemory): InstallationMemory {
  const looks = present.flatMap(({ id }) => (memory.looks[id] ? [[String(id), memory.looks[id]]] : []));
  return { ...memory, looks: Object.fromEntries(looks) };
}

const longestUntriedFirst = (repositories: readonly InstalledRepository[], { looks }: InstallationMemory) =>
  [...repositories].sort((a, b) => (looks[a.id]?.triedAt ?? 0) - (looks[b.id]?.triedAt ?? 0));
