import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Probot } from "probot";
import { z } from "zod";
import type { Logger } from "../../core/logger.ts";
import type { DeliveryResult } from "../metrics/metrics.ts";
import { taskFields } from "../queue/job.ts";
import type { Queue } from "../queue/queue.ts";
import { type DecideOptions, decide, handledEvents } from "./decide.ts";
import { type Answer, Refusal } from "./http.ts";

/** Of a webhook, in bytes: as much as GitHub sends. */
export const largestBody = 25 * 1024 * 1024;
/** Bodies are held before their signature can be checked, so strangers could fill the memory with them. */
const mostHeld = 4 * largestBody;
/** The beginning of each body does not count: most webhooks are smaller, and are received even while strangers use up the limit. */
const freeBytes = 128 * 1024;
/** `pieces` of a body, plus one for each `bytesAPiece`: a piece of one byte takes two hundred bytes of memory. */
const most = { pieces: 200, bytesAPiece: 512 };

/** Reads bodies within a limit for each, in bytes, and one for all concurrent ones. */
export function createBodyReader(largest = largestBody): (request: IncomingMessage) => Promise<Buffer> {
  let held = 0;
  return async (request) => {
    if (Number(request.headers["content-length"] ?? 0) > largest) throw tooLarge(largest);
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const chunks: Buffer[] = [];
    let size = 0;
    let [counted, pieces] = [0, 0];
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      pieces += 1;
      const more = Math.max(0, size - freeBytes) - counted;
      counted += more;
      held += more;
      if (size > largest) return reject(tooLarge(largest));
      if (more > 0 && held > mostHeld)
        return reject(new Refusal(503, "Too many requests at the same time.", { "retry-after": "10" }));
      if (pieces > most.pieces + size / most.bytesAPiece) {
        // The rest is not read and discarded: each piece of it takes as much time.
        request.destroy();
        return reject(new Refusal(400, "The body arrives in too many pieces."));
      }
      chunks.push(chunk);
    };
    request.on("data", onData);
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", () => reject(new Refusal(400, "The body was cut off.")));
    try {
      return await promise;
    } finally {
      held -= counted;
      request.off("data", onData);
      // The rest of a refused body is read and discarded, so that the client can read the answer.
      request.resume();
    }
  };
}

const tooLarge = (largest: number) =>
  new Refusal(
    413,
    `The body is larger than ${largest >= 1024 ** 2 ? `${largest / 1024 ** 2} MB` : `${largest / 1024} KB`}.`,
  );

function refuseOtherContent(headers: IncomingHttpHeaders): void {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") {
    throw new Refusal(415, "Set the webhook's content type to application/json.");
  }
  if ((headers["content-encoding"] ?? "identity") !== "identity") {
    throw new Refusal(415, "The body must not be compressed.");
  }
}

function required(headers: IncomingHttpHeaders, name: string, form: RegExp): string {
  const value = headers[name];
  if (typeof value === "string" && form.test(value)) return value;
  throw new Refusal(400, `The header ${name} is missing or malformed.`);
}

function signatureOf(headers: IncomingHttpHeaders): string {
  const signature = headers["x-hub-signature-256"];
  if (typeof signature === "string" && /^sha256=[0-9a-f]{64}$/.test(signature)) return signature;
  if (headers["x-hub-signature"] !== undefined) throw unsigned("A SHA-1 signature is not sufficient.");
  throw unsigned("The header x-hub-signature-256 is missing or malformed.");
}

const unsigned = (why: string) => new Refusal(401, `${why} Check the webhook secret of the App.`);

function parseObject(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(400, "The body is not JSON.");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new Refusal(400, "The body is not a JSON object.");
}

const Revoked = z.object({ sender: z.object({ id: z.int().positive() }) });

export interface ReceiverOptions {
  queue: Pick<Queue, "accept">;
  log: Logger;
  /** What is known of the App, and how long pushes wait. */
  decideOptions: () => DecideOptions;
  /** Called when a person has ended what they let the App do. */
  onRevoked: (account: number) => void;
  /** Called after jobs were stored. */
  onAccepted?: (() => void) | undefined;
  /** Called for every delivery, for metrics; `event` is a handled event, "ping" or "other". */
  onDelivery?: ((event: string, result: DeliveryResult) => void) | undefined;
}

/**
 * Receives a webhook: headers, then the signature over the raw bytes, and only then the JSON. Answers 202 after the jobs are on disk. Probot's
 * own middleware reads bodies without a limit before it has verified the sender (test/attacks/web-server).
 */
export async function createReceiver(
  probot: Probot,
  options: ReceiverOptions,
): Promise<(request: IncomingMessage) => Promise<Answer>> {
  await loadProbotApp(probot, options);
  const readBody = createBodyReader();

  async function receive(request: IncomingMessage): Promise<Answer> {
    if (request.method !== "POST") throw new Refusal(405, "Use POST for webhooks.", { allow: "POST" });
    const { headers } = request;
    refuseOtherContent(headers);
    const id = required(headers, "x-github-delivery", /^[\w-]{1,100}$/);
    const name = required(headers, "x-github-event", /^[a-z][a-z0-9_]{0,59}$/);
    const signature = signatureOf(headers);
    const text = (await readBody(request)).toString("utf8");
    if (text === "") throw new Refusal(400, "The body is empty.");
    if (!(await probot.webhooks.verify(text, signature))) throw unsigned("The signature does not match.");
    const payload = parseObject(text);
    await probot.receive({ id, name, payload } as Parameters<Probot["receive"]>[0]);
    return { status: 202, body: "Accepted." };
  }

  return (request) =>
    receive(request).catch((error: unknown) => {
      options.onDelivery?.(knownEvent(request.headers["x-github-event"]), "refused");
      throw error;
    });
}

/** Loads the Probot application. `probot.receive` resolves when the jobs are on disk: Probot keeps unfinished handlers in memory only. */
async function loadProbotApp(probot: Probot, options: ReceiverOptions): Promise<void> {
  const { queue, log, decideOptions, onAccepted, onDelivery, onRevoked } = options;
  const addHandler = () => {
    throw new Error("Probot's own server is not in use");
  };
  const hunkwise = (app: Probot) => {
    app.on("github_app_authorization.revoked", async ({ payload }) => {
      const { data } = Revoked.safeParse(payload);
      if (data) onRevoked(data.sender.id);
    });
    app.onAny(async ({ id, name, payload }) => {
      const action = "action" in payload && typeof payload.action === "string" ? payload.action : null;
      const line = log.child({ delivery: id, event: name, action });
      const decision = decide(name, payload, decideOptions());
      if ("ignored" in decision) {
        onDelivery?.(knownEvent(name), "ignored");
        return line.debug(`Delivery ignored: ${decision.ignored}`);
      }
      const isNew = await queue.accept({ id, event: name, action }, decision.jobs);
      line.info(taskFields(decision.jobs[0].task), isNew ? "Delivery stored" : "Delivery was already stored");
      onDelivery?.(knownEvent(name), isNew ? "stored" : "duplicate");
      if (isNew) onAccepted?.();
    });
  };
  await probot.load(hunkwise, { cwd: process.cwd(), addHandler });
}

const knownEvents = new Set<unknown>(["ping", ...handledEvents.map((name) => name.split(".")[0])]);

/** Strangers may send anything in the header, which is read before the signature. */
const knownEvent = (header: unknown): string => (knownEvents.has(header) ? String(header) : "other");
