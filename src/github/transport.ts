import { type AnswerLimits, createEgress } from "../egress.ts";
import { AppError } from "../errors.ts";
import { holdsLiveSecret } from "../secrets/live-secrets.ts";
import { callOf, endingReach, type Reach } from "./allowlist.ts";

/** A renamed repository answers with one. */
const mostRedirects = 5;
const defaultTimeoutMs = 30_000;
/** The largest that we ask for are pages of a hundred pull requests, files of 1 MB in Base64, and what a webhook held. */
const answer: AnswerLimits = { bytes: 16_000_000, depth: 64, elements: 200_000, members: 100_000 };

interface TransportOptions {
  /** Root of the API; no request ever leaves its origin. */
  baseUrl: string;
  /** What may be sent there. */
  reach: Reach;
  /** For one request with its whole answer. Default 30 s. */
  timeoutMs?: number | undefined;
  fetch?: typeof fetch | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * `fetch` as octokit shall use it: what its owner may not send does not leave, redirects are followed within GitHub's own
 * origin alone, because the token goes along, and the time-out also covers the body.
 */
export function createTransport(options: TransportOptions): typeof globalThis.fetch {
  const { baseUrl, reach, timeoutMs = defaultTimeoutMs, fetch, signal } = options;
  const root = new URL(baseUrl);
  const send = createEgress({
    ...{ origins: [baseUrl], timeoutMs, mostRedirects, answer, fetch, signal },
    // What leaves here becomes public: looked at for every spelling.
    holdsSecret: holdsLiveSecret,
    check: (request) => reach.check(callOf(request, root.pathname)),
    refuse: (what, remedy) => new AppError("github_failed", `GitHub ${what}`, remedy ? { remedy } : {}),
  });
  return async (input, init) => wholeAnswer(await send(input, init));
}

/** octokit takes an aborted or cut-off body for an empty one, so it is read here, where a fault is still a fault. */
async function wholeAnswer(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  const bodiless = status === 204 || status === 205 || status === 304;
  const body = bodiless ? null : await response.arrayBuffer();
  return new Response(body, { status, statusText, headers });
}

interface EndTokenOptions {
  /** Root of the REST API. */
  apiUrl: string;
  userAgent: string;
  /** For the request. Default 5 s. */
  timeoutMs?: number;
}

/**
 * Has GitHub forget a token of an installation before its hour is over. Asked once, apart from all pacing: nobody shall wait
 * for it, and a token that stays ends by itself. Rejects where GitHub gave no answer.
 */
export async function endToken(token: string, options: EndTokenOptions): Promise<void> {
  const { apiUrl: baseUrl, userAgent, timeoutMs = 5_000 } = options;
  const send = createTransport({ baseUrl, reach: endingReach, timeoutMs });
  await send(`${baseUrl}/installation/token`, {
    method: "DELETE",
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
      "user-agent": userAgent,
    },
  });
}
