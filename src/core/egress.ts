import type { AppError } from "./errors.ts";
import { type JsonLimits, JsonMeter } from "./text/json.ts";

export interface Outgoing {
  method: string;
  url: URL;
  /** As it is sent; null if there is none. */
  body: string | null;
}

/** Size limits for an answer. */
export interface AnswerLimits extends JsonLimits {
  /** After decompression. */
  bytes: number;
}

export interface EgressOptions {
  /** The allowed origins, such as `https://api.github.com`. */
  origins: readonly string[];
  /** For one request with its whole answer and all redirects before it. */
  timeoutMs: number;
  mostRedirects: number;
  /** A larger answer is cut off with the error from `refuse`. Without limits for JSON, an answer is bytes of any kind. */
  answer: AnswerLimits | Pick<AnswerLimits, "bytes">;
  /** Whether a redirect by this request is its answer, and is not followed. Default: no redirect is. */
  returnsRedirect?: ((url: URL, status: number) => boolean) | undefined;
  /** Throws if a request may not be sent. Called right before each request, including redirects. */
  check?: ((request: Outgoing) => void) | undefined;
  /** Whether a body contains a secret of this process, and so may not be sent. */
  holdsSecret: (body: string) => boolean;
  /** `what` continues a sentence about the other side: "redirected ...". A remedy is given if that side is not at fault. */
  refuse: (what: string, remedy?: string) => AppError;
  signal?: AbortSignal | undefined;
  fetch?: typeof fetch | undefined;
}

/** Looked up at each call, because a test may replace it later. */
const machineFetch: typeof fetch = (input, init) => globalThis.fetch(input, init);

/**
 * The only way out of this program apart from git, the database, the proxy and registries: a `fetch` that only reaches the named origins, also
 * after redirects, which carry along credentials and code: `fetch` itself only removes `authorization`, and only on the way to another origin.
 * Time-out and size limit hold for the unpacked answer: a few hundred kilobytes can unpack to gigabytes. No body may contain a secret of this process: whoever writes one removes secrets, and this is the last check.
 */
export function createEgress(options: EgressOptions): typeof globalThis.fetch {
  const {
    timeoutMs,
    mostRedirects,
    answer,
    check,
    holdsSecret,
    refuse,
    returnsRedirect,
    fetch = machineFetch,
  } = options;
  const origins = new Set(options.origins.map((one) => new URL(one).origin));

  return async (input, init = {}) => {
    const { method = "GET" } = init;
    const body = textOf(input, init);
    if (body !== null && holdsSecret(body))
      throw refuse("would have received a secret of this server, so nothing was sent", reportThis);
    const signals = [AbortSignal.timeout(timeoutMs), options.signal, init.signal];
    const signal = AbortSignal.any(signals.filter((one) => one instanceof AbortSignal));
    let url = new URL(String(input));
    for (let hops = 0; hops <= mostRedirects; hops++) {
      // An address within this process (`blob:`) has the origin of another one.
      if (!/^https?:$/.test(url.protocol) || !origins.has(url.origin))
        throw refuse(`redirected to another origin, ${url.origin}, which is not allowed`);
      check?.({ method, url, body });
      const response = await fetch(url, { ...init, redirect: "manual", signal });
      if (!isRedirect.has(response.status) || returnsRedirect?.(url, response.status))
        return bounded(response, answer, refuse);
      await response.body?.cancel();
      const location = locationOf(response, method, url);
      if (!location) throw refuse(`redirected a ${method} with ${response.status}, which cannot be followed`);
      url = location;
    }
    throw refuse(`redirected ${url.pathname} too often`);
  };
}

const reportThis = "Report this: it is a bug in Hunkwise, or someone tried to misuse it";

/** The body; null if there is none. Throws for a body that cannot be checked before it is sent. */
function textOf(input: Parameters<typeof fetch>[0], { body = null }: RequestInit): string | null {
  if (input instanceof Request) throw new TypeError("Pass an address and options, not a Request");
  if (body === null || typeof body === "string") return body;
  throw new TypeError("A body must be text, so that it can be checked");
}

/** A response whose body ends in an error beyond a limit. At most the limit and one piece, which decompression makes of 16 KiB, are read. */
function bounded(
  response: Response,
  limits: EgressOptions["answer"],
  refuse: EgressOptions["refuse"],
): Response {
  if (!response.body) return response;
  const meter = "depth" in limits ? new JsonMeter(limits) : null;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      bytes += piece.length;
      if (bytes > limits.bytes)
        throw refuse(
          `answered with more than ${(limits.bytes / 1e6).toFixed(limits.bytes < 1e6 ? 1 : 0)} MB`,
          lookThere,
        );
      if (meter?.take(piece) === false)
        throw refuse(
          "answered with JSON that is nested too deeply, has too many values, or contains a number that is too long",
          lookThere,
        );
      controller.enqueue(piece);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
}

const lookThere = "Check which server answers at this address: no expected answer is that large";
const isRedirect = new Set([301, 302, 303, 307, 308]);

/** Target of a redirect; null if there is none, or if it would change the method of the request. */
function locationOf({ status, headers }: Response, method: string, from: URL): URL | null {
  const keepsMethod = method === "GET" || method === "HEAD" || status >= 307;
  const location = headers.get("location");
  return keepsMethod && location !== null ? URL.parse(location, from.href) : null;
}

/** Addresses of RFC 1918, RFC 6598 and RFC 3927 among those of IPv4. */
const privateV4 =
  /^(?=\d+(\.\d+){3}$)(10|192\.168|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])|169\.254)\./;
/** Unique local and link-local addresses: RFC 4193, RFC 4291. */
const privateV6 = /^\[f([cd][0-9a-f]{2}|e[89ab][0-9a-f]):/;
/** Names that public DNS never has: RFC 6762, RFC 8375, ICANN's `internal`, and what home routers use. A name without a dot is one, too. */
const privateName = /\.(local|internal|intranet|private|corp|home|lan|home\.arpa)$/;

/**
 * From where a host can be reached, by its name alone.
 * @param hostname as in `URL.hostname`, which writes each address in one way
 */
export function reachOfHost(hostname: string): "machine" | "network" | "internet" {
  const name = hostname.toLowerCase().replace(/\.$/, "");
  if (/^((.*\.)?localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])$/.test(name))
    return "machine";
  const isName = /^[\w-]+$/.test(name) || privateName.test(name);
  return isName || privateV4.test(name) || privateV6.test(name) ? "network" : "internet";
}
