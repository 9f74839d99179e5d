import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";

/** A request that arrived at a server of this process, whichever it was. */
export interface Arrived {
  method: string;
  url: string;
  /** Names and values in turn, as they came over the wire. */
  headers: readonly string[];
  /** The value of its authorization header, which stands in `headers` too. */
  authorization: string;
  body(): string;
}

export interface Traffic extends Disposable {
  arrived: Arrived[];
}

/** Records all that any HTTP server of this process is sent: the simulated GitHub, its git, and the model's endpoint. */
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
  // The parser hands over each piece of the body here: reading along in any other way would take it from the server.
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
