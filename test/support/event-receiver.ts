import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { join } from "node:path";
import { Ajv } from "ajv";
import type { EventJson } from "../../src/report/event.ts";
import { listenHere } from "./local-server.ts";

const schema = join(import.meta.dirname, "../../docs/event.schema.json");
const validate = new Ajv({ allErrors: true }).compile(JSON.parse(readFileSync(schema, "utf8")));

export interface Received {
  headers: IncomingHttpHeaders;
  method: string;
  path: string;
  /** As it came. */
  body: string;
  event: EventJson;
}

export interface EventReceiver extends AsyncDisposable {
  url: string;
  /** Every request, in order of arrival. */
  received: Received[];
  /** What is wrong with a request by the words of Standard Webhooks and by the published schema. Empty in a sound test. */
  complaints: string[];
  /** Resolves when there are as many requests as `enough` wants. */
  until(enough: (received: readonly Received[]) => boolean): Promise<void>;
}

/** How a receiver answers a request. */
export type Answering = (response: ServerResponse, nth: number) => void;

/** An HTTP server that checks each request by the specification, without our code: https://github.com/standard-webhooks/standard-webhooks. */
export async function startEventReceiver(
  secret: string,
  answer: Answering = (response) => void response.writeHead(204).end(),
): Promise<EventReceiver> {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const received: Received[] = [];
  const complaints: string[] = [];
  const watchers = new Set<() => void>();
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { headers, method = "", url: path = "" } = request;
    const event = JSON.parse(body) as EventJson;
    complaints.push(...faultsOf(headers, body, key));
    if (!validate(event)) complaints.push(JSON.stringify(validate.errors));
    received.push({ headers, method, path, body, event });
    answer(response, received.length);
    for (const look of watchers) look();
  });
  const { origin, close } = await listenHere(server);
  return {
    url: `${origin}/a-secret-path`,
    ...{ received, complaints },
    async until(enough) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => enough(received) && resolve();
      watchers.add(look);
      look();
      await promise;
      watchers.delete(look);
    },
    [Symbol.asyncDispose]: close,
  };
}

function faultsOf(headers: IncomingHttpHeaders, body: string, key: Buffer): string[] {
  const [id, time, signatures] = ["id", "timestamp", "signature"].map((name) =>
    String(headers[`webhook-${name}`]),
  );
  const faults: string[] = [];
  if (!/^msg_[\w-]{27}$/.test(id ?? "")) faults.push(`the id is ${id}`);
  if (Math.abs(Number(time) - Date.now() / 1_000) > 300) faults.push(`the timestamp is ${time}`);
  const wanted = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest();
  const isSigned = (signatures ?? "").split(" ").some((one) => {
    const [version, value = ""] = one.split(",");
    const given = Buffer.from(value, "base64");
    return version === "v1" && given.length === wanted.length && timingSafeEqual(given, wanted);
  });
  if (!isSigned) faults.push(`the signature ${signatures} is not right`);
  if (headers["content-type"] !== "application/json") faults.push(`the type is ${headers["content-type"]}`);
  return faults;
}
