import { createHmac, randomBytes } from "node:crypto";
import { type Context, Hono } from "hono";
import { deleteCookie, getCookie, getSignedCookie, setCookie, setSignedCookie } from "hono/cookie";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { AppError, errorLine } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { UserClient } from "../pull/github/user-client.ts";
import { type Html, html, notice } from "./html.ts";
import { type LiveSessions, sessionMs } from "./live-sessions.ts";

/*
 * Log-in with GitHub. The state that GitHub brings back must be the one in the signed cookie of this browser (otherwise a stranger's link could
 * log a person in as the stranger), and the code is worth nothing without the verifier (PKCE). Only its browser keeps a log-in in progress.
 */

interface LoginOptions {
  client: Pick<UserClient, "authorizeUrl" | "exchange" | "account">;
  live: LiveSessions;
  log: Pick<Logger, "warn" | "error">;
  now: () => number;
}

const Begun = z.object({
  state: z.string(),
  to: z.string(),
  expiresAt: z.number(),
});
type Begun = z.infer<typeof Begun>;

/** GitHub's code is valid for ten minutes. */
const pendingMs = 600_000;
/** States that brought a code. */
const mostUsed = 10_000;

/** With this prefix, a browser takes the cookie only over HTTPS, from this host. */
const cookies = { session: "hunkwise", login: "hunkwise-login" } as const;
const attributes = { prefix: "host", httpOnly: true, sameSite: "Lax" } as const;

export const sessionIdOf = (context: Context) => getCookie(context, cookies.session, "host");

export const forgetSession = (context: Context) => deleteCookie(context, cookies.session, attributes);

export function login({ client, live, log, now }: LoginOptions): Hono {
  const key = randomBytes(32);
  const used = new LRUCache<string, true>({ max: mostUsed });
  const verifierOf = ({ state }: Begun) => createHmac("sha256", key).update(state).digest("base64url");

  /** The log-in that this browser began; each state counts once. */
  async function take(context: Context): Promise<Begun | undefined> {
    const signed = await getSignedCookie(context, key, cookies.login, "host");
    if (!signed) return undefined;
    const begun = Begun.parse(JSON.parse(signed));
    // A stranger's link ends nothing.
    if (begun.state !== context.req.query("state")) return undefined;
    deleteCookie(context, cookies.login, attributes);
    if (begun.expiresAt <= now() || used.has(begun.state)) return undefined;
    used.set(begun.state, true);
    return begun;
  }

  return new Hono()
    .get("/login", (context) => context.html(loginPage(ownPath(context.req.query("to")))))

    .post("/login", async (context) => {
      const { to } = await context.req.parseBody();
      const state = randomBytes(32).toString("base64url");
      const begun: Begun = { state, to: ownPath(to), expiresAt: now() + pendingMs };
      const lasting = { ...attributes, maxAge: pendingMs / 1_000 };
      await setSignedCookie(context, cookies.login, JSON.stringify(begun), key, lasting);
      const url = client.authorizeUrl(state, verifierOf(begun));
      // Not a redirect: a browser compares each address to which a form leads, also through GitHub, with `form-action`.
      context.header("refresh", `0; url=${url}`);
      return context.html(notice("Log in", html`<p><a href="${url}">Continue to GitHub</a></p>`));
    })

    .get("/login/callback", async (context) => {
      const begun = await take(context);
      const { error, code = "" } = context.req.query();
      if (error === "access_denied")
        return context.html(loginPage(begun?.to ?? "/", html`<p>You canceled on GitHub.</p>`), 403);
      if (!begun) return context.html(loginPage("/", notBegunHere), 400);
      if (!/^[\w-]{1,200}$/.test(code)) {
        const why = html`<p>GitHub sent no code${error === undefined ? "" : `: ${error.slice(0, 200)}`}.</p>`;
        return context.html(loginPage(begun.to, why), 400);
      }
      try {
        const token = await client.exchange(code, verifierOf(begun));
        const id = live.start(token, await client.account(token));
        live.end(sessionIdOf(context));
        setCookie(context, cookies.session, id, { ...attributes, maxAge: sessionMs / 1_000 });
        return context.redirect(begun.to, 303);
      } catch (error) {
        return refused(context, begun.to, error);
      }
    })

    .post("/logout", (context) => {
      live.end(sessionIdOf(context));
      forgetSession(context);
      return context.redirect("/login", 303);
    });

  function refused(context: Context, to: string, error: unknown) {
    if (!(error instanceof AppError) || !error.code.startsWith("github_")) throw error;
    const isOld = error.code === "github_invalid";
    log[isOld ? "warn" : "error"]({ err: error }, `A log-in failed: ${errorLine(error)}`);
    const why = isOld
      ? html`<p>GitHub no longer accepts this log-in. Log in again.</p>`
      : html`<p>GitHub did not tell this server who you are. The server's log says why.</p>`;
    return context.html(loginPage(to, why), isOld ? 400 : 502);
  }
}

/** A path of this server to which a person returns after log-in; "/" for anything that a browser could read as another place. */
export function ownPath(asked: unknown): string {
  if (typeof asked !== "string" || asked.length > 1_000) return "/";
  const here = "http://here.invalid";
  const url = URL.parse(asked, here);
  // A browser drops tabs and line feeds, reads "\" as "/", and two of them as the beginning of a host: then this differs.
  const isPlain = url?.origin === here && `${url.pathname}${url.search}` === asked;
  return isPlain && !/^\/(login|logout)\b/.test(asked) ? asked : "/";
}

const loginPage = (to: string, why?: Html) =>
  notice(
    "Log in",
    html`${why}<p>Hunkwise reviews the pull requests of repositories in which its GitHub App is installed. Log in with GitHub
to see the repositories that GitHub lets you see.</p>
<form method="post" action="/login"><input type="hidden" name="to" value="${to}"><button>Log in with GitHub</button></form>`,
  );

const notBegunHere = html`<p>This log-in did not start in this browser, or it took longer than ten minutes. If this happens every time, check that
the address of this server begins with https://, and that the browser accepts its cookies.</p>`;
