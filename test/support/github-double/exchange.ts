import type { IncomingMessage, ServerResponse } from "node:http";

/** One API request with its complete body. `path` has no `/api/v3`. */
export interface Exchange {
  method: string;
  path: string;
  url: URL;
  headers: IncomingMessage["headers"];
  /** Undefined without a body; the raw text if it is not JSON. */
  body: unknown;
  brokenJson: boolean;
}

/** The answer: JSON unless `raw` is set. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
}

export async function readExchange(request: IncomingMessage, origin: string): Promise<Exchange> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const url = new URL(request.url ?? "/", origin);
  const parsed = parse(text);
  return {
    method: request.method ?? "GET",
    path: apiPath(url.pathname),
    url,
    headers: request.headers,
    body: parsed.value,
    brokenJson: parsed.broken,
  };
}

/** The double answers below `/api/v3`, as GitHub Enterprise Server does, and without it, as api.github.com does. */
export const apiPath = (pathname: string) => pathname.replace(/^\/api(\/v3)?(?=\/|$)/, "") || "/";

function parse(text: string): { value: unknown; broken: boolean } {
  if (text === "") return { value: undefined, broken: false };
  try {
    return { value: JSON.parse(text), broken: false };
  } catch {
    return { value: text, broken: true };
  }
}

export const jsonReply = (status: number, body: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  body: body === undefined ? "" : JSON.stringify(body),
});

export function send(response: ServerResponse, reply: Reply): void {
  const length = String(Buffer.byteLength(reply.body));
  const isEmpty = reply.status === 204 || reply.status === 304;
  const headers = isEmpty ? reply.headers : { ...reply.headers, "content-length": length };
  response.writeHead(reply.status, headers).end(isEmpty ? undefined : reply.body);
}
