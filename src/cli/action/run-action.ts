import { createHmac, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { TrajectoryEntry } from "../../agent/trajectory.ts";
import type { ActionEnv } from "../../config/action-env.ts";
import { programPath } from "../../config/process-env.ts";
import { AppError, errorLine } from "../../errors.ts";
import { Disk } from "../../git/disk.ts";
import { requireGit } from "../../git/run-git.ts";
import type { CheckRunUpdate, PullRequestApi } from "../../github/pull-request-api.ts";
import { createRateLimiter } from "../../github/rate-limit.ts";
import { actionsSlug, tokenIdentity } from "../../github/token-identity.ts";
import { createUsageLimits } from "../../jobs/budgets.ts";
import { createCheckoutPull, createPushBranch } from "../../jobs/checkout-pull.ts";
import { basic, createTokenAccess } from "../../jobs/github-access.ts";
import type { CheckoutRequest, GitHubAccess, JobDependencies } from "../../jobs/job-dependencies.ts";
import { createJobHandler, type JobHandler } from "../../jobs/job-handler.ts";
import { perJob } from "../../jobs/per-job.ts";
import { hasWriteAccess } from "../../ledger/authority.ts";
import { createSeal, type Seal } from "../../ledger/seal.ts";
import type { Logger } from "../../logger.ts";
import { sealedPull, sealedRepository } from "../../publish/sealed-api.ts";
import type { ClaimedJob, JobOutcome, NewJob } from "../../queue/job.ts";
import type { JobTools } from "../../queue/run-job.ts";
import { openStores } from "../../queue/stores.ts";
import { startWorker } from "../../queue/worker.ts";
import { ReviewResult } from "../../review/review-result.ts";
import { registerSecret } from "../../secrets/live-secrets.ts";
import { createModels } from "../create-model.ts";
import { networkOf, openLog } from "../open-app.ts";
import { programVersion } from "../output.ts";
import { requirePrices } from "../override-options.ts";
import { useProxy } from "../use-proxy.ts";
import { type ActionEvent, readEvent } from "./event.ts";
import { admission } from "./gate.ts";
import { narrowed } from "./narrow.ts";

/** What a run of the Action came to. */
export interface ActionRun {
  outcome: JobOutcome;
  /** Null if nothing was reviewed. */
  result: ReviewResult | null;
  /** Of the check run; null if there is none. */
  conclusion: CheckRunUpdate["conclusion"] | null;
  /** Sentences for people about what this run could not do. */
  notices: string[];
}

/**
 * One event, handled as the App handles a webhook: the same jobs, run by a worker of this process with a queue that ends with it. Differences
 * are the token, the gate in front of reviews, and the seal on markers. Rejects with `usage` or `config_invalid` before anything is done.
 */
export async function runAction(given: ActionEnv, signal: AbortSignal): Promise<ActionRun> {
  const { inputs, env, tempFolder } = given;
  for (const secret of [inputs.token, inputs.stateKey]) if (secret) registerSecret(secret, { keep: true });
  const log = openLog(env);
  useProxy(env);
  const baseUrl = env.github.apiUrl;
  const userAgent = `hunkwise/${programVersion()}`;
  const app = await tokenIdentity({ baseUrl, userAgent, token: inputs.token, signal });
  if (app.isPerson) {
    throw new AppError("usage", `github-token belongs to ${app.slug}, not to a GitHub App`, {
      remedy: "Use the token of the job (the default) or of an App (actions/create-github-app-token)",
    });
  }
  const event = await readEvent(given, app.slug);
  if ("nothing" in event.starts) return nothing(event.starts.nothing);
  const dataFolder = await mkdtemp(join(tempFolder, "hunkwise-"));
  try {
    return await runJob(event.starts.job, { given, event, app, dataFolder, userAgent, log, signal });
  } finally {
    await rm(dataFolder, { recursive: true, force: true, maxRetries: 3 });
  }
}

const nothing = (reason: string): ActionRun => ({
  outcome: { kind: "skipped", reason },
  result: null,
  conclusion: null,
  notices: [],
});

interface RunOptions {
  given: ActionEnv;
  event: ActionEvent;
  app: { id: number; slug: string };
  dataFolder: string;
  userAgent: string;
  log: Logger;
  signal: AbortSignal;
}

async function runJob(job: NewJob, options: RunOptions): Promise<ActionRun> {
  const { given, event, app, dataFolder, userAgent, log, signal } = options;
  const { env, inputs } = given;
  const { webUrl, host, apiUrl } = env.github;
  const run: ActionRun = nothing("the job did not end");
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const stores = await openStores({ databaseUrl: null, dataFolder });
  const disk = new Disk({ dataFolder, limitBytes: env.diskLimitBytes, log });
  const network = networkOf(env);
  const connected = await connect(options, run);
  if (connected === null && inputs.requireModel)
    throw new AppError("usage", "require-model is set, but no model may be used here", {
      remedy: run.notices.join(" ") || "Set the inputs api-key and model",
    });
  const token = createTokenAccess({
    ...{ apiUrl, userAgent, token: inputs.token },
    identity: async () => app,
    rateLimiter: createRateLimiter({ gapMs: env.writeGapMs }),
  });
  const stateKey = inputs.stateKey ?? randomBytes(32).toString("hex");
  const seal = app.slug === actionsSlug ? createSeal(stateKey) : null;
  const checkout = createCheckoutPull({
    ...{ gitPath, dataFolder, host, webUrl, network, disk },
    authorization: async () => basic(inputs.token),
    // Another step of the job must never find a file of the head, wherever it looks.
    onlyObjects: true,
  });
  const dependencies: Omit<JobDependencies, "github" | "checkout"> = {
    push: createPushBranch({ webUrl, network }),
    narrow: (config) => narrowed(config, inputs),
    models: connected?.models ?? null,
    modelsReady: async (signal) => connected?.ready(signal),
    spending: stores.spending,
    // A run has one review, whose limits are in its configuration.
    dailyBudget: { tokens: null, costUsd: null },
    usage: createUsageLimits({ quotas: stores.quotas, most: env.usageLimits, now: Date.now }),
    contentKey: ({ id }, pull) =>
      createHmac("sha256", stateKey).update(`what was read of ${id}#${pull}`).digest("base64url"),
    ...{ webUrl, version: programVersion(), log, now: Date.now },
  };
  const jobs = perJob(token.openJob, (access) => {
    const github = watched(seal === null ? access : sealedAccess(access, seal), run);
    return gated({ event, inputs, github, checkout, dependencies });
  });
  const ended = Promise.withResolvers<void>();
  const worker = startWorker({
    ...{ queue: stores.queue, log, concurrency: 1, leaseMs: env.leaseMs },
    handle: async (job, tools) => {
      const outcome = await jobs.handle(job, recording(tools, run));
      run.outcome = outcome;
      return outcome;
    },
    async giveUp(job, error, tools) {
      run.outcome = { kind: "failed", reason: errorLine(error) };
      await jobs.giveUp(job, error, tools);
    },
    watch: { began() {}, ended: (_, how) => void (again.has(how) || ended.resolve()) },
  });
  const id = await stores.queue.enqueue(job);
  worker.wake();
  try {
    await Promise.race([ended.promise, untilAborted(signal)]);
  } finally {
    await worker.stop(stoppingMs);
    if (signal.aborted) await calledOff({ ...job, id }, jobs, stores.queue.trajectory(id));
    await Promise.allSettled([disk.close(), stores.close()]);
  }
  if (signal.aborted) throw signal.reason;
  return run;
}

/** How long a cancelled job may take to stop. The runner kills it ten seconds after it asked. */
const stoppingMs = 2_000;

/** The job goes on later. */
const again = new Set(["retried", "parked", "handed_back", "lost", "unstored"]);

const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** Null, with a notice, if this run has no model or may not use it. */
async function connect({ given, event, dataFolder, log }: RunOptions, run: ActionRun) {
  const { model, pricesFile } = given.env;
  if (model === null) {
    run.notices.push("This run has no model, so only the built-in analyzers looked.");
    return null;
  }
  if (event.isOfFork) {
    run.notices.push(
      `The workflow of a ${event.name} event from a fork is the fork's own, so no model was asked. Use pull_request_target.`,
    );
    return null;
  }
  await requirePrices(given.inputs.maxCost === null ? {} : { maxCost: given.inputs.maxCost }, given.env);
  const connected = await createModels(model, {
    pricesFile,
    folder: dataFolder,
    warn: (text) => log.warn(text),
  });
  await connected.load();
  return connected;
}

/** Remembers the result of the review. */
function recording(tools: JobTools, run: ActionRun): JobTools {
  return {
    ...tools,
    async record(entry) {
      await tools.record(entry);
      if (entry.kind === "result") run.result = ReviewResult.safeParse(entry.result).data ?? null;
    },
  };
}

/** Remembers the conclusion of the check run. */
function watched(access: GitHubAccess, run: ActionRun): GitHubAccess {
  return {
    ...access,
    async pull(...args) {
      const api = await access.pull(...args);
      const note = ({ status, conclusion }: CheckRunUpdate) => {
        if (status === "completed") run.conclusion = conclusion ?? null;
      };
      return {
        ...api,
        async createCheckRun(headSha, externalId, update) {
          const id = await api.createCheckRun(headSha, externalId, update);
          note(update);
          return id;
        },
        async updateCheckRun(id, update) {
          await api.updateCheckRun(id, update);
          note(update);
        },
      } satisfies PullRequestApi;
    },
  };
}

const sealedAccess = (access: GitHubAccess, seal: Seal): GitHubAccess => ({
  ...access,
  async repository(repository, ...rest) {
    return sealedRepository(await access.repository(repository, ...rest), seal, repository.id);
  },
  async pull(repository, pull, ...rest) {
    return sealedPull(await access.pull(repository, pull, ...rest), seal, {
      repository: repository.id,
      pull,
    });
  },
});

interface GatedOptions {
  event: ActionEvent;
  inputs: ActionEnv["inputs"];
  github: GitHubAccess;
  checkout: JobDependencies["checkout"];
  dependencies: Omit<JobDependencies, "github" | "checkout">;
}

/**
 * The App's handler behind the gate. Where the gate is closed nothing is written on GitHub: a check run that says "skipped" counts as
 * passed where it is required. The App answers questions of a pull request's author, too; here that needs the same admission.
 */
function gated({ event, inputs, github, checkout, dependencies }: GatedOptions): JobHandler {
  let head: string | null = null;
  const handler = createJobHandler({
    ...dependencies,
    github,
    async checkout(request: CheckoutRequest) {
      if (head !== null && request.head !== head)
        throw new AppError("superseded", `the label was for ${head}, and the head is now ${request.head}`);
      return checkout(request);
    },
  });
  return {
    ...handler,
    async handle(job, tools) {
      const { task } = job;
      if (!("pull" in task)) return handler.handle(job, tools);
      const api = await github.pull(task.repository, task.pull, tools.signal);
      const asks = task.kind === "reply" ? task.author : task.requestedBy;
      if (asks !== null && (await hasWriteAccess(api, asks))) return handler.handle(job, tools);
      if (asks !== null && inputs.reviewsOf === "collaborators")
        return { kind: "skipped", reason: `${asks} has no write access` };
      const answer = await admission(event, inputs, await api.pull(), api);
      if (!answer.admitted) return { kind: "skipped", reason: answer.because };
      head = answer.head;
      return handler.handle(job, tools);
    },
  };
}

/** How long a cancelled run tries to close its check run. */
const closingMs = 5_000;

/** Closes the check run of a run that is cancelled; nobody goes on with its job. */
async function calledOff(
  job: Pick<ClaimedJob, "id" | "task">,
  jobs: JobHandler,
  recorded: Promise<TrajectoryEntry[]>,
): Promise<void> {
  const tools: JobTools = {
    signal: AbortSignal.timeout(closingMs),
    record: async () => {},
    recorded: () => recorded,
    mayPublish: async () => true,
    hasLease: async () => true,
  };
  const claim = { ...job, attempt: 1, fence: 1, deliveryId: null, createdAt: 0, startedAt: 0 };
  await jobs.giveUp(claim, new AppError("aborted", "the workflow run was cancelled"), tools).catch(() => {});
}
