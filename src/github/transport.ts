import { AppError } from "../errors.ts";

const mostRedirects = 5;
const defaultTimeoutMs = 30_000;
/** Looked up at each call: a test may put its own in place after a transport was made. */
const globalFetch: typeof fetch = (input, init) => globalThis.fetch(input, init);

export interface TransportOptions {
  /** Root of the API; no request ever leaves its origin. */
  baseUrl: string;
  /** For one request with its whole answer. Default 30 s. */
  timeoutMs?: number | undefined;
  fetch?: typeof fetch | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * `fetch` as octokit shall use it: with a time-out that also covers the body, and following redirects (a renamed
 * repository answers with one) within GitHub's own origin alone, because the token goes along.
 */
export function createTransport(options: TransportOptions): typeof fetch {
  const home = new URL(options.baseUrl).origin;
  const { timeoutMs = defaultTimeoutMs, fetch = globalFetch } = options;

  return async (input, init = {}) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
    let url = new URL(input instanceof Request ? input.url : input);
    for (let hops = 0; hops <= mostRedirects; hops++) {
      if (url.origin !== home) throw elsewhere(url);
      const response = await fetch(url, { ...init, redirect: "manual", signal });
      const location = redirectOf(response, init.method ?? "GET");
      if (location === undefined) return wholeAnswer(response);
      url = new URL(location, url);
    }
    throw new AppError("github_failed", `GitHub redirected ${url.pathname} in a circle`);
  };
}

function redirectOf(response: Response, method: string): string | undefined {
  if (![301, 302, 303, 307, 308].includes(response.status)) return undefined;
  const location = response.headers.get("location");
  const keepsMethod = method === "GET" || method === "HEAD" || response.status >= 307;
  if (location && keepsMethod) return location;
  throw new AppError(
    "github_failed",
    `GitHub redirected a ${method} with ${response.status}, which cannot be followed`,
  );
}

/** octokit takes an aborted or cut-off body for an empty one, so it is read here, where a fault is still a fault. */
async function wholeAnswer(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  const bodiless = status === 204 || status === 205 || status === 304;
  const body = bodiless ? null : await response.arrayBuffer();
  return new Response(body, { status, statusText, headers });
}

function elsewhere(url: URL): AppError {
  return new AppError("github_failed", `GitHub sent us to another origin, ${url.origin}, which is refused`);
}
