import type { AppCredentials, Env } from "../config/env.ts";
import { readServerEnv } from "../config/stored-app.ts";
import { AppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Worker } from "../queue/worker.ts";
import { startServer } from "../webhooks/server.ts";
import { startSetup } from "../webhooks/setup.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { openApp, openLog, untilAborted } from "./open-app.ts";
import { useProxy } from "./use-proxy.ts";

/** The web server and a worker, after the set-up page where there is no App yet. Resolves when a signal ended it. */
export async function runServer({ signal }: CommandIo): Promise<number> {
  const first = readServerEnv();
  const log = openLog(first);
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
  const app = await openApp(env, env.app, openLog(env));
  try {
    const worker = app.startWorker();
    app.log.info(`Working with ${env.concurrency} jobs at a time on ${env.dataDir}`);
    await untilAborted(signal);
    app.log.info("Stopping");
    await worker.stop(env.graceMs);
  } finally {
    await app.stores.close();
  }
  return exitCodes.clean;
}

async function serve(env: Env, credentials: AppCredentials, log: Logger, signal: AbortSignal): Promise<void> {
  const { stores, probot, startWorker } = await openApp(env, credentials, log);
  try {
    let worker: Worker | undefined;
    const onAccepted = () => worker?.wake();
    // The server first: where its port is taken, no job is begun.
    const server = await startServer({ env, queue: stores.queue, log, probot, onAccepted });
    worker = startWorker();
    await untilAborted(signal);
    log.info("Stopping");
    await Promise.all([server.close(), worker.stop(env.graceMs)]);
  } finally {
    await stores.close();
  }
}

/** Serves the set-up page until the App exists, and answers the environment with it. */
async function setUp(env: Env, log: Logger, signal: AbortSignal): Promise<Env> {
  useProxy(env);
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
