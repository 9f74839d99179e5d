import { type AnswerLimits, createEgress } from "../../core/egress.ts";
import { AppError } from "../../core/errors.ts";
import { holdsLiveSecret } from "../../core/secrets/live-secrets.ts";
import { callOf, endingReach, type Reach } from "./allowlist.ts";

/** GitHub redirects requests for a renamed repository. */
const mostRedirects = 5;
const defaultTimeoutMs = 30_000;
/** The largest answers that we request are pages of a hundred pull requests, files of 1 MB in Base64, and webhook payloads. */
const answer: AnswerLimits = { bytes: 16_000_000, depth: 64, elements: 200_000, members: 100_000 };

interface TransportOptions {
  /** Root of the API; no request leaves its origin. */
  baseUrl: string;
  reach: Reach;
  /** For one request and its whole answer. Default 30 s. */
  timeoutMs?: number | undefined;
  fetch?: typeof fetch | undefined;
  signal?: AbortSignal | undefined;
  /** Secrets that GitHub itself wants in these bodies; any other is refused. */
  reveals?: readonly string[] | undefined;
}

/**
 * The `fetch` for octokit. Redirects are only followed within GitHub's own origin, because they carry the token. The time-out also covers
 * the body.
 */
export function createTransport(options: TransportOptions): typeof globalThis.fetch {
  const { baseUrl, reach, timeoutMs = defaultTimeoutMs, fetch, signal, reveals = [] } = options;
  const root = new URL(baseUrl);
  const send = createEgress({
    origins: [baseUrl],
    timeoutMs,
    mostRedirects,
    answer,
    fetch,
    signal,
    // Everything sent here becomes public, except what logs a person in: check every spelling.
    holdsSecret: (body) =>
      holdsLiveSecret(reveals.reduce((rest, secret) => rest.replaceAll(secret, " "), body)),
    check: (request) => reach.check(callOf(request, root.pathname)),
    // The address of a file in a store (`fetchStored`), not the new one of a renamed repository.
    returnsRedirect: ({ pathname }, status) =>
      status === 302 && /\/actions\/artifacts\/\d+\/zip$/.test(pathname),
    refuse: (what, remedy) => new AppError("github_failed", `GitHub ${what}`, remedy ? { remedy } : {}),
  });
  return async (input, init) => wholeAnswer(await send(input, init));
}

/** octokit treats an aborted or cut-off body as empty, so we read it here, where a fault is still an error. */
async function wholeAnswer(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  const bodiless = status === 204 || status === 205 || status === 304;
  const body = bodiless ? null : await response.arrayBuffer();
  return new Response(body, { status, statusText, headers });
}

/** Revokes a token before its hour is over. Sent once, because nothing should wait for it. Rejects if GitHub does not answer. */
export async function endToken(
  token: string,
  {
    apiUrl: baseUrl,
    userAgent,
    timeoutMs = 5_000,
  }: { apiUrl: string; userAgent: string; timeoutMs?: number },
): Promise<void> {
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

interface StoredOptions {
  /** Root of the REST API that named the address. */
  apiUrl: string;
  userAgent: string;
  mostBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Fetches a file from the store that GitHub redirected to. The signed address is sent without credentials, and never logged, because anyone
 * who has it can read the file.
 *
 * @throws AppError `not_allowed` for any other place, `github_failed`, `too_large`
 */
export async function fetchStored(address: string, options: StoredOptions): Promise<Uint8Array<ArrayBuffer>> {
  const { apiUrl, userAgent, mostBytes: bytes, timeoutMs, signal } = options;
  const url = URL.parse(address);
  if (url === null || !isStore(url, new URL(apiUrl)))
    throw new AppError(
      "not_allowed",
      `GitHub keeps the file at ${url?.host || "an unreadable address"}, where nothing is fetched from`,
    );
  const send = createEgress({
    origins: [url.origin],
    timeoutMs,
    mostRedirects: 0,
    answer: { bytes },
    signal,
    holdsSecret: holdsLiveSecret,
    refuse: (what) => new AppError("github_failed", `The store ${url.host} ${what.replace(/ \/\S*/, "")}`),
  });
  try {
    const response = await send(url.href, { headers: { "user-agent": userAgent } });
    if (response.ok) return new Uint8Array(await response.arrayBuffer());
    await response.body?.cancel();
    throw new AppError("github_failed", `The store ${url.host} answered ${response.status}`);
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (error instanceof Error && error.cause instanceof AppError) throw error.cause;
    throw new AppError("github_failed", `The store ${url.host} could not be read`);
  }
}

/**
 * Hosts that GitHub documents for artifacts (https://docs.github.com/en/actions/reference/runners/self-hosted-runners, "artifact
 * storage"); an enterprise server keeps them itself.
 */
const stores = /^[\w-]+(\.[\w-]+)*\.(actions\.githubusercontent\.com|blob\.core\.windows\.net)$/;

/** Whether a file may be fetched from here. `api` is the root of the REST API. */
export function isStore(url: URL, api: URL): boolean {
  if (url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:" && stores.test(url.hostname)) return true;
  const isOwn = url.hostname === api.hostname || url.hostname.endsWith(`.${api.hostname}`);
  return isOwn && (url.protocol === "https:" || url.protocol === api.protocol);
}
