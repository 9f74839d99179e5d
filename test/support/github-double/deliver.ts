import { createHmac, randomUUID } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import type { GitHubState } from "./state.ts";

export interface DeliveryTarget {
  url: string;
  secret: string;
  /** The delivery's GUID; the GUID of an earlier delivery makes this a redelivery. Default: a new one. */
  id?: string;
  /** Replaces the correct signature; null sends none. */
  signature?: string | null;
}

export interface Delivered {
  id: string;
  status: number;
  body: string;
}

export const signatureOf = (secret: string, body: string) =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** GitHub hangs up after ten seconds. */
const patienceMs = 10_000;

/** Uses a new connection each time: a server may close an idle one at the moment when a client reuses it. */
async function post(url: string, headers: Record<string, string>, body: string) {
  const signal = AbortSignal.timeout(patienceMs);
  try {
    const outgoing = request(url, { method: "POST", headers, agent: false, signal });
    outgoing.end(body);
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
    return { status: answer.statusCode ?? 0, body: await text(answer) };
  } catch (error) {
    // GitHub's delivery log shows these for a server that cannot be reached or takes too long.
    return { status: signal.aborted ? 504 : 502, body: String(error) };
  }
}

/** Sends a webhook as GitHub does and adds it to the delivery log. A payload may be a text, which is sent unchanged. */
export async function deliver(
  state: GitHubState,
  event: string,
  payload: object | string,
  target: DeliveryTarget,
): Promise<Delivered> {
  const body = typeof payload === "string" ? payload : JSON.stringify(payload);
  const id = target.id ?? randomUUID();
  const parsed = (typeof payload === "string" ? {} : payload) as {
    action?: string;
    installation?: { id?: number };
    repository?: { id?: number };
  };
  const installation = state.installations.get(parsed.installation?.id ?? 0);
  const app = installation?.app ?? [...state.apps.values()][0];
  const signature = target.signature === undefined ? signatureOf(target.secret, body) : target.signature;
  const headers = {
    "content-type": "application/json",
    "user-agent": "GitHub-Hookshot/044aadd",
    accept: "*/*",
    "x-github-event": event,
    "x-github-delivery": id,
    "x-github-hook-id": "1",
    "x-github-hook-installation-target-type": "integration",
    "x-github-hook-installation-target-id": String(app?.id ?? 0),
    ...(signature === null ? {} : { "x-hub-signature-256": signature }),
  };
  const redelivery = state.deliveries.some((one) => one.guid === id);
  const began = performance.now();
  const answer = await post(target.url, headers, body);
  state.deliveries.push({
    id: state.nextId(),
    guid: id,
    event,
    action: parsed.action ?? null,
    deliveredAt: state.now(),
    redelivery,
    durationSeconds: Math.round(performance.now() - began) / 1000,
    statusCode: answer.status,
    installationId: parsed.installation?.id ?? null,
    repositoryId: parsed.repository?.id ?? null,
    headers,
    payload: typeof payload === "string" ? null : payload,
    answer: answer.body,
  });
  return { id, ...answer };
}
