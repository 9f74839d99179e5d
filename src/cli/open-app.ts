import { createHmac } from "node:crypto";
import { type AppCredentials, type Env, programPath, secretsOf } from "../config/env.ts";
import { requireGit } from "../git/git-version.ts";
import { createCheckoutPull } from "../jobs/checkout-pull.ts";
import { createJobHandler } from "../jobs/create-job-handler.ts";
import { createGitHubAccess, gitAuthorization } from "../jobs/github-access.ts";
import { createLogger, type Logger, registerSecret } from "../logger.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { Queue } from "../queue/queue.ts";
import type { Spending } from "../queue/spending.ts";
import { openSqliteQueue } from "../queue/sqlite.ts";
import { openSqliteSpending } from "../queue/sqlite-spending.ts";
import { startWorker, type Worker } from "../queue/worker.ts";
import { appIdentity, createProbot, installationAuth } from "../webhooks/probot.ts";
import { createModels } from "./create-model.ts";
import { logDestination } from "./log-lines.ts";
import { useProxy } from "./use-proxy.ts";
import { programVersion } from "./version.ts";

/** How long running jobs may take to hand themselves back; Docker kills ten seconds after its SIGTERM. */
export const GRACE_MS = 8_000;

/** The parts of an App process; `serve` and `worker` put them together. */
export interface App {
  log: Logger;
  queue: Queue;
  spending: Spending;
  probot: ReturnType<typeof createProbot>;
  /** Starts working off the queue. */
  startWorker(): Worker;
}

/** The logger of a server process; from now on none of the environment's secrets reaches any log. */
export function openLog(env: Env): Logger {
  for (const secret of secretsOf(env)) registerSecret(secret, { keep: true });
  return createLogger(env.logLevel, logDestination(process.stderr));
}

/** Composes the App. Rejects with one line for whatever is missing: git, the data folder, the price table. */
export async function openApp(env: Env, credentials: AppCredentials, log: Logger): Promise<App> {
  useProxy(env);
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const connected = await connect(env, log);
  const queue = openSqliteQueue(env.dataDir);
  const spending = openSqliteSpending(env.dataDir);
  const probot = createProbot(credentials, env.github, log);
  const mintToken = installationAuth(probot);
  const identity = appIdentity(probot);
  const version = programVersion();
  const { host, apiUrl, webUrl } = env.github;
  const jobs = createJobHandler({
    github: createGitHubAccess({
      apiUrl,
      userAgent: `hunkwise/${version}`,
      mintToken,
      identity: async () => ({ id: credentials.id, slug: (await identity()).slug }),
    }),
    checkout: createCheckoutPull({
      ...{ gitPath, dataFolder: env.dataDir, host, webUrl, network: networkOf(env) },
      authorization: (repository) => gitAuthorization(mintToken, repository),
    }),
    ...{ spending, dailyBudget: env.dailyBudget, now: Date.now },
    contentKey: contentKeyOf(credentials),
    models: connected?.models ?? null,
    modelsReady: async (signal) => connected?.ready(signal),
    ...{ webUrl, version, log },
  });
  if (connected === null) log.warn("No model is set up: reviews run on the built-in analyzers alone");
  return {
    ...{ log, queue, spending, probot },
    startWorker: () => startWorker({ queue, log, concurrency: env.concurrency, ...jobs }),
  };
}

/** Drawn from a secret that all processes of an App share, so that none has to be kept; who changes it has all read again. */
function contentKeyOf({ webhookSecret }: AppCredentials) {
  return ({ id }: RepositoryRef, pull: number) =>
    createHmac("sha256", webhookSecret).update(`what was read of ${id}#${pull}`).digest("base64url");
}

/** The models, their addresses proven to be ones; null where none is set up. */
async function connect({ model, pricesFile, dataDir }: Env, log: Logger) {
  if (model === null) return null;
  const warn = (text: string) => log.warn(text);
  const connected = await createModels(model, { pricesFile, folder: dataDir, warn });
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
