import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type AppCredentials, type Env, programPath, secretsOf } from "../config/env.ts";
import { Disk, freeSpace } from "../git/disk.ts";
import { removeRepository } from "../git/places.ts";
import { requireGit } from "../git/run-git.ts";
import type { AppIdentity } from "../github/own-text.ts";
import { createAppAccess } from "../jobs/app-access.ts";
import { createCheckoutPull } from "../jobs/checkout-pull.ts";
import { createJobHandler } from "../jobs/create-job-handler.ts";
import { createGitHubAccess, type GitHubAccessOptions, gitAuthorization } from "../jobs/github-access.ts";
import { IndexKeeper } from "../jobs/index-keeper.ts";
import type { JobDependencies } from "../jobs/job-dependencies.ts";
import { createPacings, type Pacings } from "../jobs/pacings.ts";
import { perJob } from "../jobs/per-job.ts";
import { createPushBranch } from "../jobs/push-branch.ts";
import type { Granted, MintToken } from "../jobs/tokens.ts";
import type { Upkeep } from "../jobs/upkeep.ts";
import { createUsageLimits } from "../jobs/usage-limits.ts";
import { openLogseqVault } from "../journal/logseq-vault.ts";
import { createLogger, type Logger } from "../logger.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createFixSandbox } from "../process/fix-sandbox.ts";
import type { RepositoryRef } from "../queue/job.ts";
import { openStores } from "../queue/open-stores.ts";
import { githubLimits, noLimits } from "../queue/pace.ts";
import { patientSpending } from "../queue/patient-spending.ts";
import type { JobWatch } from "../queue/run-job.ts";
import type { Stores } from "../queue/stores.ts";
import { startWorker, type Worker } from "../queue/worker.ts";
import { createStyle, plainLine } from "../reporters/terminal-style.ts";
import { registerSecret } from "../secrets/live-secrets.ts";
import { decide, handlesEvent } from "../webhooks/decide.ts";
import { createHealth, type Health } from "../webhooks/health.ts";
import {
  appAuth,
  appIdentity,
  createProbot,
  installationAuth,
  installationGrants,
} from "../webhooks/probot.ts";
import { createModels } from "./create-model.ts";
import { wantsColour } from "./output.ts";
import { useProxy } from "./use-proxy.ts";
import { programVersion } from "./version.ts";

/** The parts of an App process; `serve` and `worker` put them together. */
export interface App {
  log: Logger;
  stores: Stores;
  /** Null where nobody asks for them. */
  metrics: Metrics | null;
  probot: ReturnType<typeof createProbot>;
  health: Health;
  /** Starts working off the queue, once what killed processes left running has ended. */
  startWorker(): Promise<Worker>;
  /** After the worker has stopped. Resolves within a second or two, whatever the database does. */
  close(): Promise<void>;
}

/** The logger of a server process; from now on none of the environment's secrets reaches any log. */
export function openLog(env: Env): Logger {
  for (const secret of secretsOf(env)) registerSecret(secret, { keep: true });
  return createLogger(env.logLevel, logDestination(process.stderr));
}

/**
 * Composes the App. `stop` fires when the process is to end. Rejects with one line for whatever is missing: git, the data folder,
 * the price table.
 */
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
  const connected = await connect(env, log, metrics);
  const stores = await openStores({
    databaseUrl: env.databaseUrl,
    dataFolder: env.dataDir,
    installationConcurrency: env.installationConcurrency,
    paceLimits: env.writeGapMs === 0 ? noLimits : { ...githubLimits, gapMs: env.writeGapMs },
  });
  const { queue } = stores;
  const disk = new Disk({ dataFolder: env.dataDir, limitBytes: env.diskLimitBytes, log });
  const probot = createProbot(credentials, env.github, log);
  const mintToken = installationAuth(probot);
  const identity = appIdentity(probot);
  const pacings = createPacings({
    stores,
    gapMs: env.writeGapMs,
    warn: (message, error) => log.warn({ err: error }, message),
  });
  const { host, apiUrl, webUrl } = env.github;
  const requests = {
    mintToken,
    granted: installationGrants(probot),
    userAgent: `hunkwise/${version}`,
    identity: async () => ({ id: credentials.id, slug: (await identity()).slug }),
    pacings,
    ...(metrics && { onRateLimit: metrics.rateLimit }),
  };
  const { openJob } = createGitHubAccess({ apiUrl, ...requests });
  const indexes = new IndexKeeper({ log });
  const parts: Omit<JobDependencies, "github"> = {
    upkeep: openUpkeep({ env, credentials, stores, probot, ...requests }),
    checkout: createCheckoutPull({
      ...{ gitPath, dataFolder: env.dataDir, host, webUrl, network: networkOf(env), disk },
      authorization: (repository) => gitAuthorization(mintToken, repository),
    }),
    ...(env.usesGraph && { indexes }),
    push: createPushBranch({ webUrl, network: networkOf(env) }),
    fixSandbox: createFixSandbox({
      ...{ searchPath: programPath(), ...env.sandbox },
      warn: (why, remedy) => log.warn(`Fixes run no commands: ${why}. ${remedy}`),
    }),
    spending: patientSpending(stores.spending, { queue, signal: stop, log }),
    ...{ dailyBudget: env.dailyBudget, now: Date.now },
    usage: createUsageLimits({ tally: stores.tally, most: env.usageLimits, now: Date.now }),
    contentKey: contentKeyOf(credentials),
    vault: env.logseqDir === null ? null : openLogseqVault(env.logseqDir),
    models: connected?.models ?? null,
    modelsReady: async (signal) => connected?.ready(signal),
    ...{ webUrl, version, log },
    ...(metrics && { onPhase: metrics.phase }),
  };
  const jobs = perJob(openJob, (github) => createJobHandler({ github, ...parts }));
  if (connected === null) log.warn("No model is set up: reviews use only the built-in analyzers");
  const isDiskLow = async () => (await freeSpace(env.dataDir)).isLow;
  return {
    ...{ log, stores, metrics, probot },
    health: createHealth({ queue, log, stop, isDiskLow }),
    async startWorker() {
      await disk.start();
      return startWorker({
        ...{ queue, log, ...jobs },
        ...{ concurrency: env.concurrency, leaseMs: env.leaseMs, retentionMs: env.retentionMs },
        ...(metrics && { watch: watchFor(metrics) }),
      });
    },
    close: () => within(closingMs, [disk.close(), stores.close(), indexes.close()]),
  };
}

/** A database that is away may not keep the process from ending. */
const closingMs = 2_000;

async function within(milliseconds: number, all: readonly Promise<void>[]): Promise<void> {
  await Promise.race([Promise.all(all), sleep(milliseconds, undefined, { ref: false })]);
}

const watchFor = (metrics: Metrics): JobWatch => ({
  began: ({ task }, ms) => metrics.jobWaited(task.kind, ms),
  ended: ({ task }, how, ms) => metrics.jobEnded(task.kind, how, ms),
});

/** Drawn from a secret that all processes of an App share, so that none has to be kept; who changes it has all read again. */
function contentKeyOf({ webhookSecret }: AppCredentials) {
  return ({ id }: RepositoryRef, pull: number) =>
    createHmac("sha256", webhookSecret).update(`what was read of ${id}#${pull}`).digest("base64url");
}

/** What counts is loaded only where somebody asks for the numbers. */
async function openMetrics({ metricsPort }: Env, version: string): Promise<Metrics | null> {
  if (metricsPort === null) return null;
  const { createMetrics } = await import("../metrics/prometheus.ts");
  return createMetrics({ version });
}

/** The models, their addresses proven to be ones; null where none is set up. */
async function connect({ model, pricesFile, dataDir }: Env, log: Logger, metrics: Metrics | null) {
  if (model === null) return null;
  const warn = (text: string) => log.warn(text);
  const onRequest = metrics && { onRequest: metrics.modelRequest };
  const connected = await createModels(model, { pricesFile, folder: dataDir, warn, ...onRequest });
  await connected.load();
  return connected;
}

/** What git needs to reach the host. */
function networkOf({ github, proxy, caFile }: Env) {
  const plain = github.protocol === "http";
  return {
    allowHttp: plain,
    proxy: (plain ? proxy.http : proxy.https) ?? undefined,
    noProxy: proxy.no ?? undefined,
    caFile: caFile ?? undefined,
  };
}

/** Resolves when the signal fires. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

interface UpkeepOptions {
  env: Env;
  credentials: AppCredentials;
  stores: Pick<Stores, "queue" | "notes">;
  probot: ReturnType<typeof createProbot>;
  mintToken: MintToken;
  granted: Granted;
  userAgent: string;
  /** Who the App is. */
  identity: () => Promise<AppIdentity>;
  pacings: Pacings;
  onRateLimit?: NonNullable<GitHubAccessOptions["onRateLimit"]>;
}

/** Composes what reconciling and purging work with. */
function openUpkeep(options: UpkeepOptions): Upkeep {
  const { env, credentials, stores, probot, mintToken, granted, userAgent } = options;
  const { identity, pacings, onRateLimit } = options;
  const { host, apiUrl } = env.github;
  return {
    access: createAppAccess({
      ...{ apiUrl, userAgent, identity, pacings },
      ...{ appToken: appAuth(probot), mintToken, granted },
      ...(onRateLimit && { onRateLimit }),
    }),
    ...{ queue: stores.queue, notes: stores.notes },
    handles: handlesEvent,
    async jobsOf(event, payload) {
      const { slug: appSlug } = await identity();
      const decision = decide(event, payload, {
        ...{ appSlug, appId: credentials.id, pushWindowMs: env.pushWindowMs },
      });
      return "jobs" in decision ? decision.jobs : [];
    },
    removeRepository: (place) => removeRepository(env.dataDir, { host, ...place }),
  };
}

/** Log lines as JSON for machines, and in words where a person watches a terminal. */
function logDestination(stream: NodeJS.WriteStream): { write(line: string): void } {
  if (!stream.isTTY) return stream;
  const style = createStyle(wantsColour(stream), stream.columns);
  const paint: Record<string, (text: string) => string> = {
    info: style.code,
    warn: style.alarm,
    error: style.removed,
    fatal: style.removed,
  };
  return {
    write(line) {
      const { time, level, message, ...fields } = JSON.parse(line) as Record<string, unknown>;
      const clock = style.dim(String(time).slice(11, 19));
      const label = (paint[String(level)] ?? style.dim)(String(level).padEnd(5));
      stream.write(`${clock} ${label} ${plainLine(String(message))}${style.dim(plainLine(show(fields)))}\n`);
    },
  };
}

/** Fields as ` key=value`; what has parts, like an error, by its message alone. */
function show(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([name, value]) => value !== null && name !== "part")
    .map(([name, value]) => ` ${name}=${typeof value === "object" ? messageOf(value) : String(value)}`)
    .join("");
}

function messageOf(value: unknown): string {
  const { message } = value as { message?: unknown };
  return JSON.stringify(message ?? value);
}
