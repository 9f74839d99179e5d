import { forAllRoles } from "../../src/agent/llm/model.ts";
import type { TrajectoryEntry } from "../../src/agent/record/trajectory.ts";
import { AppError } from "../../src/core/errors.ts";
import type { FileProposal, Permission } from "../../src/pull/github/pull-request-api.ts";
import { createUsageLimits, type MostUsage } from "../../src/server/jobs/budgets.ts";
import type { CheckoutRequest, UnopenedDependencies } from "../../src/server/jobs/job-dependencies.ts";
import { createJobHandler } from "../../src/server/jobs/job-handler.ts";
import type { ClaimedJob } from "../../src/server/queue/job.ts";
import type { JobTools } from "../../src/server/queue/run-job.ts";
import { openSqliteStores, type Stores } from "../../src/server/queue/stores.ts";
import { decide } from "../../src/server/webhooks/decide.ts";
import { MemoryGitHub } from "../pull/publish/memory-github.ts";
import { accessTo, jobDependencies, jobTools } from "../server/jobs/dependencies.ts";
import { TempFolder } from "../support/git-repo.ts";
import { scriptedModel } from "../support/scripted.ts";

export const head = (n: number) => String(n).padStart(40, "0");

/**
 * Webhooks, queue, limits and job handler of the product under a flood, with a clock that the test controls: one GitHub in memory for each
 * pull request, and reviews that fail at their checkout, so that a review starts but costs nothing.
 */
export class Flood implements AsyncDisposable {
  /** Milliseconds since 1970; starts in the morning. */
  time = Date.UTC(2026, 10, 22, 8);
  /** Pull requests whose review has started, in this order. */
  readonly begun: string[] = [];
  /** Number of requests for an installation client: each costs a token and more requests. */
  asked = 0;
  /** Called before each checkout. */
  beforeCheckout: (request: CheckoutRequest) => void = () => {};
  /** Files requested, as "path at revision". */
  readonly files: string[] = [];
  readonly proposals: FileProposal[] = [];
  readonly model = scriptedModel([]);
  readonly permissions = new Map<string, Permission>();
  readonly #pulls = new Map<string, MemoryGitHub>();
  readonly #folder = new TempFolder("flood");
  readonly #stores: Stores;
  readonly #most: MostUsage;
  #comments = 5_000;

  constructor(most: Partial<MostUsage> = {}) {
    this.#most = {
      ...{ commandsAnHour: 60, pullReviewsADay: 50, authorReviewsADay: 300, installationReviewsADay: 1_000 },
      ...most,
    };
    this.#stores = openSqliteStores(this.#folder.path, { now: () => this.time });
  }

  get queue() {
    return this.#stores.queue;
  }

  github(pull = 7, installation = 1): MemoryGitHub {
    const name = `${installation}/${pull}`;
    const known = this.#pulls.get(name);
    if (known) return known;
    const github = new MemoryGitHub();
    Object.assign(github.state, { number: pull, headSha: head(0) });
    Object.assign(github, {
      fileAt: async (path: string, revision: string) => void this.files.push(`${path} at ${revision}`),
      permissionOf: async (login: string) => {
        github.calls.push("permissionOf");
        return this.permissions.get(login) ?? "none";
      },
    });
    this.#pulls.set(name, github);
    return github;
  }

  /** A push to a pull request; it is reviewed after ten seconds without another push, or after a minute. */
  push(n: number, pull = 7, installation = 1): Promise<number> {
    this.github(pull, installation).state.headSha = head(n);
    const pull_request = { number: pull, head: { sha: head(n) } };
    return this.deliver("pull_request", { action: "synchronize", pull_request }, installation);
  }

  /** A comment in the conversation. Resolves to the number of jobs that it starts. */
  comment(login: string, body: string, over: { pull?: number; user?: object; via?: object | null } = {}) {
    const { pull = 7, user = {}, via = null } = over;
    const author = { login, type: "User", ...user };
    const at = { created_at: new Date().toISOString(), performed_via_github_app: via };
    const comment = { id: ++this.#comments, body, user: author, ...at };
    const issue = { number: pull, pull_request: {} };
    return this.deliver("issue_comment", { action: "created", issue, comment, sender: author });
  }

  async deliver(event: string, payload: object, installation = 1): Promise<number> {
    const repository = { id: 6 + installation, name: "shop", owner: { login: "octo" } };
    const whole = { installation: { id: installation }, repository, ...payload };
    const decision = decide(event, whole, { appSlug: "hunk-bot", appId: 7, pushWindowMs: 10_000 });
    if ("ignored" in decision) return 0;
    for (const job of decision.jobs) await this.queue.enqueue(job);
    return decision.jobs.length;
  }

  /** Advances the clock and lets the worker do all due jobs. */
  async pass(milliseconds: number): Promise<void> {
    this.time += milliseconds;
    for (let job = await this.#claim(); job; job = await this.#claim()) await this.#run(job);
  }

  /** The conclusions of a pull request's check runs, oldest first. */
  checks(pull = 7, installation = 1): string[] {
    return this.github(pull, installation).checks.map(({ history }) => {
      const last = history.at(-1);
      return last ? `${last.conclusion}: ${last.title}` : "";
    });
  }

  /** The summary of a pull request's last check run. */
  lastWord(pull = 7): string {
    const summary = this.github(pull).checks.at(-1)?.history.at(-1)?.summary ?? "";
    return summary.replace(/\n\n<!-- hunkwise:check .* -->$/, "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stores.close();
    this.#folder.dispose();
  }

  #claim = () => this.queue.claim("worker", 60_000);

  async #run(job: ClaimedJob): Promise<void> {
    try {
      await this.queue.complete(
        job,
        await createJobHandler(this.#dependencies(job)).handle(job, this.#tools(job)),
      );
    } catch (error) {
      const again = error instanceof AppError && error.retryable;
      if (again) await this.queue.release(job, 1_000, error.message);
      else await this.queue.complete(job, { kind: "failed", reason: String(error) });
    }
  }

  #tools(job: ClaimedJob): JobTools {
    return jobTools({
      record: (entry: TrajectoryEntry) => this.queue.record(job, entry),
      recorded: () => this.queue.trajectory(job.id),
    });
  }

  #dependencies({ task }: ClaimedJob): UnopenedDependencies {
    const { installation } = "repository" in task ? task.repository : { installation: 0 };
    const number = "pull" in task ? task.pull : 0;
    const access = async () => {
      this.asked += 1;
      return this.github(number, installation);
    };
    const now = () => this.time;
    const propose = async (proposal: FileProposal) => {
      this.proposals.push(proposal);
      return "https://github.example/octo/shop/pull/8";
    };
    const checkout = async (request: CheckoutRequest) => {
      this.beforeCheckout(request);
      this.begun.push(`${installation}/${number}`);
      throw new AppError("too_large", "It shall cost nothing");
    };
    return jobDependencies({
      openJob: () => accessTo(access, { writer: async () => ({ propose }) }),
      disk: { checkout, push: async () => ({ kind: "moved" }), indexes: null },
      models: { all: forAllRoles(this.model), ready: async () => {} },
      limits: {
        spending: this.#stores.spending,
        dailyBudget: { tokens: null, costUsd: null },
        usage: createUsageLimits({ quotas: this.#stores.quotas, most: this.#most, now }),
      },
      now,
    });
  }
}
