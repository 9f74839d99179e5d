import { figuresOfLedger } from "../../figures/pull-figures.ts";
import { currentLedger } from "../../publish/existing.ts";
import type { JobOutcome, NewJob, RecountTask, RepositoryRef } from "../../queue/job.ts";
import type { JobTools } from "../../queue/run-job.ts";
import { plural } from "../../reporters/outcome.ts";
import type { JobDependencies } from "../job-dependencies.ts";
import { recountJob } from "../new-jobs.ts";

type RecountDeps = Required<Pick<JobDependencies, "upkeep" | "figures">> & Pick<JobDependencies, "github">;

/**
 * Counts findings again from what GitHub shows, because the database was lost or is older than the figures. The App's job starts one for
 * each installation, and that one for each repository. May run again at any time: the same facts give the same figures.
 */
export async function recount(
  task: RecountTask,
  tools: Pick<JobTools, "signal" | "record" | "recorded">,
  deps: RecountDeps,
): Promise<JobOutcome> {
  const { installation, only, since } = task;
  if (installation === null) return start(await installationsOf(deps, tools.signal), deps, since);
  const api = await deps.upkeep.access.installation(installation, tools.signal);
  if (only !== null) return recountRepository({ installation, ...only }, since, tools, deps);
  const repositories: Omit<RecountTask, "kind" | "headSha" | "since">[] = [];
  for await (const { items } of api.repositories([]))
    for (const { id, owner, name } of items) repositories.push({ installation, only: { id, owner, name } });
  return start(repositories, deps, since);
}

async function installationsOf({ upkeep }: RecountDeps, signal: AbortSignal) {
  const found: { installation: number; only: null }[] = [];
  for await (const { items } of upkeep.access.app(signal).installations([]))
    for (const { id, isSuspended } of items) if (!isSuspended) found.push({ installation: id, only: null });
  return found;
}

async function start(
  parts: readonly Pick<RecountTask, "installation" | "only">[],
  { upkeep }: RecountDeps,
  since: number,
): Promise<JobOutcome> {
  const jobs: NewJob[] = parts.map(({ installation, only }) => recountJob({ installation, only, since }));
  for (const job of jobs) await upkeep.queue.enqueue(job);
  return { kind: "done", reason: `${plural(jobs.length, "part")} to count` };
}

/** Pull requests that an earlier attempt has counted are on record. */
async function recountRepository(
  repository: RepositoryRef,
  since: number,
  { signal, record, recorded }: Pick<JobTools, "signal" | "record" | "recorded">,
  { upkeep, github, figures }: RecountDeps,
): Promise<JobOutcome> {
  const counted = new Set(
    (await recorded()).flatMap((entry) => (entry.kind === "counted" ? [entry.pull] : [])),
  );
  const api = await upkeep.access.installation(repository.installation, signal);
  for await (const { items } of api.recentPulls(repository)) {
    const recent = items.filter(({ updatedAt }) => updatedAt >= since);
    for (const { number } of recent) {
      if (counted.has(number)) continue;
      const pullApi = await github.pull(repository, number, signal);
      const ledger = await currentLedger(pullApi);
      const isReviewed = ledger.sticky !== null || ledger.entries.length > 0;
      const key = { installation: repository.installation, repository: repository.id, pull: number };
      if (isReviewed) await figures.write(figuresOfLedger(key, await pullApi.pull(), ledger));
      await record({ kind: "counted", pull: number });
      counted.add(number);
    }
    if (recent.length < items.length) break;
  }
  return { kind: "done", reason: `${plural(counted.size, "pull request")} counted` };
}
