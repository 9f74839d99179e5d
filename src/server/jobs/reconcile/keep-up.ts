import { AppError } from "../../../core/errors.ts";
import { count } from "../../../core/text/count.ts";
import { wholeList } from "../../../pull/github/client.ts";
import { currentLedger } from "../../../pull/publish/existing.ts";
import { figuresOfLedger } from "../../figures/pull-figures.ts";
import {
  type JobOutcome,
  type PurgeTask,
  type ReconcileTask,
  type RecountTask,
  type RepositoryRef,
  recountJob,
} from "../../queue/job.ts";
import type { JobTools } from "../../queue/run-job.ts";
import type { JobDependencies, Upkeep } from "../job-dependencies.ts";
import {
  installationNote,
  readInstallationMemory,
  reconcileApp,
  reconcileInstallation,
  writeInstallationMemory,
} from "./reconcile.ts";

type MaintenanceTools = Pick<JobTools, "signal" | "record" | "recorded">;

/** Looks for missed events, deletes the stored data of an account that removed the App, or counts findings again. */
export async function maintain(
  task: ReconcileTask | PurgeTask | RecountTask,
  tools: MaintenanceTools,
  deps: Pick<JobDependencies, "app" | "record" | "github" | "now" | "log">,
): Promise<JobOutcome> {
  const { upkeep } = deps.app;
  if (!upkeep)
    return {
      kind: "skipped",
      reason: "this process only reviews; a server deletes data and looks for missed events",
    };
  const { signal } = tools;
  if (task.kind === "purge") return purge(task, upkeep, signal);
  if (task.kind === "recount") return recount(task, tools, { ...deps, upkeep });
  const options = { ...deps, upkeep, signal };
  return task.installation === null
    ? reconcileApp(options)
    : reconcileInstallation(task.installation, options);
}

type Named = NonNullable<PurgeTask["repositories"]>;

/**
 * Deletes all stored data of an installation, or of some of its repositories, but nothing that GitHub says the App can see (again). The purge
 * runs again for running jobs.
 */
async function purge(task: PurgeTask, upkeep: Upkeep, signal: AbortSignal): Promise<JobOutcome> {
  const { installation } = task;
  const doomed = await doomedOf(task, upkeep, signal);
  if (doomed === null) return { kind: "skipped", reason: "the App has access to it again" };
  const { running } = await upkeep.queue.forget(
    installation,
    task.repositories && doomed.map(({ id }) => id),
  );
  const inUse: string[] = [];
  for (const { id, owner, name } of doomed) {
    if (!(await upkeep.removeRepository({ id }))) inUse.push(`${owner}/${name}`);
  }
  if (running > 0 || inUse.length > 0) throw stillInUse(running, inUse);
  await forgetNotes(task, doomed, upkeep);
  return { kind: "done", reason: `${doomed.length} repositories of installation ${installation} purged` };
}

/** The repositories to purge, if their names are known; null if there is nothing to purge. */
async function doomedOf(
  { installation, repositories }: PurgeTask,
  { access, notes }: Upkeep,
  signal: AbortSignal,
): Promise<Named | null> {
  const present = await access.app(signal).installation(installation);
  if (repositories === null) {
    if (present !== null) return null;
    return (await readInstallationMemory(notes, installation))?.repositories ?? [];
  }
  if (present === null || present.isSuspended) return repositories;
  const api = await access.installation(installation, signal);
  const visible = await wholeList(api.repositories());
  const doomed = repositories.filter(({ id }) => !visible.some((one) => one.id === id));
  return doomed.length > 0 ? doomed : null;
}

/** Comes last: only these notes name what is left to delete. */
async function forgetNotes({ installation, repositories }: PurgeTask, doomed: Named, { notes }: Upkeep) {
  const known = repositories === null ? null : await readInstallationMemory(notes, installation);
  if (known === null) return notes.remove(installationNote(installation));
  const isLeft = (id: number) => !doomed.some((one) => one.id === id);
  await writeInstallationMemory(notes, installation, {
    ...known,
    repositories: known.repositories.filter(({ id }) => isLeft(id)),
    looks: Object.fromEntries(Object.entries(known.looks).filter(([id]) => isLeft(Number(id)))),
  });
}

/** Retries every minute: an error of the data folder does not count as an attempt for a day. */
function stillInUse(running: number, inUse: readonly string[]): AppError {
  const what = inUse.length > 0 ? inUse.join(", ") : `${running} running jobs`;
  return new AppError(
    "data_folder_unusable",
    `Some data is not deleted yet, because it is still in use: ${what}`,
    { retryable: true, retryAfterMs: 60_000 },
  );
}

type RecountDeps = Pick<JobDependencies, "github" | "record"> & { upkeep: Upkeep };

/**
 * Counts findings again from what GitHub shows. The App's job starts one for each installation, and that one for each repository. May run
 * again at any time.
 */
async function recount(task: RecountTask, tools: MaintenanceTools, deps: RecountDeps): Promise<JobOutcome> {
  const { installation, only, since } = task;
  const { access, queue } = deps.upkeep;
  if (installation !== null && only !== null)
    return recountRepository({ installation, ...only }, since, tools, deps);
  const parts: Pick<RecountTask, "installation" | "only">[] = [];
  if (installation === null) {
    const all = await wholeList(access.app(tools.signal).installations());
    for (const { id, isSuspended } of all) if (!isSuspended) parts.push({ installation: id, only: null });
  } else {
    const all = await wholeList((await access.installation(installation, tools.signal)).repositories());
    for (const { id, owner, name } of all) parts.push({ installation, only: { id, owner, name } });
  }
  for (const part of parts) await queue.enqueue(recountJob({ ...part, since }));
  return { kind: "done", reason: `${count(parts.length, "part")} to count` };
}

/** Pull requests that an earlier attempt has counted are on record. */
async function recountRepository(
  repository: RepositoryRef,
  since: number,
  { signal, record, recorded }: MaintenanceTools,
  { upkeep, github, record: { figures } }: RecountDeps,
): Promise<JobOutcome> {
  const counted = new Set(
    (await recorded()).flatMap((entry) => (entry.kind === "counted" ? [entry.pull] : [])),
  );
  const api = await upkeep.access.installation(repository.installation, signal);
  for await (const page of api.pulls(repository, "all")) {
    const recent = page.filter(({ updatedAt }) => updatedAt >= since);
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
    if (recent.length < page.length) break;
  }
  return { kind: "done", reason: `${count(counted.size, "pull request")} counted` };
}
