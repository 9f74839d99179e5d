import { createHmac, generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addAbortSignal } from "node:stream";
import { text } from "node:stream/consumers";
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { emitterEventNames } from "@octokit/webhooks";
import type { AppCredentials, Env } from "../../config/env.ts";
import { AppError, errorLine } from "../../errors.ts";
import type { NewJob, Task } from "../../queue/job.ts";
import { plainLine } from "../../reporters/terminal-style.ts";
import type { AppIdentity } from "../../webhooks/app-auth.ts";
import type { DecideOptions } from "../../webhooks/decide.ts";
import {
  type CommandContext,
  type CommandIo,
  didYouMean,
  examples,
  exitCodes,
  type OptionsOf,
  optionText,
  paragraphs,
} from "../command.ts";
import { write } from "../output.ts";
import { useProxy } from "../use-proxy.ts";

const declare = () =>
  new Command("webhook")
    .description(
      paragraphs(
        "Signs the payload and delivers it like GitHub: through the same signature check, decision and queue. A worker that " +
          "uses the same queue then runs the job.",
        "Without App credentials, the delivery goes into a temporary queue, so that you can see the decision.",
        "GitHub's example payloads contain no installation, and have no effect without --installation.",
        "Exit code: 0 the delivery was accepted, 2 it was refused.",
      ),
    )
    .argument("<FILE>", "the payload as JSON, '-' for standard input")
    .requiredOption("--event <NAME>", "the event, as in the header x-github-event", optionText)
    .option("--delivery <ID>", "the delivery's id; default: a new one", optionText)
    .option("--installation <ID>", "the id of an installation to add to the payload", installationId)
    .addHelpText(
      "after",
      examples(
        ["deliver a stored payload", "hunkwise webhook payload.json --event pull_request"],
        ["deliver a payload from standard input", "hunkwise webhook - --event issue_comment < comment.json"],
      ),
    );

export const webhook = (io: CommandContext) =>
  declare().action(async (file, values) => {
    io.exitCode = await deliverFile(file, values, io);
  });

function installationId(value: string): number {
  if (/^[1-9]\d{0,14}$/.test(value)) return Number(value);
  throw new InvalidArgumentError(
    "It must be a whole number. Copy it from the URL of the installation's settings on GitHub. Without an App, any number works.",
  );
}

interface Delivery {
  id: string;
  event: string;
  body: string;
}

/** Every event that GitHub sends, as the header `x-github-event` names it. */
const eventNames: readonly string[] = emitterEventNames.filter((name) => !name.includes("."));

async function deliverFile(file: string, options: OptionsOf<typeof declare>, io: CommandIo): Promise<number> {
  const { event, delivery: id = randomUUID(), installation } = options;
  if (!eventNames.includes(event)) throw unknownEvent(event);
  const payload = await readPayload(file, io.signal);
  const delivery = {
    id,
    event,
    body: installation === undefined ? payload : installed(payload, installation),
  };
  const { readServerEnv } = await import("../../config/server-env.ts");
  const env = readServerEnv();
  if (env.app) return deliver(delivery, env, env.app, env.dataDir, io);
  await write(io.stderr, "no App credentials: the delivery goes into a temporary queue\n");
  const folder = await mkdtemp(join(tmpdir(), "hunkwise-webhook-"));
  try {
    return await deliver(delivery, env, throwawayApp(), folder, io);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function deliver(
  delivery: Delivery,
  env: Env,
  app: AppCredentials,
  dataDir: string,
  io: CommandIo,
): Promise<number> {
  const { createLogger } = await import("../../logger.ts");
  const { appIdentity, createProbot } = await import("../../webhooks/app-auth.ts");
  const log = createLogger("silent");
  const probot = createProbot(app, env.github, log);
  const speaks = ["issue_comment", "pull_request_review_comment"].includes(delivery.event);
  const appSlug = env.app && speaks ? await slugOf(appIdentity(probot), env, io) : null;
  const options = { appSlug, appId: env.app?.id ?? null, pushWindowMs: env.pushWindowMs };
  // Without an App of its own it stores nothing.
  const databaseUrl = env.app ? env.databaseUrl : null;
  const { openStores } = await import("../../queue/stores.ts");
  const { queue } = await openStores({ databaseUrl, dataFolder: dataDir });
  const { createReceiver, loadProbotApp } = await import("../../webhooks/receive.ts");
  await loadProbotApp(probot, { queue, log, decideOptions: () => options });
  const { listen } = await import("../../webhooks/http.ts");
  const server = await listen(createReceiver(probot), { host: "127.0.0.1", port: 0, log });
  try {
    const { status, body } = await post(delivery, app.webhookSecret, server.port, io.signal);
    const accepted = status >= 200 && status < 300;
    await write(io.stdout, `${status} ${plainLine(body.trim())}\n`);
    if (accepted) await write(io.stdout, `${(await outcome(delivery, options)).join("\n")}\n`);
    return accepted ? exitCodes.clean : exitCodes.failed;
  } finally {
    await server.close();
    await queue.close();
  }
}

/** A mention addresses this App by its name; without a name only slash commands are recognized. */
async function slugOf(identity: () => Promise<AppIdentity>, env: Env, io: CommandIo): Promise<string | null> {
  useProxy(env);
  try {
    return (await identity()).slug;
  } catch (error) {
    await write(io.stderr, `mentions of the App are not recognized: ${plainLine(errorLine(error))}\n`);
    return null;
  }
}

function unknownEvent(event: string): AppError {
  const action = event.includes(".") ? "The action is in the payload." : "";
  const meant = didYouMean(event.split(".")[0] ?? "", eventNames);
  return new AppError("usage", `GitHub has no event '${event}'`, {
    remedy: [meant, action].filter(Boolean).join(" ") || "Use the value of the header x-github-event.",
  });
}

/** The payload as a delivery to an App: examples and payloads of a repository's own webhooks have no installation. */
const installed = (payload: string, id: number): string =>
  JSON.stringify({ ...(JSON.parse(payload) as object), installation: { id } });

async function readPayload(file: string, signal: AbortSignal): Promise<string> {
  const input = () => text(addAbortSignal(signal, process.stdin));
  const content = await (file === "-" ? input() : readFile(file, { encoding: "utf8", signal })).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw new AppError("usage", `the payload cannot be read: ${errorLine(error)}`, {
        remedy: "Name a file with the payload as JSON.",
        cause: error,
      });
    },
  );
  try {
    JSON.parse(content);
    return content;
  } catch (error) {
    throw new AppError("usage", `${file} is not JSON: ${errorLine(error)}`, {
      remedy: "Pass a payload from the page of recent deliveries in the App's settings.",
    });
  }
}

/** Only for signing and verifying within this process. */
function throwawayApp(): AppCredentials {
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { id: 1, privateKey, webhookSecret: randomBytes(32).toString("hex") };
}

function post(
  { id, event, body }: Delivery,
  secret: string,
  port: number,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request({
    ...{ host: "127.0.0.1", port, method: "POST", signal },
    // A separate agent: the global one may use a proxy.
    agent: new Agent(),
    headers: {
      "content-type": "application/json",
      "x-github-delivery": id,
      "x-github-event": event,
      "x-hub-signature-256": `sha256=${signature}`,
    },
  });
  sent.on("response", resolve).on("error", reject).end(body);
  return promise.then(async (answer) => ({ status: answer.statusCode ?? 0, body: await text(answer) }));
}

const addInstallation =
  "Deliveries to an App name its installation. Add the id of your installation with --installation ID.";

async function outcome({ id, event, body }: Delivery, options: DecideOptions): Promise<string[]> {
  const { decide } = await import("../../webhooks/decide.ts");
  const decision = decide(event, JSON.parse(body), options);
  if ("ignored" in decision) {
    const lacks = /installation/.test(decision.ignored);
    return [`ignored: ${plainLine(decision.ignored)}`, ...(lacks ? [addInstallation] : [])];
  }
  return [`delivery ${plainLine(id)}`, ...decision.jobs.map(jobLine)];
}

/** Describes a job in one line. */
export function jobLine({ task, concurrencyKey, coalesce, priority, debounceMs = 0 }: NewJob): string {
  const target = targetOf(task);
  const head = task.headSha === null ? "" : ` at ${task.headSha.slice(0, 12)}`;
  const facts = [
    ...("requestedBy" in task && task.requestedBy !== null ? [`requested by ${task.requestedBy}`] : []),
    ...[`key ${concurrencyKey}`, `priority ${priority}`],
    ...(coalesce ? ["replaces a waiting job"] : []),
    ...(debounceMs > 0 ? [`waits ${debounceMs / 1_000} s for more pushes`] : []),
  ];
  return plainLine(`${task.kind} ${target}${head}: ${reasonOf(task)} (${facts.join(", ")})`);
}

function targetOf(task: Task): string {
  if (!("repository" in task))
    return task.installation === null ? "the App" : `installation ${task.installation}`;
  const { owner, name } = task.repository;
  return "pull" in task ? `${owner}/${name}#${task.pull}` : `${owner}/${name}`;
}

function reasonOf(task: Task): string {
  switch (task.kind) {
    case "reconcile":
      return "look for what was missed";
    case "purge":
      return "the App was removed";
    case "recount":
      return "count findings again";
    case "review": {
      const mode = { new: "", full: ", everything", dry_run: ", nothing is posted" }[task.mode];
      return `${task.trigger}${mode}${task.again ? ", again" : ""}`;
    }
    case "command":
      return `${task.command.name}, comment ${task.commentId}${inThread(task.thread)}`;
    case "act":
      return `${task.act.name}, on a page`;
    case "reply":
      return `comment ${task.commentId} of ${task.author}${inThread(task.thread)}`;
    case "pass_check":
      return task.reason;
    case "notify":
      return `event ${task.id}`;
  }
}

const inThread = (thread: number | null) => (thread === null ? "" : ` in the thread of ${thread}`);
