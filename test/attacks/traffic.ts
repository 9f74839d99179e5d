import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";

/** A request to any server of this process. */
export interface Arrived {
  method: string;
  url: string;
  /** Alternating names and values, as received. */
  headers: readonly string[];
  /** The value of the authorization header, which is also in `headers`. */
  authorization: string;
  body(): string;
}

export interface Traffic extends Disposable {
  arrived: Arrived[];
}

/** Records all requests to HTTP servers of this process: the simulated GitHub, its git, and the model's endpoint. */
export function recordTraffic(): Traffic {
  const arrived: Arrived[] = [];
  const note = (message: unknown) =>
    arrived.push(listenTo((message as { request: IncomingMessage }).request));
  subscribe("http.server.request.start", note);
  return {
    arrived,
    [Symbol.dispose]: () => void unsubscribe("http.server.request.start", note),
  };
}

function listenTo(request: IncomingMessage): Arrived {
  const chunks: Buffer[] = [];
  const push = request.push.bind(request);
  // The parser delivers each piece of the body here; reading in any other way would take it from the server.
  request.push = (chunk: Buffer | null, encoding) => {
    if (chunk !== null) chunks.push(chunk);
    return push(chunk, encoding);
  };
  const { method = "", url = "", rawHeaders, headers } = request;
  return {
    ...{ method, url, headers: rawHeaders },
    authorization: headers.authorization ?? "",
    body() {
      const bytes = Buffer.concat(chunks);
      return (headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes).toString("latin1");
    },
  };
}
