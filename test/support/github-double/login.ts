import { createHash, randomBytes } from "node:crypto";
import type { Exchange, Reply } from "./exchange.ts";
import { jsonReply } from "./exchange.ts";
import { accountJson } from "./json/account.ts";
import type { Account, App, UserToken } from "./model.ts";
import type { GitHubState } from "./state.ts";

/**
 * The pages on which a person lets an App act for them, and the exchange of a code. The browser of every request is that of
 * `state.visitor`: the double has no log-in of its own.
 */

/** A code that GitHub sends through the browser: for ten minutes and one exchange. */
export interface LoginCode {
  app: App;
  account: Account;
  /** Of PKCE; null if the App asked for none. */
  challenge: string | null;
  /** By the machine's clock. */
  expiresAt: number;
}

const codeMs = 600_000;
const authorize = "/login/oauth/authorize";

/** Undefined if the request is for no page of these. */
export function answerLogin(state: GitHubState, { method, path, url, body }: Exchange): Reply | undefined {
  // A real browser asks for it by itself.
  if (path === "/favicon.ico") return page(404, "");
  if (path === "/login" && method === "GET") return page(200, "<h1>Sign in to GitHub</h1>");
  if (path === authorize && method === "GET") return askFor(state, url.searchParams);
  if (path === authorize && method === "POST")
    return decided(state, url.searchParams, new URLSearchParams(String(body)));
  if (path === "/login/oauth/access_token" && method === "POST") return exchanged(state, body);
  return undefined;
}

const appOf = (state: GitHubState, clientId: unknown) =>
  [...state.apps.values()].find(({ oauth }) => oauth !== undefined && oauth.clientId === clientId);

/** The page "Authorize Hunkwise"; whoever has done so before is sent on at once. */
function askFor(state: GitHubState, asked: URLSearchParams): Reply {
  const app = appOf(state, asked.get("client_id"));
  if (!app?.oauth) return page(404, "<h1>This is not the web page you are looking for</h1>");
  const to = asked.get("redirect_uri") ?? app.oauth.callbackUrls[0];
  const account = state.visitor;
  if (!account)
    return sentTo(`${state.origin}/login?return_to=${encodeURIComponent(`${authorize}?${asked}`)}`);
  if (to === undefined || !app.oauth.callbackUrls.includes(to))
    return refused(app, asked, "redirect_uri_mismatch", "The redirect_uri is not associated with this app.");
  if (asked.has("code_challenge") && asked.get("code_challenge_method") !== "S256")
    return refused(app, asked, "invalid_request", "Only S256 is supported.");
  if (state.authorizations.has(`${app.id} ${account.id}`)) return sentBack(state, app, account, asked, to);
  const action = `${authorize}?${asked}`.replaceAll("&", "&amp;");
  return page(
    200,
    `<h1>Authorize ${app.name}</h1><form method="post" action="${action}">
<button name="decision" value="authorize">Authorize ${app.name}</button>
<button name="decision" value="cancel">Cancel</button></form>`,
  );
}

function decided(state: GitHubState, asked: URLSearchParams, form: URLSearchParams): Reply {
  const app = appOf(state, asked.get("client_id"));
  const account = state.visitor;
  if (!app?.oauth || !account) return page(404, "<h1>This is not the web page you are looking for</h1>");
  if (form.get("decision") !== "authorize")
    return refused(app, asked, "access_denied", "The user has denied your application access.");
  state.authorizations.add(`${app.id} ${account.id}`);
  return sentBack(state, app, account, asked, asked.get("redirect_uri") ?? app.oauth.callbackUrls[0]);
}

function sentBack(
  state: GitHubState,
  app: App,
  account: Account,
  asked: URLSearchParams,
  to: string | undefined,
) {
  const code = randomBytes(10).toString("hex");
  const challenge = asked.get("code_challenge");
  state.loginCodes.set(code, { app, account, challenge, expiresAt: Date.now() + codeMs });
  const target = new URL(to ?? "");
  target.searchParams.set("code", code);
  if (asked.has("state")) target.searchParams.set("state", asked.get("state") ?? "");
  return sentTo(target.href);
}

function refused(app: App, asked: URLSearchParams, error: string, description: string): Reply {
  const target = new URL(app.oauth?.callbackUrls[0] ?? "");
  const state = asked.get("state");
  for (const [name, value] of Object.entries({
    error,
    error_description: description,
    ...(state && { state }),
  }))
    target.searchParams.set(name, value);
  return sentTo(target.href);
}

/** A refusal has status 200, as on GitHub. */
function exchanged(state: GitHubState, body: unknown): Reply {
  const asked = (typeof body === "string" ? Object.fromEntries(new URLSearchParams(body)) : body) as Record<
    string,
    unknown
  >;
  const app = appOf(state, asked.client_id);
  if (!app || app.oauth?.clientSecret !== asked.client_secret)
    return jsonReply(200, {
      error: "incorrect_client_credentials",
      error_description: "The client_id and/or client_secret passed are incorrect.",
      error_uri: `${state.origin}/docs#incorrect-client-credentials`,
    });
  const code = String(asked.code);
  const known = state.loginCodes.get(code);
  state.loginCodes.delete(code);
  const isProven =
    known?.challenge === null ||
    (typeof asked.code_verifier === "string" &&
      createHash("sha256").update(asked.code_verifier).digest("base64url") === known?.challenge);
  if (known?.app !== app || known.expiresAt <= Date.now() || !isProven)
    return jsonReply(200, {
      error: "bad_verification_code",
      error_description: "The code passed is incorrect or expired.",
      error_uri: `${state.origin}/docs#bad-verification-code`,
    });
  const token: UserToken = { value: `ghu_${randomBytes(18).toString("hex")}`, app, account: known.account };
  state.userTokens.set(token.value, token);
  return jsonReply(200, {
    access_token: token.value,
    expires_in: 28_800,
    refresh_token: `ghr_${randomBytes(38).toString("hex")}`,
    refresh_token_expires_in: 15_897_600,
    token_type: "bearer",
    scope: "",
  });
}

/** The person ends what they have authorized. Returns the webhook that GitHub sends about it. */
export function revokeAuthorization(state: GitHubState, app: App, account: Account) {
  state.authorizations.delete(`${app.id} ${account.id}`);
  for (const token of [...state.userTokens.values()])
    if (token.app === app && token.account === account) state.userTokens.delete(token.value);
  return authorizationRevokedPayload(state, account);
}

/** The payload of a `github_app_authorization` event. */
export const authorizationRevokedPayload = (state: GitHubState, account: Account) => ({
  action: "revoked",
  sender: accountJson(state, account),
});

const html = { "content-type": "text/html; charset=utf-8" };
const page = (status: number, body: string): Reply => ({ status, headers: html, body });
const sentTo = (location: string): Reply => ({ status: 302, headers: { ...html, location }, body: "" });
