import { Hono, type MiddlewareHandler } from "hono";
import { csrf } from "hono/csrf";
import { HTTPException } from "hono/http-exception";
import type { Env, LoginCredentials } from "../config/env.ts";
import { AppError, errorLine } from "../errors.ts";
import { createUserClient } from "../github/user-client.ts";
import type { Logger } from "../logger.ts";
import type { Pages } from "../webhooks/server.ts";
import { type ActDeps, actions, createActs } from "./actions.ts";
import { servePages } from "./bridge.ts";
import { chartStyle } from "./charts.ts";
import { type ConfigurationDeps, configuration } from "./configuration.ts";
import { finding } from "./finding.ts";
import { findings } from "./findings.ts";
import { type HealthDeps, health } from "./health.ts";
import { type Html, html } from "./html.ts";
import { insights } from "./insights.ts";
import { layout } from "./layout.ts";
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
  /** Milliseconds since 1970; injected by tests. */
  now?: () => number;
}

/** The style of every page, also before log-in. */
const stylePath = "/style.css";

/** What all pages need. */
type RoutesDeps = Parameters<typeof now>[0] &
  Parameters<typeof review>[0] &
  ConfigurationDeps &
  HealthDeps &
  ActDeps;

/** Pages of one person that are made at a time: a browser asks for six, and hundreds of large files would fill the memory. */
const mostAtOnce = 16;

/** All pages behind the log-in. */
export function allRoutes(deps: RoutesDeps): Hono<PagesEnv>[] {
  const doAct = createActs(deps);
  const sheet = new Hono<PagesEnv>().get(stylePath, ({ body }) =>
    body(style + chartStyle, 200, { "content-type": "text/css; charset=utf-8" }),
  );
  const looking = [now(deps), reviews(deps), review(deps), findings(deps), insights(deps, doAct)];
  const acting = [finding(deps, doAct), actions(deps, doAct)];
  return [sheet, ...looking, ...acting, configuration(deps), health(deps)];
}

/** The pages for people: without log-in, there is only the log-in. */
export function createPages(options: PagesOptions): Pages {
  const { env, credentials, appId, routes, userAgent, now: clock = Date.now } = options;
  const log = options.log.child({ part: "pages" });
  const client = createUserClient({ github: env.github, login: credentials, appId, userAgent });
  const live = createLiveSessions({ client, operators: env.operators, log, now: clock });
  const app = new Hono<PagesEnv>();

  // Browsers of the last years say whether a form is this server's own. For others the host decides; behind a proxy, only the browser knows
  // the scheme.
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

  app.notFound((context) =>
    context.html(
      layout({
        ...{ title: "Not found", viewer: context.var.viewer ?? null, section: null },
        body: html`<p>There is no such page, or GitHub does not let you see what it is about.</p>`,
      }),
      404,
    ),
  );
  app.onError((error, context) => {
    if (error instanceof HTTPException)
      return context.html(
        notice("Refused", html`<p>This was not sent from a page of this server, so nothing was done.</p>`),
        error.status,
      );
    log.error({ err: error }, `A page failed: ${errorLine(error)}`);
    context.header("retry-after", "60");
    const isGitHub = error instanceof AppError && error.code.startsWith("github_");
    const why = isGitHub
      ? "GitHub does not answer, so it is not known what you may see. Nothing is shown until it does."
      : "Something went wrong. The log of this server says what.";
    return context.html(notice("Temporarily unavailable", html`<p>${why}</p>${logOut}`), 503);
  });
  return { handler: servePages(app), onRevoked: live.endAllOf };
}

/** Refuses a person who waits for many pages already. */
function fewAtOnce(): MiddlewareHandler<PagesEnv> {
  /** Pages that are being made, by account. */
  const making = new Map<number, number>();
  return async (context, next) => {
    const account = context.get("viewer")?.account;
    if (account === undefined) return next();
    const others = making.get(account) ?? 0;
    if (others >= mostAtOnce) {
      context.header("retry-after", "5");
      return context.html(
        notice("Too much at once", html`<p>Wait until your other pages are there.</p>`),
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

const notice = (title: string, body: Html) => layout({ title, viewer: null, section: null, body });

const logOut = html`<form method="post" action="/logout"><button>Log out</button></form>`;

const nothingToSee = ({ login }: Viewer) =>
  notice(
    "Nothing to see",
    html`<p>GitHub says that ${login} may see none of the repositories in which this App is installed. Ask for access on GitHub. If your
organisation has a log-in of its own (SAML), log in there first, and then here again.</p>${logOut}`,
  );
