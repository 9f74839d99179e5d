import { forAllRoles, type Model } from "../../../src/agent/llm/model.ts";
import { AppError } from "../../../src/core/errors.ts";
import type { Checkout } from "../../../src/repo/git/checkout.ts";
import { createUsageLimits, type MostUsage, type SpendingLimits } from "../../../src/server/jobs/budgets.ts";
import { createAnnouncer, createSender } from "../../../src/server/jobs/events.ts";
import type { CheckoutRequest, UnopenedDependencies } from "../../../src/server/jobs/job-dependencies.ts";
import { createJobHandler } from "../../../src/server/jobs/job-handler.ts";
import type { NewJob } from "../../../src/server/queue/job.ts";
import type { Queue } from "../../../src/server/queue/queue.ts";
import { openSqliteStores } from "../../../src/server/queue/stores.ts";
import type { Quotas, Spending } from "../../../src/server/queue/usage.ts";
import { startWorker, type Worker } from "../../../src/server/queue/worker.ts";
import { reviewJob } from "../../contract/queue.ts";
import { MemoryGitHub } from "../../pull/publish/memory-github.ts";
import { placeOf } from "../../support/checkout-place.ts";
import { GitRepo, TempFolder } from "../../support/git-repo.ts";
import { startProcessHere } from "../../support/process-here.ts";
import { accessTo, jobDependencies } from "./dependencies.ts";

/** A worker with the real handlers on a real queue, before a GitHub in memory and a repository without a server. */
export class WorkedQueue implements AsyncDisposable {
  readonly github = new MemoryGitHub();
  readonly queue: Queue;
  readonly spending: Spending;
  readonly model: Model | null;
  dailyBudget: SpendingLimits = { tokens: null, costUsd: null };
  most: MostUsage = {
    commandsAnHour: 0,
    pullReviewsADay: 0,
    authorReviewsADay: 0,
    installationReviewsADay: 0,
  };
  readonly #quotas: Quotas;
  readonly log: { level: string; message: string }[] = [];
  /** Each checkout is a review that begins. */
  readonly checkouts: CheckoutRequest[] = [];
  /** Called before each checkout: throw what shall go wrong. */
  beforeCheckout: (nth: number) => void = () => {};
  /** Called before GitHub is asked anything at all, as when a token is minted. */
  beforeAccess: () => void = () => {};
  /** Whether reviews have a process of their own, as they have where nobody tests. */
  inOwnProcess = false;
  /** Where events go, and what signs them. */
  events: { url: string; secret: string } | null = null;
  /** Called before events are stored. */
  beforeAnnounce: () => Promise<void> = async () => {};
  /** Called when a review was published. */
  tidy: () => Promise<void> = async () => {};
  readonly #folder = new TempFolder("jobs");
  readonly #repo = GitRepo.create();
  #ahead = 0;
  #worker: Worker | undefined;

  /** @param changed what the pull request makes of `a.js` */
  constructor(model: Model | null = null, changed = "export const a = 2;\n") {
    this.model = model;
    const stores = openSqliteStores(this.#folder.path, { now: () => this.#now() });
    this.queue = stores.queue;
    this.spending = stores.spending;
    this.#quotas = stores.quotas;
    const sha = (branch: string) => this.#repo.git("rev-parse", branch);
    this.#repo.importCommits([
      { branch: "main", files: [["a.js", "export const a = 1;\n"]] },
      { branch: "change", parents: ["main"], files: [["a.js", changed]] },
      { branch: "later", parents: ["change"], files: [["a.js", "export const a = 3;\n"]] },
    ]);
    Object.assign(this.github.state, { headSha: sha("change"), baseSha: sha("main") });
  }

  /** The head of a later push. */
  get laterHead(): string {
    return this.#repo.git("rev-parse", "later");
  }

  /** An event about the pull request at the head that it has now. */
  event(headSha: string = this.github.state.headSha): NewJob {
    return reviewJob(this.github.state.number, { headSha });
  }

  /** Lets time pass for leases and back-offs. */
  pass(milliseconds: number): void {
    this.#ahead += milliseconds;
  }

  /** Starts the worker and lets time pass until no job is left. */
  async work(): Promise<void> {
    const idle = Promise.withResolvers<void>();
    this.#worker ??= startWorker({
      ...createJobHandler(this.#dependencies()),
      queue: this.queue,
      concurrency: 1,
      log: this.#logger(),
      pollMs: 2,
      random: () => 1,
      now: () => this.#now(),
      onIdle: idle.resolve,
    });
    for (;;) {
      const { jobs } = await this.queue.stats();
      if (jobs.waiting === 0 && jobs.active === 0) return;
      // Never past a lease that a running job is prolonging by the clock.
      if (jobs.active === 0) this.pass(20_000);
      await new Promise((resolve) => setTimeout(resolve, jobs.active === 0 ? 2 : 10));
    }
  }

  /** Conclusions and titles of all check runs, oldest first; "in_progress" for one that is open. */
  checks(): string[] {
    return this.github.checks.map(({ history }) => {
      const { status, conclusion, title } = history.at(-1) ?? { status: "none", title: "" };
      return status === "completed" ? `${conclusion}: ${title}` : status;
    });
  }

  logged(level: string): string[] {
    return this.log.filter((line) => line.level === level).map(({ message }) => message);
  }

  /** Ends the worker, as a signal does; the next work has another one. */
  async stop(): Promise<void> {
    await this.#worker?.stop(0);
    this.#worker = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.queue.close();
    this.#folder.dispose();
    this.#repo.dispose();
  }

  #now(): number {
    return Date.now() + this.#ahead;
  }

  #logger() {
    const at = (level: string) => (_fields: object, message: string) =>
      void this.log.push({ level, message });
    return { info: at("info"), warn: at("warn"), error: at("error") };
  }

  #dependencies(): UnopenedDependencies {
    const access = async () => {
      this.beforeAccess();
      return this.github;
    };
    const now = () => this.#now();
    const base = jobDependencies({ openJob: () => accessTo(access), now, log: this.#logger() });
    return {
      ...base,
      disk: { ...base.disk, checkout: (request) => this.#checkout(request) },
      models: { all: this.model && forAllRoles(this.model), ready: async () => {} },
      processes: { ...base.processes, ...(!this.inOwnProcess && { start: startProcessHere }) },
      limits: {
        spending: this.spending,
        dailyBudget: this.dailyBudget,
        usage: createUsageLimits({ quotas: this.#quotas, most: this.most, now }),
      },
      record: { ...base.record, events: this.events && this.#telling(this.events) },
    };
  }

  #telling(events: { url: string; secret: string }) {
    const store = createAnnouncer({
      ...{ queue: this.queue, signal: new AbortController().signal },
      warn: (message) => void this.log.push({ level: "warn", message }),
    });
    return {
      announce: async (all: Parameters<typeof store>[0]) => {
        await this.beforeAnnounce();
        await store(all);
      },
      // The receiver compares the timestamp with its own clock.
      send: createSender({ ...events, version: "0", now: Date.now }),
    };
  }

  async #checkout(request: CheckoutRequest): Promise<Checkout> {
    this.checkouts.push(request);
    this.beforeCheckout(this.checkouts.length);
    const held = await placeOf(this.#repo, request.pull.baseSha, request.pull.headSha);
    return { place: held.place, release: async () => held[Symbol.dispose](), tidy: this.tidy };
  }
}

export const fault = (code: AppError["code"], options: { retryable?: boolean; retryAfterMs?: number } = {}) =>
  new AppError(code, `${code} happened`, options);
