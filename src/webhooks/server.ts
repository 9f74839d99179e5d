import type { IncomingMessage } from "node:http";
import type { Probot } from "probot";
import type { Env } from "../config/env.ts";
import { AppError, errorLine } from "../errors.ts";
import hunkwise from "../index.ts";
import type { Logger } from "../logger.ts";
import type { Queue } from "../queue/queue.ts";
import { handledEvents } from "./decide.ts";
import { createHealth, type Health, refuseWriting } from "./health.ts";
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
  /** Shared with whoever else tells how the process is; made of the queue by default. */
  health?: Health;
  /** Told of every delivery. For metrics; `event` is one of those that are handled, "ping" or "other". */
  onDelivery?: (event: string, result: DeliveryResult) => void;
  timeouts?: Timeouts;
}

type DeliveryResult = NonNullable<Answer["delivery"]> | "refused";

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
  const receive = counting(createReceiver(probot, inbox), options.onDelivery);
  const health = options.health ?? createHealth({ queue, log });
  const handler: Handler = async (request, { pathname }) => {
    if (pathname === env.webhookPath) return receive(request);
    const answer = await health.answer(request, pathname);
    if (answer) return answer;
    if (pathname !== "/") return { status: 404, body: "Not found." };
    refuseWriting(request.method);
    return landingPage();
  };
  const { host, port } = env;
  const closeGraceMs = Math.min(longestCloseMs, env.graceMs);
  const server = await listen(handler, { host, port, log, closeGraceMs, ...timeoutsOf(options) });
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

/** GitHub waits ten seconds for an answer, and its next try finds the next start. */
const longestCloseMs = 5_000;

const timeoutsOf = ({ timeouts }: ServerOptions) => (timeouts ? { timeouts } : {});

type Receive = (request: IncomingMessage) => Promise<Answer>;

/** Tells what became of each delivery; one that was answered with an error was refused, whoever is to blame. */
function counting(receive: Receive, onDelivery: ServerOptions["onDelivery"]): Receive {
  if (!onDelivery) return receive;
  return async (request) => {
    const event = knownEvent(request.headers["x-github-event"]);
    try {
      const answer = await receive(request);
      onDelivery(event, answer.delivery ?? "ignored");
      return answer;
    } catch (error) {
      onDelivery(event, "refused");
      throw error;
    }
  };
}

const knownEvents = new Set<unknown>(["ping", ...handledEvents.map((name) => name.split(".")[0])]);

/** The header is read before the signature is: strangers may write anything into it. */
const knownEvent = (header: unknown): string => (knownEvents.has(header) ? String(header) : "other");
