import { createHmac } from "node:crypto";
import { openLogseqVault } from "../agent/record/journal.ts";
import { createCommandSandbox, createFindTestPlace } from "../border/test-place.ts";
import { type AppCredentials, type Env, secretsOf } from "../config/env.ts";
import { environmentsFolder } from "../config/folders.ts";
import { type LoadedRepoConfig, loadRepoConfig } from "../config/load-config.ts";
import { programPath } from "../config/process-env.ts";
import { within } from "../core/async.ts";
import { errorLine } from "../core/errors.ts";
import { createLogger, type Logger } from "../core/logger.ts";
import { registerSecret } from "../core/secrets/live-secrets.ts";
import { createRateLimiter } from "../pull/github/rate-limit.ts";
import { Disk, freeSpace } from "../repo/git/disk.ts";
import { removeRepository } from "../repo/git/places.ts";
import { requireGit } from "../repo/git/run-git.ts";
import { plainLine } from "../report/terminal-style.ts";
import { createUsageLimits } from "../server/jobs/budgets.ts";
import { createCheckoutPull, createPushBranch } from "../server/jobs/checkout-pull.ts";
import { createAnnouncer, createSender } from "../server/jobs/events.ts";
import { createAppAccess, createGitHubAccess, gitAuthorization } from "../server/jobs/github-access.ts";
import { keepIndexes } from "../server/jobs/graph-index.ts";
import type { Upkeep } from "../server/jobs/job-dependencies.ts";
import { createJobHandler } from "../server/jobs/job-handler.ts";
import type { Metrics } from "../server/metrics/metrics.ts";
import type { RepositoryRef } from "../server/queue/job.ts";
import { installationConcurrency, openStores, type Stores } from "../server/queue/stores.ts";
import { retryingSpending } from "../server/queue/usage.ts";
import { startWorker, type Worker } from "../server/queue/worker.ts";
import {
  appAuth,
  appIdentity,
  createProbot,
  installationAuth,
  installationGrants,
} from "../server/webhooks/app-auth.ts";
import { decide, handlesEvent } from "../server/webhooks/decide.ts";
import { createHealth, type Health } from "../server/webhooks/health.ts";
import { removeEnvironments } from "../tasks/prove/proof/environment.ts";
import { createModels } from "./create-model.ts";
import { programVersion, styleOf } from "./output.ts";
import { useProxy } from "./use-proxy.ts";

/** The parts of an App process; `serve` and `worker` put them together. */
export interface App {
  log: Logger;
  stores: Stores;
  /** Null if they are switched off. */
  metrics: Metrics | null;
  probot: ReturnType<typeof createProbot>;
  health: Health;
  /** Loads what applies to pull requests into a repository's default branch. */
  loadConfiguration(repository: RepositoryRef, signal: AbortSignal): Promise<LoadedRepoConfig>;
  /** Starts a worker, after processes left over from killed ones have ended. */
  startWorker(): Promise<Worker>;
  /** Call after the worker has stopped. Resolves within 2 s, whatever the database does. */
  close(): Promise<void>;
}

/** The logger of a server process. From now on the environment's secrets are redacted in every log. */
export function openLog(env: Env): Logger {
  for (const secret of secretsOf(env)) registerSecret(secret, { keep: true });
  return createLogger(env.logLevel, logDestination(process.stderr));
}

/** Composes the App. `stop` fires when the process must end. Rejects with one line if git, the data folder or the price table is missing. */
export async function openApp(
  env: Env,
  credentials: AppCredentials,
  log: Logger,
  stop: AbortSignal,
): Promise<App> {
  useProxy(env);
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const version = programVersion();
  const metrics = await openMetrics(env, version);
  const stores = await openStores({
    databaseUrl: env.databaseUrl,
    dataFolder: env.dataDir,
    installationConcurrency,
  });
  const { queue } = stores;
  const disk = new Disk({ dataFolder: env.dataDir, limitBytes: env.diskLimitBytes, log });
  const indexes = keepIndexes({ log });

  const github = openGitHub({ env, log, stores, metrics }, credentials);
  const { webUrl, host } = env.github;
  const network = networkOf(env);

  const connected = await connect(env, log, metrics);
  if (connected === null) log.warn("No model is configured: reviews use only the built-in analyzers");

  const commandSandbox = createCommandSandbox({
    searchPath: programPath(),
    ...env.sandbox,
    warn: (why, remedy) => log.warn(`Fixes run no commands, and findings are not proved: ${why}. ${remedy}`),
  });
  const warn = (message: string, err: unknown) => log.warn({ err }, `${message}: ${errorLine(err)}`);
  const jobs = createJobHandler({
    openJob: github.openJob,
    disk: {
      checkout: createCheckoutPull({
        gitPath,
        dataFolder: env.dataDir,
        host,
        webUrl,
        network,
        disk,
        authorization: (repository) => gitAuthorization(github.mintToken, repository),
      }),
      push: createPushBranch({ webUrl, network }),
      indexes: env.usesGraph ? indexes : null,
    },
    models: { all: connected?.models ?? null, ready: async (signal) => connected?.ready(signal) },
    processes: {
      start: () => undefined,
      commandSandbox,
      findTestPlace: createFindTestPlace({
        findSandbox: commandSandbox,
        folder: environmentsFolder(env.dataDir),
        registries: env.sandbox.registries,
        onFault: (line) => log.warn(`An environment for tests of findings cannot be prepared: ${line}`),
      }),
    },
    settings: { requiresPolicy: env.requiresPolicy, narrow: (config) => config, results: async () => [] },
    limits: {
      spending: retryingSpending(stores.spending, { queue, signal: stop, warn }),
      dailyBudget: env.dailyBudget,
      usage: createUsageLimits({ quotas: stores.quotas, most: env.usageLimits, now: Date.now }),
    },
    record: {
      figures: stores.figures,
      vault: env.logseqDir === null ? null : openLogseqVault(env.logseqDir),
      events: env.events && {
        announce: createAnnouncer({ queue, signal: stop, warn }),
        send: createSender({ ...env.events, version, now: Date.now }),
      },
      phase: metrics?.phase ?? (() => {}),
    },
    app: { webUrl, version, contentKey: contentKeyOf(credentials.webhookSecret), upkeep: github.upkeep },
    log,
    now: Date.now,
  });

  const isDiskLow = async () => (await freeSpace(env.dataDir)).isLow;
  return {
    log,
    stores,
    metrics,
    probot: github.probot,
    health: createHealth({ queue, log, stop, isDiskLow }),
    async loadConfiguration(repository, signal) {
      const access = github.openJob();
      try {
        const readOrganization = await access.organization(repository, signal);
        const read = access.defaultBranch(repository, signal);
        return await loadRepoConfig(read, { readOrganization, requiresPolicy: env.requiresPolicy });
      } finally {
        await access.end();
      }
    },
    async startWorker() {
      await disk.start();
      return startWorker({
        queue,
        log,
        ...jobs,
        concurrency: env.concurrency,
        leaseMs: env.times.leaseMs,
        retentionMs: env.retentionMs,
        version,
        ...(metrics && {
          watch: {
            began: ({ task }, ms) => metrics.jobWaited(task.kind, ms),
            ended: ({ task }, how, ms) => metrics.jobEnded(task.kind, how, ms),
          },
        }),
      });
    },
    async close() {
      const closed = Promise.all([disk.close(), stores.close(), indexes.close()]);
      await within(closingMs, closed, () => undefined);
    },
  };
}

/** GitHub as this App: for one job at a time, and for reconciling and purging. */
function openGitHub(
  { env, log, stores, metrics }: Pick<App, "log" | "stores" | "metrics"> & { env: Env },
  credentials: AppCredentials,
) {
  const { host, apiUrl } = env.github;
  const probot = createProbot(credentials, env.github, log);
  const mintToken = installationAuth(probot);
  const readIdentity = appIdentity(probot);
  const identity = async () => ({ id: credentials.id, slug: (await readIdentity()).slug });
  const requests = {
    apiUrl,
    mintToken,
    granted: installationGrants(probot),
    userAgent: `hunkwise/${programVersion()}`,
    identity,
    rateLimiter: createRateLimiter({ gapMs: env.times.writeGapMs }),
    ...(metrics && { onRateLimit: metrics.rateLimit }),
  };
  const upkeep: Upkeep = {
    access: createAppAccess({ ...requests, appToken: appAuth(probot) }),
    queue: stores.queue,
    notes: stores.notes,
    handles: handlesEvent,
    async jobsOf(event, payload) {
      const { id: appId, slug: appSlug } = await identity();
      const decision = decide(event, payload, { appSlug, appId, pushWindowMs: env.pushWindowMs });
      return "jobs" in decision ? decision.jobs : [];
    },
    removeRepository: async (place) => {
      await removeEnvironments(environmentsFolder(env.dataDir), `${place.id}`);
      return await removeRepository(env.dataDir, { host, ...place });
    },
  };
  const { openJob } = createGitHubAccess(requests);
  return { probot, mintToken, openJob, upkeep };
}

/** An unreachable database must not keep the process from ending. */
const closingMs = 2_000;

/** Derived from a secret that all processes of an App share, so no key must be stored. If the secret changes, everything is read again. */
export function contentKeyOf(secret: string) {
  return ({ id }: RepositoryRef, pull: number) =>
    createHmac("sha256", secret).update(`what was read of ${id}#${pull}`).digest("base64url");
}

/** prom-client is only loaded if metrics are wanted. */
async function openMetrics({ metricsPort }: Env, version: string): Promise<Metrics | null> {
  if (metricsPort === null) return null;
  const { createMetrics } = await import("../server/metrics/metrics.ts");
  return createMetrics({ version });
}

/** The models, with checked addresses; null if none is set up. */
export async function connect(
  { model, pricesFile, dataDir }: Pick<Env, "model" | "pricesFile" | "dataDir">,
  log: Logger,
  metrics: Metrics | null,
) {
  if (model === null) return null;
  const warn = (text: string) => log.warn(text);
  const onRequest = metrics && { onRequest: metrics.modelRequest };
  const connected = await createModels(model, { pricesFile, folder: dataDir, warn, ...onRequest });
  await connected.load();
  return connected;
}

/** git's network settings for the host. */
export function networkOf({ github, proxy, caFile }: Pick<Env, "github" | "proxy" | "caFile">) {
  const plain = github.protocol === "http";
  return {
    allowHttp: plain,
    proxy: (plain ? proxy.http : proxy.https) ?? undefined,
    noProxy: proxy.no ?? undefined,
    caFile: caFile ?? undefined,
  };
}

/** Log lines as JSON, or as text on a terminal. */
function logDestination(stream: NodeJS.WriteStream): { write(line: string): void } {
  if (!stream.isTTY) return stream;
  const style = styleOf(stream);
  return {
    write(line) {
      const { time, level, message, part: _, err, ...rest } = JSON.parse(line) as Record<string, unknown>;
      // The stack is for logs that programs read.
      const fields = { ...(err !== undefined && { err: Object(err).message ?? err }), ...rest };
      const head = `${String(time).slice(11, 19)} ${String(level).padEnd(5)}`;
      const paint = level === "info" || level === "debug" || level === "trace" ? style.dim : style.alarm;
      const text = plainLine(`${message} ${JSON.stringify(fields)}`.replace(/ \{\}$/, ""));
      stream.write(`${paint(head)} ${text}\n`);
    },
  };
}
