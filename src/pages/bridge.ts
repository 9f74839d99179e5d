import type { IncomingMessage } from "node:http";
import type { Hono } from "hono";
import { type Answer, type Handler, Refusal } from "../webhooks/http.ts";
import { createBodyReader } from "../webhooks/receive.ts";
import type { PagesEnv } from "./viewer.ts";

/**
 * For every answer. There is no script, nothing of another host, no frame around a page, and no form to another host, whatever a text on a
 * page looks like. With `same-origin`, GitHub does not learn which page a link is on, and forms still say where they come from.
 */
const headers = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

/** A form of ours has a few fields. */
const largestForm = 64 * 1024;
const formType = "application/x-www-form-urlencoded";

/** Lets hono answer the requests of Node's server. */
export function servePages(app: Hono<PagesEnv>): Handler {
  const readBody = createBodyReader(largestForm);

  async function answer(request: IncomingMessage, url: URL): Promise<Answer> {
    // What was written otherwise than it is read ("//host/", "/%2e%2e/", "\") comes from no browser, and a proxy may read it otherwise.
    if (request.url?.replace(/\?.*/s, "") !== url.pathname) return { status: 404, body: "Not found." };
    const { method = "GET" } = request;
    if (method !== "GET" && method !== "HEAD" && method !== "POST")
      throw new Refusal(405, "Use GET or POST.", { allow: "GET, HEAD, POST" });
    if (
      method === "POST" &&
      request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase() !== formType
    )
      throw new Refusal(415, "Send a form.");
    const body = method === "POST" ? await readBody(request) : null;
    return answerOf(await app.fetch(requestOf(request, url, method, body)));
  }

  return async (request, url) => {
    const { headers: own, ...rest } = await answer(request, url).catch((error: unknown) => {
      if (error instanceof Refusal) return error.answer;
      throw error;
    });
    return { ...rest, headers: { ...own, ...headers } };
  };
}

function requestOf(request: IncomingMessage, url: URL, method: string, body: Buffer | null): Request {
  const given = new Headers();
  for (const [name, values] of Object.entries(request.headersDistinct))
    for (const value of values ?? []) given.append(name, value);
  return new Request(url, { method, headers: given, ...(body && { body: new Uint8Array(body) }) });
}

async function answerOf(response: Response): Promise<Answer> {
  const cookies = response.headers.getSetCookie();
  return {
    status: response.status,
    body: new Uint8Array(await response.arrayBuffer()),
    headers: {
      ...Object.fromEntries(response.headers),
      ...(cookies.length > 0 && { "set-cookie": cookies }),
    },
  };
}
