import { randomBytes } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { TrajectoryEntry } from "../../agent/record/trajectory.ts";
import type { FindTestPlace } from "../../border/test-place.ts";
import type { ActionEnv } from "../../config/action-env.ts";
import { environmentsFolder } from "../../config/folders.ts";
import { programPath } from "../../config/process-env.ts";
import { unlessAborted } from "../../core/async.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { registerSecret } from "../../core/secrets/live-secrets.ts";
import { actionsSlug, tokenIdentity } from "../../pull/github/app-client.ts";
import type { CheckRunUpdate, PullRequestApi } from "../../pull/github/pull-request-api.ts";
import { createRateLimiter } from "../../pull/github/rate-limit.ts";
import { hasWriteAccess } from "../../pull/ledger/authority.ts";
import { createSeal, type Seal } from "../../pull/ledger/seal.ts";
import { closeCheckRun, reviewedAs } from "../../pull/publish/check-run.ts";
import { cancelledConclusion, failedConclusion } from "../../pull/publish/conclusions.ts";
import { sealedPull, sealedRepository } from "../../pull/publish/sealed-api.ts";
import { Disk } from "../../repo/git/disk.ts";
import { requireGit } from "../../repo/git/run-git.ts";
import { createUsageLimits } from "../../server/jobs/budgets.ts";
import { createCheckoutPull, createPushBranch } from "../../server/jobs/checkout-pull.ts";
import { basic, createTokenAccess } from "../../server/jobs/github-access.ts";
import {
  type GitHubAccess,
  noRecord,
  type OpenJob,
  type UnopenedDependencies,
} from "../../server/jobs/job-dependencies.ts";
import { createJobHandler, type JobHandler } from "../../server/jobs/job-handler.ts";
import type { JobOutcome, NewJob, Task } from "../../server/queue/job.ts";
import type { JobTools } from "../../server/queue/run-job.ts";
import { openStores } from "../../server/queue/stores.ts";
import { startWorker } from "../../server/queue/worker.ts";
import { removeTree } from "../../tasks/prove/proof/environment.ts";
import { ReviewResult } from "../../tasks/shapes/review-result.ts";
import { connect as connectModels, contentKeyOf, networkOf, openLog } from "../open-app.ts";
import { programVersion } from "../output.ts";
import { requirePrices } from "../override-options.ts";
import { readResults } from "../read-results.ts";
import { testPlacesHere } from "../test-places.ts";
import { useProxy } from "../use-proxy.ts";
import { type ActionEvent, admission, narrowed, readEvent } from "./event.ts";
import { derivedStateKey } from "./state-key.ts";

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
 * Handles one event as the App handles a webhook, with a queue that ends with this process. Differences are the token, the gate in front of
 * reviews, and the seal on markers. Rejects with `usage` or `config_invalid` before anything is done.
 */
export async function runAction(given: ActionEnv, signal: AbortSignal): Promise<ActionRun> {
  const { inputs, env, tempFolder } = given;
  for (const secret of [inputs.githubToken, inputs.organizationToken, inputs.stateKey])
    if (secret) registerSecret(secret, { keep: true });
  const log = openLog(env);
  useProxy(env);
  const baseUrl = env.github.apiUrl;
  const userAgent = `hunkwise/${programVersion()}`;
  const app = await tokenIdentity({ baseUrl, userAgent, token: inputs.githubToken, signal });
  if (app.isPerson) {
    throw new AppError("usage", `github-token belongs to ${app.slug}, not to a GitHub App`, {
      remedy: "Use the token of the job (the default) or of an App (actions/create-github-app-token)",
    });
  }
  const remembers =
    app.slug !== actionsSlug || inputs.stateKey !== null || derivedStateKey(env.model?.apiKey, 0) !== null;
  const event = await readEvent(given, { appSlug: app.slug, remembers });
  if ("nothing" in event.starts) return nothing(event.starts.nothing);
  const dataFolder = await mkdtemp(join(tempFolder, "hunkwise-"));
  try {
    return await runJob(event.starts.job, { given, event, app, dataFolder, userAgent, log, signal });
  } finally {
    // Environments of proofs are read-only.
    await removeTree(dataFolder);
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
    apiUrl,
    userAgent,
    token: inputs.githubToken,
    organizationToken: inputs.organizationToken ?? inputs.githubToken,
    identity: async () => app,
    rateLimiter: createRateLimiter({ gapMs: env.times.writeGapMs }),
  });
  const known = inputs.stateKey ?? derivedStateKey(env.model?.apiKey, given.repository.id);
  const stateKey = known ?? randomBytes(32).toString("hex");
  registerSecret(stateKey, { keep: true });
  if (known === null && app.slug === actionsSlug)
    run.notices.push(
      "This run has no memory: it knows no earlier review and no dismissal. Set the input state-key to a secret of this repository.",
    );
  const seal = app.slug === actionsSlug ? createSeal(stateKey) : null;
  const { noProofs } = event;
  const onOther = () => {
    if (known !== null && !run.notices.includes(OTHER_KEY)) run.notices.push(OTHER_KEY);
  };
  const openJob: OpenJob = (beforeWrite) => {
    const access = token.openJob(beforeWrite);
    const seen = { ...access, ...watched(access, run) };
    return seal === null ? seen : { ...seen, ...sealedAccess(seen, seal, onOther) };
  };
  const jobs = gated(event, inputs, {
    openJob,
    disk: {
      checkout: createCheckoutPull({
        gitPath,
        dataFolder,
        host,
        webUrl,
        network,
        disk,
        authorization: async () => basic(inputs.githubToken),
        // Another step of the job must never find a file of the head, wherever it looks.
        onlyObjects: true,
      }),
      push: createPushBranch({ webUrl, network }),
      indexes: null,
    },
    models: { all: connected?.models ?? null, ready: async (signal) => connected?.ready(signal) },
    processes: {
      start: () => undefined,
      commandSandbox: async () => null,
      findTestPlace: noProofs === null ? testPlaces(env, dataFolder) : async () => ({ why: noProofs }),
    },
    settings: {
      requiresPolicy: inputs.policy === "required" || env.requiresPolicy,
      narrow: (config) => narrowed(config, inputs),
      results: () => resultsOf(given, run),
    },
    limits: {
      spending: stores.spending,
      // A run has one review, whose limits are in its configuration.
      dailyBudget: { tokens: null, costUsd: null },
      usage: createUsageLimits({ quotas: stores.quotas, most: env.usageLimits, now: Date.now }),
    },
    record: noRecord,
    app: { webUrl, version: programVersion(), contentKey: contentKeyOf(stateKey), upkeep: null },
    log,
    now: Date.now,
  });
  const ended = Promise.withResolvers<void>();
  const worker = startWorker({
    queue: stores.queue,
    log,
    concurrency: 1,
    leaseMs: env.times.leaseMs,
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
    await unlessAborted(ended.promise, signal);
  } finally {
    await worker.stop(stoppingMs);
    const recorded = await stores.queue.trajectory(id).catch(() => []);
    const github = openJob();
    // No other process continues the job of a canceled run.
    const cancelled = cancelledConclusion("The workflow run was canceled.");
    const closing = AbortSignal.timeout(closingMs);
    if (signal.aborted) await closeOpened(job.task, github, recorded, cancelled, closing).catch(() => {});
    else if (jobs.isOpen() && run.conclusion === null)
      run.conclusion = await earlierConclusion(job.task, github, signal);
    await Promise.allSettled([disk.close(), stores.close()]);
  }
  if (signal.aborted) throw signal.reason;
  return run;
}

/** How long a canceled job may take to stop. The runner kills it ten seconds after it asked. */
const stoppingMs = 2_000;

/** The job goes on later. */
const again = new Set(["retried", "parked", "handed_back", "lost", "unstored"]);

/** Sandboxes on the runner, which get nothing of the job's environment. Environments end with the job. */
const testPlaces = ({ sandbox }: ActionEnv["env"], dataFolder: string): FindTestPlace =>
  testPlacesHere({
    sandbox: { ...sandbox, hidden: [...sandbox.hidden, dataFolder] },
    folder: environmentsFolder(dataFolder),
    missing: (why) => `${why}. docs/action.md has the steps that a workflow needs`,
  });

/** The results of other tools that the workflow names. */
async function resultsOf({ inputs: { findings }, workspace }: ActionEnv, run: ActionRun) {
  if (findings.length === 0) return [];
  if (workspace === null)
    throw new AppError("usage", "The input findings names files, but there is no GITHUB_WORKSPACE", {
      remedy: "Check the repository out, or download the files, in a step before",
    });
  return readResults(findings, {
    roots: [workspace],
    within: workspace,
    warn: (text) => void run.notices.push(text),
  });
}

/** Null, with a notice, if this run has no model or may not use it. */
async function connect({ given, event, dataFolder, log }: RunOptions, run: ActionRun) {
  const { model, pricesFile } = given.env;
  if (model === null || event.isOfFork) {
    const why =
      model === null
        ? "This run has no model, so only the built-in analyzers looked."
        : `The workflow of a ${event.name} event from a fork is the fork's own, so no model was asked. Use pull_request_target.`;
    run.notices.push(why);
    return null;
  }
  await requirePrices(given.inputs.maxCost === null ? {} : { maxCost: given.inputs.maxCost }, given.env);
  return await connectModels({ model, pricesFile, dataDir: dataFolder }, log, null);
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

const OTHER_KEY =
  "What earlier runs wrote is signed with another key, or with none, so this run ignores it: earlier dismissals do not count.";

const sealedAccess = (access: GitHubAccess, seal: Seal, onOther: () => void): GitHubAccess => ({
  ...access,
  async repository(repository, ...rest) {
    return sealedRepository(await access.repository(repository, ...rest), seal, repository.id);
  },
  async pull(repository, pull, ...rest) {
    const place = { repository: repository.id, pull };
    return sealedPull(await access.pull(repository, pull, ...rest), seal, place, onOther);
  },
});

/**
 * The App's handler behind the gate. Where the gate is closed nothing is written on GitHub: a check run that says "skipped" counts as
 * passed where it is required. The App answers questions of a pull request's author, too; here that needs the same admission.
 */
function gated(
  event: ActionEvent,
  inputs: ActionEnv["inputs"],
  dependencies: UnopenedDependencies,
): JobHandler & { isOpen(): boolean } {
  /** Whether the gate was open for this job, and for which head alone; null: for any. */
  const gate: { isOpen: boolean; head: string | null } = { isOpen: false, head: null };
  const { openJob, disk } = dependencies;
  const handler = createJobHandler({
    ...dependencies,
    disk: {
      ...disk,
      async checkout(request) {
        const { headSha } = request.pull;
        if (gate.head !== null && headSha !== gate.head)
          throw new AppError("superseded", `the label was for ${gate.head}, and the head is now ${headSha}`);
        return disk.checkout(request);
      },
    },
  });
  return {
    isOpen: () => gate.isOpen,
    async handle(job, tools) {
      const { task } = job;
      const pass = () => {
        gate.isOpen = true;
        return handler.handle(job, tools);
      };
      if (!("pull" in task)) return pass();
      const api = await openJob().pull(task.repository, task.pull, tools.signal);
      const asks = task.kind === "reply" ? task.author : task.requestedBy;
      if (asks !== null) {
        if (await hasWriteAccess(api, asks)) return pass();
        if (inputs.reviewsOf === "collaborators")
          return { kind: "skipped", reason: `${asks} has no write access` };
      }
      const answer = await admission(event, inputs, await api.pull(), api);
      if (!answer.admitted) return { kind: "skipped", reason: answer.because };
      gate.head = answer.head;
      return pass();
    },
    async giveUp(job, error, tools) {
      if (!gate.isOpen) return;
      const { task } = job;
      const recorded = await tools.recorded();
      const opened = recorded.findLast((entry) => entry.kind === "check_opened");
      if (task.kind !== "review") return handler.giveUp(job, error, tools);
      if (opened === undefined) return gate.head === null ? handler.giveUp(job, error, tools) : undefined;
      const github = openJob();
      const api = await github.pull(task.repository, task.pull, tools.signal);
      if ((await api.pull()).headSha === opened.head) return handler.giveUp(job, error, tools);
      await closeOpened(task, github, recorded, failedConclusion(error), tools.signal);
    },
  };
}

/** How long a canceled run tries to close its check run. */
const closingMs = 5_000;

/** Concludes the check run that this job opened, on the commit that it was for. */
async function closeOpened(
  task: Task,
  github: GitHubAccess,
  recorded: readonly TrajectoryEntry[],
  update: CheckRunUpdate,
  signal: AbortSignal,
): Promise<void> {
  const opened = recorded.findLast((entry) => entry.kind === "check_opened");
  if (!("pull" in task) || opened === undefined) return;
  const api = await github.pull(task.repository, task.pull, signal);
  await closeCheckRun(api, opened, await api.pull(), update);
}

/** The conclusion of an earlier review of the present head: a run with nothing to do must not end better than that. */
async function earlierConclusion(
  task: Task,
  github: GitHubAccess,
  signal: AbortSignal,
): Promise<ActionRun["conclusion"]> {
  if (!("pull" in task)) return null;
  try {
    const api = await github.pull(task.repository, task.pull, signal);
    const pull = await api.pull();
    return reviewedAs(pull, await api.checkRuns(pull.headSha))?.conclusion ?? null;
  } catch {
    return null;
  }
}
