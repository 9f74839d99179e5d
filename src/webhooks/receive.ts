import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Probot } from "probot";
import { handledEvent } from "./decide.ts";
import { type Answer, Refusal } from "./http.ts";
import type { Inbox, ReceivedEvent } from "./inbox.ts";
import { createBodyReader } from "./read-body.ts";

/**
 * Receives a webhook: headers, then the signature over the raw bytes, and only then the JSON. 202 when its jobs are on disk,
 * 200 when nothing follows from it.
 */
export function createReceiver(probot: Probot, inbox: Inbox): (request: IncomingMessage) => Promise<Answer> {
  const readBody = createBodyReader();
  return async (request) => {
    if (request.method !== "POST") throw new Refusal(405, "Webhooks are sent with POST.", { allow: "POST" });
    const { headers } = request;
    refuseOtherContent(headers);
    const id = required(headers, "x-github-delivery", /^[\w-]{1,100}$/);
    const name = required(headers, "x-github-event", /^[a-z][a-z0-9_]{0,59}$/);
    const signature = signatureOf(headers);
    const text = (await readBody(request)).toString("utf8");
    if (text === "") throw new Refusal(400, "The body is empty.");
    if (!(await probot.webhooks.verify(text, signature))) throw unsigned("The signature does not match.");
    const payload = parseObject(text);
    if (!handledEvent(name, payload)) {
      return { status: 200, body: "Nothing follows from this event.", delivery: "ignored" };
    }
    await probot.receive({ id, name, payload } as Parameters<Probot["receive"]>[0]);
    return answerFor(inbox, { id, name, payload });
  };
}

function refuseOtherContent(headers: IncomingHttpHeaders): void {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") {
    throw new Refusal(415, "Set the webhook's content type to application/json.");
  }
  if ((headers["content-encoding"] ?? "identity") !== "identity") {
    throw new Refusal(415, "Bodies are taken uncompressed.");
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
  if (headers["x-hub-signature"] !== undefined) throw unsigned("A SHA-1 signature is not enough.");
  throw unsigned("The header x-hub-signature-256 is missing or malformed.");
}

const unsigned = (why: string) => new Refusal(401, `${why} Set the webhook secret of the App.`);

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

function answerFor(inbox: Inbox, { payload }: ReceivedEvent): Answer {
  const receipt = inbox.receiptOf(payload);
  switch (receipt?.kind) {
    case "stored":
      return { status: 202, body: "Accepted.", delivery: receipt.kind };
    case "duplicate":
      return { status: 200, body: "Accepted before.", delivery: receipt.kind };
    case "ignored":
      return { status: 200, body: `Nothing to do: ${receipt.reason}.`, delivery: receipt.kind };
    case undefined:
      // Probot dispatched it to nobody although it is declared; better a failed delivery on GitHub's page than silence.
      throw new Error("no handler took the delivery");
  }
}
