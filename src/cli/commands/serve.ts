import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "@commander-js/extra-typings";
import type { AppCredentials, Env } from "../../config/env.ts";
import { isInPackage, ownFolder } from "../../config/folders.ts";
import { readServerEnv } from "../../config/server-env.ts";
import { AppError } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import type { Worker } from "../../server/queue/worker.ts";
import { type CommandContext, type CommandIo, explained } from "../command.ts";
import type { App } from "../open-app.ts";
import { programVersion } from "../output.ts";
import { dangerOf, requireNextStart, requireWorkable } from "../require-workable.ts";
import { useProxy } from "../use-proxy.ts";

export const serve = (io: CommandContext) =>
  explained(new Command("serve"), {
    text: [
      "Receives webhooks, stores their jobs, and runs the jobs in the same process. All settings are " +
        "environment variables, also from a .env file next to package.json; docs/configuration.md lists them. Without App credentials " +
        "it serves the page that creates the App.",
      "SIGTERM, SIGINT and SIGHUP return running jobs to the queue and end the process; the next start resumes them.",
    ],
    examples: [
      ["listen on port 3000", "hunkwise serve"],
      ["listen on port 8080, and log every detail", "PORT=8080 LOG_LEVEL=debug hunkwise serve"],
    ],
  }).action(() => runServer(io));

export const worker = (io: CommandContext) =>
  explained(new Command("worker"), {
    text: [
      "Runs the jobs in the queue, without a web server. Start as many workers as the machine can handle, with the same " +
        "environment as serve; HUNKWISE_CONCURRENCY is the number of jobs that each runs at the same time.",
      "SIGTERM, SIGINT and SIGHUP return running jobs to the queue and end the process.",
    ],
    examples: [["run four jobs at the same time", "HUNKWISE_CONCURRENCY=4 hunkwise worker"]],
  }).action(() => runWorker(io));

/** The web server and a worker, after the setup page if there is no App yet. Resolves when a signal ended it. */
async function runServer({ signal }: CommandIo): Promise<void> {
  const first = readServerEnv();
  const log = await openServerLog(first);
  await requireWorkable(first, signal);
  const env = first.app ? first : await setUp(first, log, signal);
  if (signal.aborted) return;
  if (!env.app) throw noApp();
  await serveApp(env, env.app, log, signal);
}

/** Only a worker. Resolves when a signal ended it. */
async function runWorker({ signal }: CommandIo): Promise<void> {
  const env = readServerEnv();
  if (!env.app) throw noApp();
  const log = await openServerLog(env);
  await requireWorkable(env, signal);
  const { openApp } = await import("../open-app.ts");
  await work(env, await openApp(env, env.app, log, signal), signal);
}

async function openServerLog(env: Env): Promise<Logger> {
  const { openLog } = await import("../open-app.ts");
  const log = openLog(env);
  for (const notice of env.notices) log.warn(notice);
  const danger = await dangerOf(env.dataDir);
  if (danger) log.warn(`The data folder ${env.dataDir} ${danger.says}. ${danger.remedy}`);
  const settings = join(ownFolder, ".env");
  if (isInPackage(settings) && existsSync(settings))
    log.warn(
      `An update deletes ${settings}, which is in the installed program. Set its variables in the environment.`,
    );
  return log;
}

/** Runs the jobs of the queue until the signal fires. `listen` starts a server that calls `onAccepted` when it has stored a job. */
async function work(
  env: Env,
  app: App,
  signal: AbortSignal,
  listen?: (onAccepted: () => void) => Promise<{ close(): Promise<unknown> }>,
): Promise<void> {
  const { queue, notes } = app.stores;
  let worker: Worker | undefined;
  try {
    // The servers first: if a port is taken, no job begins.
    const operator = await startOperator(env, app);
    const server = await listen?.(() => worker?.wake());
    worker = await app.startWorker();
    const { keepReconciling } = await import("../../server/jobs/reconcile/reconcile.ts");
    const everyMs = env.times.reconcileEveryMs;
    // Not awaited: an unresponsive database would delay the end of the process.
    void keepReconciling({ queue, notes, everyMs, onEnqueued: worker.wake, log: app.log }, signal);
    const place = env.databaseUrl === null ? env.dataDir : "Postgres";
    app.log.info(`Working with ${env.concurrency} jobs at a time on ${place}`);
    await untilAborted(signal);
    app.log.info("Stopping");
    await Promise.all([server?.close(), worker.stop(), operator?.close()]);
  } finally {
    await app.close();
  }
}

async function serveApp(
  env: Env,
  credentials: AppCredentials,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { openApp } = await import("../open-app.ts");
  const { startServer } = await import("../../server/webhooks/server.ts");
  const app = await openApp(env, credentials, log, signal);
  const { stores, probot, health, metrics } = app;
  const { queue } = stores;
  const onDelivery = metrics && { onDelivery: metrics.delivery };
  let pages: Awaited<ReturnType<typeof openPages>> | undefined;
  try {
    await work(env, app, signal, async (onAccepted) => {
      pages = await openPages(env, app, onAccepted);
      return startServer({ env, queue, log, probot, onAccepted, health, pages, ...onDelivery });
    });
  } finally {
    // After the server: a page that is being sent reads the database.
    await pages?.close();
  }
}

/** The pages for people. Without the variables for log-in there is one page, which says how to set them. */
async function openPages(env: Env, { stores, log, loadConfiguration }: App, onAccepted: () => void) {
  if (env.login === null || env.app === null) {
    const { landing } = await import("../../pages/setup.ts");
    return { ...landing(env.github.webUrl), close: async () => {} };
  }
  const { allRoutes, createPages } = await import("../../pages/pages.ts");
  const { checkAll } = await import("./doctor.ts");
  const { openReader } = await import("../../server/queue/reader.ts");
  const { installationConcurrency } = await import("../../server/queue/stores.ts");
  const { databaseUrl, dataDir: dataFolder, retentionMs } = env;
  const reader = await openReader({ databaseUrl, dataFolder });
  const { webUrl } = env.github;
  const pages = createPages({
    env,
    credentials: env.login,
    appId: env.app.id,
    log,
    routes: allRoutes({
      run: reader.run,
      webUrl,
      now: Date.now,
      installationConcurrency,
      retentionMs,
      loadConfiguration,
      checkAll,
      accept: stores.queue.accept.bind(stores.queue),
      onAccepted,
    }),
    userAgent: `hunkwise/${programVersion()}`,
  });
  return { ...pages, close: reader.close.bind(reader) };
}

/** The server for metrics and health; none if no port is set. */
async function startOperator({ metricsHost: host, metricsPort }: Env, { health, metrics, log }: App) {
  if (metricsPort === null || !metrics) return undefined;
  const readQueue = async () => {
    const readiness = await health.readiness();
    return readiness.ready ? readiness : null;
  };
  const { startOperatorServer } = await import("../../server/webhooks/server.ts");
  const exposition = () => metrics.exposition(readQueue);
  return startOperatorServer({ host, port: metricsPort, health, log, exposition });
}

/** Serves the setup page until the App exists, and answers the environment with it. */
async function setUp(env: Env, log: Logger, signal: AbortSignal): Promise<Env> {
  useProxy(env);
  await requireNextStart(env);
  const { startSetup } = await import("../../pages/setup.ts");
  const { openLog } = await import("../open-app.ts");
  const { checkModel } = await import("./doctor.ts");
  const page = await startSetup({ env, log, checkModel: (stop) => checkModel(env, stop) });
  await Promise.race([page.configured, untilAborted(signal)]);
  await page.close();
  const configured = signal.aborted ? env : readServerEnv();
  // Registers its credentials as secrets of this process.
  openLog(configured);
  return configured;
}

function noApp(): AppError {
  return new AppError("config_invalid", "there are no credentials for a GitHub App", {
    remedy:
      "Run `hunkwise serve` and create the App on its page, or set APP_ID, PRIVATE_KEY and WEBHOOK_SECRET.",
  });
}

/** Resolves when the signal fires. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
