import { forAllRoles, type Model } from "../../../../src/agent/llm/model.ts";
import type { TrajectoryEntry } from "../../../../src/agent/record/trajectory.ts";
import type { FoundTestPlace } from "../../../../src/border/prove-review.ts";
import { AppError } from "../../../../src/core/errors.ts";
import type { Severity } from "../../../../src/core/finding.ts";
import { formatMarker } from "../../../../src/core/ledger/marker.ts";
import type { FileProposal } from "../../../../src/pull/github/pull-request-api.ts";
import { publicText } from "../../../../src/pull/publish/public-text.ts";
import type { PushEnd } from "../../../../src/repo/git/remote.ts";
import type { BranchPush, UnopenedDependencies } from "../../../../src/server/jobs/job-dependencies.ts";
import { createJobHandler } from "../../../../src/server/jobs/job-handler.ts";
import type { Act, Command, JobOutcome, ReviewTask, Task } from "../../../../src/server/queue/job.ts";
import type { JobTools } from "../../../../src/server/queue/run-job.ts";
import { dayOf, type Spending } from "../../../../src/server/queue/usage.ts";
import { MemoryGitHub } from "../../../pull/publish/memory-github.ts";
import { placeOf } from "../../../support/checkout-place.ts";
import { GitRepo } from "../../../support/git-repo.ts";
import { startProcessHere } from "../../../support/process-here.ts";
import { accessTo, claimed, jobDependencies, jobTools } from "../dependencies.ts";

const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };

/** A review because of an event. */
export const reviewTask: ReviewTask = {
  ...{ kind: "review", mode: "new", again: false, pull: 7, headSha: null, thread: null, commentId: null },
  ...{ repository, trigger: "event#7", requestedBy: null },
};

/** The pull request that all of a file's tests comment on; its repository is made once. */
export class CommandedRepository implements AsyncDisposable {
  readonly #repo = GitRepo.create();
  readonly head: string;
  readonly base: string;

  constructor() {
    this.#repo.importCommits([
      {
        branch: "main",
        files: [
          ["src/cart.js", "export const rate = 1;\n"],
          ["lib/.hunkwise.yml", "paths: { private: [secret.js] }\n"],
        ],
      },
      { branch: "change", parents: ["main"], files: [["src/cart.js", "export const rate = 2;\n"]] },
    ]);
    this.head = this.#repo.git("rev-parse", "change");
    this.base = this.#repo.git("rev-parse", "main");
  }

  place = (head: string) => placeOf(this.#repo, this.base, head);

  git = (...args: string[]) => this.#repo.git(...args);

  async [Symbol.asyncDispose](): Promise<void> {
    this.#repo.dispose();
  }
}

/** The handlers before a GitHub in memory, without a queue: each call is an attempt at the same job. */
export class Commanded {
  readonly github = new MemoryGitHub();
  /** What all attempts recorded. */
  readonly recorded: TrajectoryEntry[] = [];
  /** Texts of files of the base. */
  readonly files = new Map<string, string>();
  readonly organization = new Map<string, string>();
  readonly proposals: FileProposal[] = [];
  readonly pushes: BranchPush[] = [];
  /** What the server makes of a push. */
  pushEnd: PushEnd = { kind: "pushed" };
  readonly log: string[] = [];
  model: Model | null = null;
  mayWriteContents = true;
  /** Where tests run; in this place none can. */
  testPlace: FoundTestPlace = {
    sandbox: { sandbox: { bwrap: "none", node: "none", readable: [], system: [], hiding: [] }, memoryMb: 1 },
    environment: null,
  };
  requiresPolicy = false;
  /** False when another worker has the job. */
  isOurs = true;
  /** Whether reviews and answers have a process of their own, as they have where nobody tests. */
  inOwnProcess = false;
  checkouts = 0;
  spent = 0;
  readonly #repo: CommandedRepository;

  constructor(repo: CommandedRepository) {
    this.#repo = repo;
    Object.assign(this.github.state, { headSha: repo.head, baseSha: repo.base, author: "ada" });
    Object.assign(this.github, { fileAt: async (path: string) => this.files.get(path) });
    for (const [login, permission] of Object.entries({ ada: "read", grace: "write", eve: "none" } as const))
      this.github.permissions.set(login, permission);
    this.github.accounts.set("grace", 77);
  }

  /** A command of grace, who may write. */
  command(
    command: Command,
    over: { commentId?: number; thread?: number | null; by?: string; writtenAt?: string } = {},
  ) {
    const { commentId = 9_001, thread = null, by = "grace", writtenAt = "2026-01-01T00:01:00Z" } = over;
    return this.attempt({
      ...{ kind: "command", command, repository, pull: 7, thread, commentId },
      ...{ requestedBy: by, headSha: null, writtenAt },
    });
  }

  reply(thread: number, by: string, body: string, commentId = 9_001) {
    return this.attempt({
      ...{ kind: "reply", repository, pull: 7, commentId, thread, author: by, body, headSha: null },
    });
  }

  /** What grace, who may write, does on a page. */
  act(act: Act, over: { id?: string; by?: string; account?: number } = {}, attempt = 1) {
    const { id = "A".repeat(22), by = "grace", account = 77 } = over;
    return this.attempt(
      { ...{ kind: "act", act, repository, pull: 7, id, account, requestedBy: by }, headSha: null },
      attempt,
    );
  }

  dryRun(by = "grace", attempt = 1) {
    return this.attempt(
      {
        ...{ kind: "review", mode: "dry_run", again: false, repository, pull: 7, headSha: null },
        ...{ trigger: "comment:9001", thread: null, commentId: 9_001, requestedBy: by },
      },
      attempt,
    );
  }

  attempt(task: Task, attempt = 1): Promise<JobOutcome> {
    return createJobHandler(this.#dependencies()).handle(claimed(task, { attempt }), this.#tools());
  }

  giveUp(task: Task, reason: string): Promise<void> {
    return createJobHandler(this.#dependencies()).giveUp(
      claimed(task, { attempt: 5 }),
      new AppError("github_failed", reason),
      this.#tools(),
    );
  }

  /** Posts a finding of ours and resolves to its comment's id. */
  async finding(
    id: string,
    severity: Severity = "medium",
    path = "src/cart.js",
    source = "model",
    { code = null, suggestion = "" }: { code?: string | null; suggestion?: string } = {},
  ): Promise<number> {
    const marker = formatMarker({
      ...{ kind: "finding", id, severity, category: "correctness", symbol: null, code },
      ...{ source, files: [], head: this.#repo.head, trigger: "event#7@main" },
    });
    const body = publicText(`**Medium: Finding ${id}**\n\nIt is wrong.\n\n${suggestion}${marker}`);
    const place = { path, side: "RIGHT", line: 1, startLine: null } as const;
    await this.github.createReview(this.#repo.head, "", [{ ...place, body }]);
    return this.github.reviews.at(-1)?.comments.at(-1)?.id ?? 0;
  }

  /** Bodies of what we wrote in a thread. */
  ours(thread: number): string[] {
    return this.github
      .thread(thread)
      .replies.filter(({ author }) => author.kind === "us")
      .map(({ body }) => body);
  }

  /** The sticky summary as people see it. */
  summary(): string {
    const [sticky] = this.github.comments.filter(({ body }) => body.includes("hunkwise:summary"));
    return sticky?.body.replace(/<!--.*-->/, "") ?? "";
  }

  /** Comments in the conversation, but the sticky summary. */
  said(): string[] {
    return this.github.comments.map(({ body }) => body).filter((body) => !body.includes("hunkwise:summary"));
  }

  checks(): string[] {
    return this.github.checks.map(({ history, externalId }) => {
      const { conclusion, status } = history.at(-1) ?? { status: "none" };
      return `${externalId.slice(41)}: ${conclusion ?? status}`;
    });
  }

  #tools(): JobTools {
    return jobTools({
      record: async (entry) => void this.recorded.push(structuredClone(entry)),
      recorded: async () => [...this.recorded],
      mayPublish: async () => this.isOurs,
      hasLease: async () => this.isOurs,
    });
  }

  #dependencies(): UnopenedDependencies {
    const at = (level: string) => (_: object, message: string) => void this.log.push(`${level}: ${message}`);
    const authorization = async () => {
      if (!this.mayWriteContents) throw new AppError("github_forbidden", "not granted");
      return "Basic eDp5";
    };
    const author = { name: "hunkwise[bot]", email: "hunkwise[bot]@users.noreply.github.com" };
    const base = jobDependencies({
      openJob: () =>
        accessTo(async () => this.github, {
          writer: async () => ({ propose: (proposal) => this.#propose(proposal) }),
          organization: async () => async (path) => this.organization.get(path),
          pushing: async () => ({ author, authorization }),
        }),
      now: () => Date.parse("2026-11-22T10:00:00Z"),
      log: { info: at("info"), warn: at("warn"), error: at("error") },
    });
    return {
      ...base,
      disk: {
        indexes: null,
        push: async (push) => {
          this.pushes.push(push);
          if (this.pushEnd.kind === "pushed") this.github.state.headSha = push.to;
          return this.pushEnd;
        },
        checkout: async ({ pull }) => {
          this.checkouts += 1;
          const held = await this.#repo.place(pull.headSha);
          return { place: held.place, release: async () => held[Symbol.dispose](), tidy: async () => {} };
        },
      },
      models: { all: this.model && forAllRoles(this.model), ready: async () => {} },
      processes: {
        ...base.processes,
        findTestPlace: async () => this.testPlace,
        ...(!this.inOwnProcess && { start: startProcessHere }),
      },
      settings: { ...base.settings, requiresPolicy: this.requiresPolicy },
      limits: {
        ...base.limits,
        spending: this.#spending(),
        dailyBudget: { tokens: 1_000_000, costUsd: null },
      },
    };
  }

  async #propose(proposal: FileProposal): Promise<string> {
    if (!this.mayWriteContents) throw new AppError("github_forbidden", "not granted");
    this.proposals.push(proposal);
    return "https://github.example/octo/shop/pull/8";
  }

  #spending(): Spending {
    return {
      charge: async (_, { promptTokens, completionTokens }) => {
        this.spent += promptTokens + completionTokens;
      },
      spentOn: async (period) => ({
        tokens: dayOf(Date.parse("2026-11-22T10:00:00Z")).startsWith(period) ? this.spent : 0,
        costUsd: 0,
      }),
    };
  }
}
