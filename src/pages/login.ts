import { randomBytes, timingSafeEqual } from "node:crypto";
import { type Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { AppError, errorLine } from "../errors.ts";
import type { UserClient } from "../github/user-client.ts";
import type { Logger } from "../logger.ts";
import { type Html, html } from "./html.ts";
import { layout } from "./layout.ts";
import { type LiveSessions, sessionMs } from "./live-sessions.ts";

/*
 * Log-in with GitHub. The browser takes a state to GitHub, which brings it back with a code; the state must be the one in the cookie of this
 * browser (otherwise a stranger's link could log a person in as the stranger), and the code is worth nothing without the verifier that
 * never left this process (PKCE).
 */

interface LoginOptions {
  client: Pick<UserClient, "authorizeUrl" | "exchange" | "account">;
  live: LiveSessions;
  log: Pick<Logger, "warn" | "error">;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** A log-in that was begun. */
interface Pending {
  verifier: string;
  /** Where to go afterwards. */
  to: string;
  expiresAt: number;
}

/** GitHub's code is valid for ten minutes. */
const pendingMs = 600_000;
/** Anyone can begin log-ins; the oldest are forgotten. Together they take some megabytes. */
const mostPending = 10_000;
/** GitHub allows an App 2,000 exchanges an hour, and anyone can bring invalid codes. */
const exchanges = { most: 30, perMs: 60_000 };

/** With this prefix, a browser takes the cookie only over HTTPS, from this host, for all of its paths. */
const cookies = { session: "hunkwise", login: "hunkwise-login" } as const;
const attributes = { prefix: "host", httpOnly: true, sameSite: "Lax" } as const;

/** The id of the session in a request. */
export const sessionIdOf = (context: Context) => getCookie(context, cookies.session, "host");

/** Deletes the cookie of a session that has ended. */
export const forgetSession = (context: Context) => deleteCookie(context, cookies.session, attributes);

/** `/login`, `/login/callback` and `/logout`. */
export function login({ client, live, log, now }: LoginOptions): Hono {
  const pending = new Map<string, Pending>();
  let window = { began: 0, exchanged: 0 };

  function begin(to: string): { state: string; verifier: string } {
    const [state, verifier] = [random(), random()];
    pending.set(state, { verifier, to, expiresAt: now() + pendingMs });
    const [oldest] = pending.keys();
    if (pending.size > mostPending && oldest !== undefined) pending.delete(oldest);
    return { state, verifier };
  }

  /** The log-in that this browser began; each state counts once, whatever becomes of it. */
  function take(context: Context): Pending | undefined {
    const state = context.req.query("state") ?? "";
    const begun = pending.get(state);
    pending.delete(state);
    const own = getCookie(context, cookies.login, "host") ?? "";
    deleteCookie(context, cookies.login, attributes);
    return begun && begun.expiresAt > now() && same(own, state) ? begun : undefined;
  }

  function mayExchange(): boolean {
    if (now() - window.began >= exchanges.perMs) window = { began: now(), exchanged: 0 };
    return window.exchanged++ < exchanges.most;
  }

  return new Hono()
    .get("/login", (context) => context.html(loginPage(ownPath(context.req.query("to")))))

    .post("/login", async (context) => {
      const { to } = await context.req.parseBody();
      const { state, verifier } = begin(ownPath(to));
      setCookie(context, cookies.login, state, { ...attributes, maxAge: pendingMs / 1_000 });
      const url = client.authorizeUrl(state, verifier);
      // Not a redirect: a browser compares each address to which a form leads with `form-action`, also those to which an organisation's own
      // log-in leads from GitHub.
      context.header("refresh", `0; url=${url}`);
      return context.html(notice("Log in", html`<p><a href="${url}">Continue to GitHub</a></p>`));
    })

    .get("/login/callback", async (context) => {
      const begun = take(context);
      const { error, code = "" } = context.req.query();
      if (error === "access_denied")
        return context.html(loginPage(begun?.to ?? "/", html`<p>GitHub says that you cancelled.</p>`), 403);
      if (!begun) return context.html(loginPage("/", notBegunHere), 400);
      if (!/^[\w-]{1,200}$/.test(code)) {
        const why = html`<p>GitHub sent no code${error === undefined ? "" : `: ${error.slice(0, 200)}`}.</p>`;
        return context.html(loginPage(begun.to, why), 400);
      }
      if (!mayExchange()) {
        context.header("retry-after", "60");
        const why = html`<p>Too many people are logging in. Wait a minute.</p>`;
        return context.html(loginPage(begun.to, why), 429);
      }
      try {
        const token = await client.exchange(code, begun.verifier);
        const id = await live.start(token, await client.account(token));
        await live.end(sessionIdOf(context));
        setCookie(context, cookies.session, id, { ...attributes, maxAge: sessionMs / 1_000 });
        return context.redirect(begun.to, 303);
      } catch (error) {
        return refused(context, begun.to, error);
      }
    })

    .post("/logout", async (context) => {
      await live.end(sessionIdOf(context));
      forgetSession(context);
      return context.redirect("/login", 303);
    });

  function refused(context: Context, to: string, error: unknown) {
    if (!(error instanceof AppError) || !error.code.startsWith("github_")) throw error;
    if (error.code === "github_invalid") {
      log.warn(`A log-in failed: ${errorLine(error)}`);
      return context.html(
        loginPage(to, html`<p>GitHub does not accept its code any more. Log in again.</p>`),
        400,
      );
    }
    log.error({ err: error }, `A log-in failed: ${errorLine(error)}`);
    const why = html`<p>GitHub did not let this server find out who you are. Its log says why.</p>`;
    return context.html(loginPage(to, why), 502);
  }
}

const random = () => randomBytes(32).toString("base64url");

function same(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * A path of this server to which a person returns after log-in; "/" for anything that a browser could read as another place, or that would
 * lead to the log-in again.
 */
export function ownPath(asked: unknown): string {
  if (typeof asked !== "string" || asked.length > 1_000) return "/";
  const here = "http://here.invalid";
  const url = URL.parse(asked, here);
  // A browser drops tabs and line feeds, reads "\" as "/", and two of them as the beginning of a host: then this differs.
  const isPlain = url?.origin === here && `${url.pathname}${url.search}` === asked;
  return isPlain && !/^\/(login|logout)\b/.test(asked) ? asked : "/";
}

const notice = (title: string, body: Html) => layout({ title, viewer: null, section: null, body });

const loginPage = (to: string, why?: Html) =>
  notice(
    "Log in",
    html`${why}<p>Hunkwise reviews the pull requests of repositories in which its GitHub App is installed. After you have logged in with
GitHub, you see those of the repositories that GitHub lets you see.</p>
<form method="post" action="/login"><input type="hidden" name="to" value="${to}"><button>Log in with GitHub</button></form>`,
  );

const notBegunHere = html`<p>This log-in was not begun in this browser, or it took longer than ten minutes. If that happens each time: the
address of this server must begin with https://, and the browser must accept its cookies.</p>`;
