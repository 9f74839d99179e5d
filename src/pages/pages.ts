import type { IncomingMessage } from "node:http";
import { Hono, type MiddlewareHandler } from "hono";
import { csrf } from "hono/csrf";
import { HTTPException } from "hono/http-exception";
import type { Env, LoginCredentials } from "../config/env.ts";
import { AppError, errorLine } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import { createUserClient } from "../pull/github/user-client.ts";
import { type Answer, type Handler, Refusal } from "../server/webhooks/http.ts";
import { createBodyReader } from "../server/webhooks/receive.ts";
import type { Pages } from "../server/webhooks/server.ts";
import { type ActDeps, actions, createActs } from "./actions.ts";
import { type ConfigurationDeps, configuration } from "./configuration.ts";
import { finding, findings } from "./findings.ts";
import { type HealthDeps, health } from "./health.ts";
import { html, layout, notice } from "./html.ts";
import { insights } from "./insights.ts";
import { createLiveSessions } from "./live-sessions.ts";
import { forgetSession, login, sessionIdOf } from "./login.ts";
import { now } from "./now.ts";
import { review } from "./review.ts";
import { reviews } from "./reviews.ts";
import { style } from "./style.ts";
import type { PagesEnv, Viewer } from "./viewer.ts";

interface PagesOptions {
  env: Pick<Env, "github" | "operators">;
  credentials: LoginCredentials;
  appId: number;
  /** The pages behind the log-in; each finds the person in `viewer`. Of them, `/style.css` alone is also served to strangers. */
  routes: readonly Hono<PagesEnv>[];
  userAgent: string;
  log: Logger;
  now?: () => number;
}

const stylePath = "/style.css";

type RoutesDeps = Parameters<typeof now>[0] &
  Parameters<typeof review>[0] &
  ConfigurationDeps &
  HealthDeps &
  ActDeps;

/** Pages of one person that are made at a time: hundreds of large files would fill the memory. */
const mostAtOnce = 16;

export function allRoutes(deps: RoutesDeps): Hono<PagesEnv>[] {
  const doAct = createActs(deps);
  const sheet = new Hono<PagesEnv>().get(stylePath, ({ body }) =>
    body(style, 200, { "content-type": "text/css; charset=utf-8" }),
  );
  const looking = [now(deps), reviews(deps), review(deps), findings(deps), insights(deps, doAct)];
  const acting = [finding(deps, doAct), actions(deps, doAct)];
  return [sheet, ...looking, ...acting, configuration(deps), health(deps)];
}

export function createPages(options: PagesOptions): Pages {
  const { env, credentials, appId, routes, userAgent, now: clock = Date.now } = options;
  const log = options.log.child({ part: "pages" });
  const client = createUserClient({ github: env.github, login: credentials, appId, userAgent });
  const live = createLiveSessions({ client, operators: env.operators, log, now: clock });
  const app = new Hono<PagesEnv>();

  // Old browsers do not say whether a form is this server's own. Then the host decides; behind a proxy, only the browser knows the scheme.
  app.use(csrf({ origin: (origin, { req }) => URL.parse(origin)?.host === req.header("host") }));
  app.route("/", login({ client, live, log, now: clock }));
  app.use(async (context, next) => {
    const { path, method } = context.req;
    if (path === stylePath) return next();
    const id = sessionIdOf(context);
    const viewer = await live.viewer(id);
    if (viewer === null) {
      if (id !== undefined) forgetSession(context);
      if (method !== "GET" && method !== "HEAD")
        return context.html(notice("Log in", html`<p><a href="/login">Log in</a>, and try again.</p>`), 401);
      const { pathname, search } = new URL(context.req.url);
      const to = `${pathname}${search}`;
      return context.redirect(to === "/" ? "/login" : `/login?to=${encodeURIComponent(to)}`, 302);
    }
    if (viewer.repositories.length === 0 && !viewer.isOperator)
      return context.html(nothingToSee(viewer), 403);
    context.set("viewer", viewer);
    return next();
  });
  app.use(fewAtOnce());
  for (const route of routes) app.route("/", route);

  app.notFound((context) => {
    const viewer = context.var.viewer ?? null;
    return context.html(layout({ title: "Not found", viewer, section: null, body: noSuchPage }), 404);
  });
  app.onError((error, context) => {
    if (error instanceof HTTPException)
      return context.html(
        notice("Refused", html`<p>This form is not from a page of this server, so nothing was done.</p>`),
        error.status,
      );
    log.error({ err: error }, `A page failed: ${errorLine(error)}`);
    context.header("retry-after", "60");
    const isGitHub = error instanceof AppError && error.code.startsWith("github_");
    const why = isGitHub
      ? "GitHub does not answer, so this server does not know what you may see. Try again later."
      : "Something went wrong. The server's log has the details.";
    return context.html(notice("Temporarily unavailable", html`<p>${why}</p>${logOut}`), 503);
  });
  return { handler: servePages(app), onRevoked: live.endAllOf };
}

function fewAtOnce(): MiddlewareHandler<PagesEnv> {
  const making = new Map<number, number>();
  return async (context, next) => {
    const account = context.get("viewer")?.account;
    if (account === undefined) return next();
    const others = making.get(account) ?? 0;
    if (others >= mostAtOnce) {
      context.header("retry-after", "5");
      return context.html(
        notice("Too many pages at once", html`<p>Wait until your other pages have loaded.</p>`),
        429,
      );
    }
    making.set(account, others + 1);
    try {
      await next();
      // A file is made while it is read.
      if (context.res.body) context.res = new Response(await context.res.arrayBuffer(), context.res);
    } finally {
      const left = (making.get(account) ?? 1) - 1;
      if (left > 0) making.set(account, left);
      else making.delete(account);
    }
  };
}

const noSuchPage = html`<p>This page does not exist, or GitHub does not let you see it.</p>`;
const logOut = html`<form method="post" action="/logout"><button>Log out</button></form>`;

const nothingToSee = ({ login }: Viewer) =>
  notice(
    "Nothing to see",
    html`<p>GitHub does not show ${login} any repository in which this App is installed. Ask for access on GitHub. If your organization
uses SAML, log in there first, and then here again.</p>${logOut}`,
  );

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
    const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
    if (method === "POST" && type !== formType) throw new Refusal(415, "Send a form.");
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
  const headers = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return new Request(url, { method, headers, ...(body && { body: new Uint8Array(body) }) });
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
