import type { Probot } from "probot";
import type { Env } from "../config/env.ts";
import { AppError, errorLine } from "../errors.ts";
import hunkwise from "../index.ts";
import type { Logger } from "../logger.ts";
import type { Queue } from "../queue/queue.ts";
import { type Answer, type Handler, listen, type RunningServer, type Timeouts } from "./http.ts";
import { createInbox } from "./inbox.ts";
import { landingPage } from "./pages.ts";
import { appIdentity, createProbot } from "./probot.ts";
import { createReceiver } from "./receive.ts";

export interface ServerOptions {
  /** `env.app` must be set; without it, serve the set-up page. */
  env: Env;
  queue: Queue;
  log: Logger;
  /** Shared with whoever mints tokens; made from `env` by default. */
  probot?: Probot;
  /** Called after jobs were stored: wake the worker of this process. */
  onAccepted?: () => void;
  timeouts?: Timeouts;
}

/**
 * Starts the web server: webhooks, `/healthz`, `/readyz` and a page that says what this is. A webhook is answered when its
 * jobs are on disk; nothing is done in the handler.
 * @throws AppError `config_invalid` when there is no App or the port cannot be had.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { env, queue, onAccepted = () => {} } = options;
  if (!env.app)
    throw new AppError("config_invalid", "There is no GitHub App to serve", { remedy: "Set APP_ID." });
  const log = options.log.child({ part: "server" });
  const probot = options.probot ?? createProbot(env.app, env.github, log);
  const identity = appIdentity(probot);
  let appSlug: string | null = null;
  const { pushWindowMs } = env;
  const appId = env.app.id;
  const decideOptions = () => ({ appSlug, appId, pushWindowMs });
  const inbox = createInbox({ queue, log, onAccepted, decideOptions });
  const noHandler = () => {
    throw new Error("Probot's own server is not in use");
  };
  await probot.load(hunkwise, { cwd: process.cwd(), addHandler: noHandler, inbox });
  const receive = createReceiver(probot, inbox);
  const handler: Handler = async (request, { pathname }) => {
    if (pathname === env.webhookPath) return receive(request);
    if (!["/", "/healthz", "/readyz"].includes(pathname)) return { status: 404, body: "Not found." };
    if (request.method !== "GET" && request.method !== "HEAD") return onlyReading;
    if (pathname === "/healthz") return { status: 200, body: "ok" };
    return pathname === "/readyz" ? readiness(queue, log) : landingPage();
  };
  const server = await listen(handler, { host: env.host, port: env.port, log, ...timeoutsOf(options) });
  log.info({ port: server.port }, `Listening on port ${server.port}, webhooks at ${env.webhookPath}`);
  // Mentions are understood as soon as GitHub has told the slug; a failure here is the first sign of a wrong key.
  identity().then(
    ({ slug }) => {
      appSlug = slug;
      log.info(`This is the GitHub App ${slug}`);
    },
    (error: unknown) => log.warn({ err: error }, `GitHub does not say who the App is: ${errorLine(error)}`),
  );
  return server;
}

const onlyReading: Answer = {
  status: 405,
  body: "This page is read with GET.",
  headers: { allow: "GET, HEAD" },
};

const timeoutsOf = ({ timeouts }: ServerOptions) => (timeouts ? { timeouts } : {});

async function readiness(queue: Queue, log: Logger): Promise<Answer> {
  try {
    const { oldestWaitingMs } = await queue.stats();
    return {
      status: 200,
      type: "application/json",
      body: JSON.stringify({ ready: true, oldestWaitingMs }),
    };
  } catch (error) {
    log.error({ err: error }, `The queue cannot be reached: ${errorLine(error)}`);
    return { status: 503, type: "application/json", body: JSON.stringify({ ready: false }) };
  }
}
