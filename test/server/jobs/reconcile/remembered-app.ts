import type {
  AppApi,
  DeliveryAttempt,
  InstallationApi,
  InstalledRepository,
  OpenPull,
} from "../../../../src/pull/github/app-client.ts";
import type { Pages } from "../../../../src/pull/github/client.ts";
import type { OwnCheckRun, RepositoryApi } from "../../../../src/pull/github/pull-request-api.ts";
import type { Upkeep } from "../../../../src/server/jobs/job-dependencies.ts";
import { maintain } from "../../../../src/server/jobs/reconcile/keep-up.ts";
import type {
  ClaimedJob,
  JobOutcome,
  NewJob,
  PurgeTask,
  ReconcileTask,
  Task,
} from "../../../../src/server/queue/job.ts";
import { reconcileJob } from "../../../../src/server/queue/job.ts";
import { openSqliteStores, type Stores } from "../../../../src/server/queue/stores.ts";
import { TempFolder } from "../../../support/git-repo.ts";
import { accessTo, jobDependencies, jobTools } from "../dependencies.ts";

export const hour = 3_600_000;
export const start = Date.parse("2026-11-22T12:00:00Z");
const pageSize = 3;

export interface Repository extends InstalledRepository {
  pulls: OpenPull[];
}

interface Installed {
  id: number;
  createdAt: number;
  isSuspended: boolean;
  repositories: Repository[];
}

interface Delivery extends DeliveryAttempt {
  jobs: NewJob[];
}

/** GitHub as the App sees it, in memory, with small pages; and what is remembered of it, in a real database. */
export class RememberedApp implements AsyncDisposable {
  time = start;
  readonly installed = new Map<number, Installed>();
  /** Newest first. */
  readonly deliveries: Delivery[] = [];
  /** By their external id. */
  readonly checks = new Map<string, Partial<OwnCheckRun>>();
  readonly inUse = new Set<number>();
  readonly removed: number[] = [];
  /** Every request. */
  readonly asked: string[] = [];
  /** Thrown by a question that begins so. */
  fault: { question: string; error: Error } | undefined;
  readonly #folder = new TempFolder("reconcile");
  #stores: Stores = this.#open();
  #lastPull = 0;

  get stores(): Stores {
    return this.#stores;
  }

  #open(): Stores {
    return openSqliteStores(this.#folder.path, { now: () => this.time });
  }

  async loseDatabase(): Promise<void> {
    await this.#stores.close();
    this.#folder.dispose();
    this.#stores = openSqliteStores(this.#folder.path, { now: () => this.time });
  }

  install(id: number, createdAt: number, ...repositories: Repository[]): Installed {
    const installed = { id, createdAt, isSuspended: false, repositories };
    this.installed.set(id, installed);
    return installed;
  }

  repository(id: number, ...pulls: OpenPull[]): Repository {
    return { id, owner: "octo", name: `repo-${id}`, isBusy: true, pulls };
  }

  /** An open pull request in which something happened last at this time. */
  pull(updatedAt: number): OpenPull {
    const number = ++this.#lastPull;
    return { number, headSha: String(number).padStart(40, "a"), baseRef: "main", updatedAt };
  }

  conclude({ number, headSha, baseRef }: OpenPull, check: Partial<OwnCheckRun>): void {
    this.checks.set(`${headSha}:event#${number}@${baseRef}`, { completed: true, title: "Done", ...check });
  }

  /** GitHub tried to deliver something. */
  attempt(guid: string, at: number, isDelivered: boolean, jobs: NewJob[] = []): void {
    const id = this.deliveries.length + 1;
    this.deliveries.unshift({ id, guid, at, isDelivered, event: "issue_comment", action: "created", jobs });
  }

  /** Has the App reconciled, and then each installation that this asks for. */
  async reconcile(): Promise<JobOutcome[]> {
    const { queue } = this.#stores;
    const outcomes = [await this.run(reconcileJob().task)];
    const others: ClaimedJob[] = [];
    for (let job = await queue.claim("worker", hour); job; job = await queue.claim("worker", hour)) {
      if (job.task.kind !== "reconcile") {
        others.push(job);
        continue;
      }
      outcomes.push(await this.run(job.task));
      await queue.complete(job, { kind: "done", reason: "" });
    }
    for (const other of others) await queue.release(other, 0, "for later", { countAttempt: false });
    return outcomes;
  }

  async run(task: Task): Promise<JobOutcome> {
    return maintain(task as ReconcileTask | PurgeTask, jobTools(), {
      ...jobDependencies({ openJob: unused, now: () => this.time }),
      github: unused(),
      app: { webUrl: "", version: "0", contentKey: () => "", upkeep: this.#upkeep() },
    });
  }

  /** Takes all jobs that wait, as a worker would, and ends them. */
  async takeJobs(outcome: JobOutcome["kind"] = "done"): Promise<Task[]> {
    const tasks: Task[] = [];
    for (;;) {
      const job = await this.#stores.queue.claim("worker", hour);
      if (!job) return tasks;
      tasks.push(job.task);
      await this.#stores.queue.complete(job, { kind: outcome, reason: "" });
    }
  }

  /** Numbers of the pull requests for which a job waits, ascending. */
  async missed(outcome: JobOutcome["kind"] = "done"): Promise<number[]> {
    const tasks = await this.takeJobs(outcome);
    return tasks.flatMap((task) => ("pull" in task ? [task.pull] : [])).sort((a, b) => a - b);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stores.close();
    this.#folder.dispose();
  }

  #upkeep(): Upkeep {
    const { queue, notes } = this.#stores;
    return {
      ...{ queue, notes },
      access: { app: () => this.#app(), installation: async (id) => this.#installation(id) },
      handles: (event) => event === "issue_comment",
      jobsOf: async (_, payload) => payload as NewJob[],
      removeRepository: async ({ id }) => {
        if (this.inUse.has(id)) return false;
        this.removed.push(id);
        return true;
      },
    };
  }

  #app(): AppApi {
    return {
      installations: () => this.#pages("installations", [...this.installed.values()]),
      installation: async (id) => this.installed.get(id) ?? null,
      deliveries: () => this.#pages("deliveries", this.deliveries),
      payload: async (attempt) => {
        this.#note(`payload ${attempt}`);
        return this.deliveries.find(({ id }) => id === attempt)?.jobs;
      },
    };
  }

  #installation(id: number): InstallationApi {
    const { repositories } = this.installed.get(id) ?? { repositories: [] };
    return {
      repositories: () => this.#pages(`repositories ${id}`, repositories),
      pulls: ({ name }) => {
        const pulls = repositories.find((one) => one.name === name)?.pulls ?? [];
        const newestFirst = [...pulls].sort((a, b) => b.updatedAt - a.updatedAt);
        return this.#pages(`pulls ${name}`, newestFirst);
      },
      repository: () =>
        ({
          checkRuns: async (head: string) => {
            this.#note(`checks ${head}`);
            const runs = [...this.checks].filter(([externalId]) => externalId.startsWith(head));
            return runs.map(([externalId, run]) => ({ externalId, ...run }));
          },
        }) as unknown as RepositoryApi,
    };
  }

  #note(question: string): void {
    if (this.fault && question.startsWith(this.fault.question)) throw this.fault.error;
    this.asked.push(question);
  }

  async *#pages<Item>(name: string, all: readonly Item[]): Pages<Item> {
    for (let from = 0; from === 0 || from < all.length; from += pageSize) {
      this.#note(name);
      yield all.slice(from, from + pageSize);
    }
  }
}

const unused = () => accessTo(async () => Promise.reject(new Error("not used")));
