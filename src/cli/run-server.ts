import type { AppCredentials, Env } from "../config/env.ts";
import { readServerEnv } from "../config/server-env.ts";
import { AppError } from "../errors.ts";
import { keepReconciling } from "../jobs/reconcile/reconcile-app.ts";
import type { Logger } from "../logger.ts";
import type { Worker } from "../queue/worker.ts";
import { startOperatorServer } from "../webhooks/operator-server.ts";
import { startServer } from "../webhooks/server.ts";
import { startSetup } from "../webhooks/setup.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { type App, openApp, openLog, untilAborted } from "./open-app.ts";
import { requireNextStart, requireWorkable } from "./require-workable.ts";
import { useProxy } from "./use-proxy.ts";

/** The web server and a worker, after the set-up page where there is no App yet. Resolves when a signal ended it. */
export async function runServer({ signal }: CommandIo): Promise<number> {
  const first = readServerEnv();
  const log = openServerLog(first);
  await requireWorkable(first, signal);
  const env = first.app ? first : await setUp(first, log, signal);
  if (signal.aborted) return exitCodes.clean;
  if (!env.app) throw noApp();
  await serve(env, env.app, log, signal);
  return exitCodes.clean;
}

/** A worker alone. Resolves when a signal ended it. */
export async function runWorker({ signal }: CommandIo): Promise<number> {
  const env = readServerEnv();
  if (!env.app) throw noApp();
  const log = openServerLog(env);
  await requireWorkable(env, signal);
  await work(env, await openApp(env, env.app, log, signal), signal);
  return exitCodes.clean;
}

function openServerLog(env: Env): Logger {
  const log = openLog(env);
  for (const notice of env.notices) log.warn(notice);
  return log;
}

async function work(env: Env, app: App, signal: AbortSignal): Promise<void> {
  try {
    const operator = await startOperator(env, app);
    const worker = await app.startWorker();
    reconcile(env, app, worker, signal);
    const place = env.databaseUrl === null ? env.dataDir : "Postgres";
    app.log.info(`Working with ${env.concurrency} jobs at a time on ${place}`);
    await untilAborted(signal);
    app.log.info("Stopping");
    await Promise.all([worker.stop(env.graceMs), operator?.close()]);
  } finally {
    await app.close();
  }
}

async function serve(env: Env, credentials: AppCredentials, log: Logger, signal: AbortSignal): Promise<void> {
  const app = await openApp(env, credentials, log, signal);
  const { stores, probot, health, metrics } = app;
  try {
    let worker: Worker | undefined;
    const onAccepted = () => worker?.wake();
    const onDelivery = metrics && { onDelivery: metrics.delivery };
    // The servers first: where a port is taken, no job is begun.
    const operator = await startOperator(env, app);
    const server = await startServer({
      ...{ env, queue: stores.queue, log, probot, onAccepted, health },
      ...onDelivery,
    });
    worker = await app.startWorker();
    reconcile(env, app, worker, signal);
    await untilAborted(signal);
    log.info("Stopping");
    await Promise.all([server.close(), worker.stop(env.graceMs), operator?.close()]);
  } finally {
    await app.close();
  }
}

/**
 * Looks for what was missed, now and in the rhythm of the environment, until the signal fires. Nobody waits for its end: a database
 * that does not answer would keep the process beyond its grace time.
 */
function reconcile(
  { reconcileEveryMs: everyMs }: Env,
  { stores, log }: App,
  worker: Worker,
  signal: AbortSignal,
): void {
  const { queue, notes } = stores;
  void keepReconciling({ queue, notes, everyMs, onEnqueued: worker.wake, log }, signal);
}

/** The port for whoever operates this; none where none is set. */
async function startOperator({ metricsHost: host, metricsPort }: Env, { health, metrics, log }: App) {
  if (metricsPort === null || !metrics) return undefined;
  const readQueue = async () => {
    const said = await health.readiness();
    return said.ready ? said : null;
  };
  const exposition = () => metrics.exposition(readQueue);
  return startOperatorServer({ host, port: metricsPort, health, log, exposition });
}

/** Serves the set-up page until the App exists, and answers the environment with it. */
async function setUp(env: Env, log: Logger, signal: AbortSignal): Promise<Env> {
  useProxy(env);
  await requireNextStart(env);
  const page = await startSetup({ env, log });
  await Promise.race([page.configured, untilAborted(signal)]);
  await page.close();
  const configured = signal.aborted ? env : readServerEnv();
  // Its credentials have become secrets of this process.
  openLog(configured);
  return configured;
}

function noApp(): AppError {
  return new AppError("config_invalid", "there are no credentials of a GitHub App", {
    remedy: "Run `hunkwise serve` and open its page, or set APP_ID, PRIVATE_KEY and WEBHOOK_SECRET.",
  });
}
