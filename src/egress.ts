import type { AppError } from "./errors.ts";
import { type JsonLimits, JsonMeter } from "./text/json.ts";

/** A request as it is about to leave. */
export interface Outgoing {
  method: string;
  url: URL;
  /** As it is sent; null where there is none. */
  body: string | null;
}

/** How large an answer may be. */
export interface AnswerLimits extends JsonLimits {
  /** After decompression. */
  bytes: number;
}

export interface EgressOptions {
  /** The origins that may be reached, such as `https://api.github.com`. */
  origins: readonly string[];
  /** For one request with its whole answer and all redirects before it. */
  timeoutMs: number;
  /** How many redirects are followed, all of them to these origins. */
  mostRedirects: number;
  /** An answer beyond these ends while it is read, with what `refuse` makes of it. */
  answer: AnswerLimits;
  /** Throws where a request may not leave. Asked for each one right before it does, those of redirects too. */
  check?: ((request: Outgoing) => void) | undefined;
  /** Whether a body holds a secret of this process, and so may not leave. */
  holdsSecret: (body: string) => boolean;
  /**
   * The error for what is refused here; `what` goes on after the name of the far side: "redirected ...". A remedy is given where
   * it is no fault of the far side's.
   */
  refuse: (what: string, remedy?: string) => AppError;
  /** Ends requests under way. */
  signal?: AbortSignal | undefined;
  /** Default: that of the machine. */
  fetch?: typeof fetch | undefined;
}

/** Looked up at each call: a test may put its own in place later. */
const machineFetch: typeof fetch = (input, init) => globalThis.fetch(input, init);

/**
 * The only way out of this program but git's, the database's and the proxy's: a `fetch` that reaches named origins and no
 * other, wherever an answer sends it. Credentials go along with a redirect, and so would the code in a body: `fetch` itself
 * takes away `authorization` alone, and only on the way to another origin. The time-out also covers the answer's body. Nobody gets an
 * answer as a whole that is larger than it may be: a few hundred kilobytes unpack to gigabytes.
 *
 * Nothing that has a body may hold a secret of this process in it: whoever writes one takes them out, and here is the last look.
 */
export function createEgress(options: EgressOptions): typeof globalThis.fetch {
  const { timeoutMs, mostRedirects, answer, check, holdsSecret, refuse, fetch = machineFetch } = options;
  const origins = new Set(options.origins.map((one) => new URL(one).origin));

  return async (input, init = {}) => {
    const { method = "GET" } = init;
    const body = textOf(input, init);
    if (body !== null && holdsSecret(body))
      throw refuse("was to be sent a secret of this server: nothing was sent", reportThis);
    const signals = [AbortSignal.timeout(timeoutMs), options.signal, init.signal];
    const signal = AbortSignal.any(signals.filter((one) => one instanceof AbortSignal));
    let url = new URL(String(input));
    for (let hops = 0; hops <= mostRedirects; hops++) {
      // An address within this process (`blob:`) has the origin of another one.
      if (!/^https?:$/.test(url.protocol) || !origins.has(url.origin))
        throw refuse(`sent us to another origin, ${url.origin}, which is refused`);
      check?.({ method, url, body });
      const response = await fetch(url, { ...init, redirect: "manual", signal });
      if (!isRedirect.has(response.status)) return bounded(response, answer, refuse);
      await response.body?.cancel();
      const location = locationOf(response, method, url);
      if (!location) throw refuse(`redirected a ${method} with ${response.status}, which cannot be followed`);
      url = location;
    }
    throw refuse(`redirected ${url.pathname} in a circle`);
  };
}

const reportThis = "Report this: it is a fault of Hunkwise, or somebody tried to misuse it";

/** The body; null where there is none. Throws for what could not be looked at before it is sent. */
function textOf(input: Parameters<typeof fetch>[0], { body = null }: RequestInit): string | null {
  if (input instanceof Request) throw new TypeError("An address and its options are wanted, and no Request");
  if (body === null || typeof body === "string") return body;
  throw new TypeError("A body has to be text, to be looked at");
}

/**
 * The response with a body that ends in an error beyond a limit. It is counted as it comes: the pieces before a limit are never
 * more than the limit and one piece, which decompression makes of 16 KiB.
 */
function bounded(response: Response, limits: AnswerLimits, refuse: EgressOptions["refuse"]): Response {
  if (!response.body) return response;
  const meter = new JsonMeter(limits);
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      bytes += piece.length;
      if (bytes > limits.bytes)
        throw refuse(`answered with more than ${inMegabytes(limits.bytes)}`, lookThere);
      if (!meter.take(piece))
        throw refuse(
          "answered with JSON that is too deep, or has too many values or too long a number",
          lookThere,
        );
      controller.enqueue(piece);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
}

const lookThere = "Check what answers at this address: no answer that it should give is as large";
const inMegabytes = (bytes: number) => `${(bytes / 1e6).toFixed(bytes < 1e6 ? 1 : 0)} MB`;

const isRedirect = new Set([301, 302, 303, 307, 308]);

/** Where an answer sends us; null where that is nowhere, and where it would make another request of this one. */
function locationOf({ status, headers }: Response, method: string, from: URL): URL | null {
  const keepsMethod = method === "GET" || method === "HEAD" || status >= 307;
  const location = headers.get("location");
  return keepsMethod && location !== null ? URL.parse(location, from.href) : null;
}
