import type { Probot } from "probot";
import type { Env } from "../../config/env.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import type { Queue } from "../queue/queue.ts";
import { appIdentity, createProbot } from "./app-auth.ts";
import { createHealth, type Health, refuseWriting } from "./health.ts";
import { type Handler, listen, type RunningServer, type Timeouts } from "./http.ts";
import { createReceiver, type ReceiverOptions } from "./receive.ts";

export interface ServerOptions extends Pick<ReceiverOptions, "onAccepted" | "onDelivery"> {
  /** `env.app` must be set; otherwise, serve the setup page. */
  env: Env;
  queue: Pick<Queue, "accept" | "check" | "stats">;
  log: Logger;
  /** Default: created from `env`. */
  probot?: Probot;
  /** Default: created from the queue. */
  health?: Health;
  pages: Pages;
  timeouts?: Timeouts;
}

export interface Pages {
  handler: Handler;
  onRevoked(account: number): void;
}

/**
 * Starts the web server: webhooks, `/healthz`, `/readyz` and the pages for people.
 * @throws AppError `config_invalid` if there is no App or the port is not available.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { env, queue, pages, timeouts } = options;
  if (!env.app)
    throw new AppError("config_invalid", "There is no GitHub App to serve", { remedy: "Set APP_ID." });
  const log = options.log.child({ part: "server" });
  const probot = options.probot ?? createProbot(env.app, env.github, log);
  const identity = appIdentity(probot);
  let appSlug: string | null = null;
  const { pushWindowMs } = env;
  const appId = env.app.id;
  const decideOptions = () => ({ appSlug, appId, pushWindowMs });
  const { onRevoked } = pages;
  const receive = await createReceiver(probot, { ...options, log, decideOptions, onRevoked });
  const health = options.health ?? createHealth({ queue, log });
  const handler: Handler = async (request, url) => {
    const { pathname } = url;
    if (pathname === env.webhookPath) return receive(request);
    const answer = await health.answer(request, pathname);
    return answer ?? pages.handler(request, url);
  };
  const { host, port } = env;
  const server = await listen(handler, { host, port, log, timeouts });
  log.info({ port: server.port }, `Listening on port ${server.port}, webhooks at ${env.webhookPath}`);
  // A failure here is the first sign of a wrong key.
  identity().then(
    ({ slug }) => {
      appSlug = slug;
      log.info(`Running as the GitHub App ${slug}`);
    },
    (error: unknown) =>
      log.warn({ err: error }, `The identity of the App could not be read from GitHub: ${errorLine(error)}`),
  );
  return server;
}

interface OperatorServerOptions {
  host: string | null;
  port: number;
  health: Health;
  exposition(): Promise<{ text: string; contentType: string }>;
  log: Logger;
}

const closeGraceMs = 1_000;

/**
 * Serves `/metrics`, `/healthz` and `/readyz` to the operator, on a separate port, because the metrics are not public.
 * @throws AppError `config_invalid` if the port is not available.
 */
export async function startOperatorServer(options: OperatorServerOptions): Promise<RunningServer> {
  const { host, port, health, exposition, log } = options;
  const handler: Handler = async (request, { pathname }) => {
    const answer = await health.answer(request, pathname);
    if (answer) return answer;
    if (pathname !== "/metrics")
      return { status: 404, body: "Not found. Use /metrics, /healthz or /readyz." };
    refuseWriting(request.method);
    const { text, contentType } = await exposition();
    return { status: 200, body: text, headers: { "content-type": contentType } };
  };
  const variable = "HUNKWISE_METRICS_PORT";
  const server = await listen(handler, { host, port, log, variable, closeGraceMs });
  log.info({ metricsPort: server.port }, `Metrics and health on port ${server.port}`);
  return server;
}
