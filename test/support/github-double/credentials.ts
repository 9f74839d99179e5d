import { createVerify } from "node:crypto";
import { GitHubRefusal, notFound } from "./errors.ts";
import type { Access, App, Permissions, Repository, Token, UserToken } from "./model.ts";
import type { GitHubState } from "./state.ts";

/** The sender of a request, according to its credentials. */
export type Caller =
  | { kind: "app"; app: App }
  /** The App as an OAuth client, by its id and secret. */
  | { kind: "client"; app: App }
  | { kind: "installation"; token: Token }
  | { kind: "user"; user: UserToken }
  | { kind: "nobody" };

const badCredentials = () => new GitHubRefusal(401, "Bad credentials");

/** Reads `Authorization`. Refuses wrong credentials, even if none are needed. */
export function callerOf(state: GitHubState, authorization: string | undefined): Caller {
  if (!authorization) return { kind: "nobody" };
  const [, scheme = "", value = ""] = /^(\S+)\s+(\S+)$/.exec(authorization) ?? [];
  if (/^basic$/i.test(scheme)) return clientCaller(state, value) ?? tokenCaller(state, basicPassword(value));
  if (!/^(bearer|token)$/i.test(scheme)) throw badCredentials();
  return value.split(".").length === 3 && !value.startsWith("ghs_")
    ? { kind: "app", app: appOfJwt(state, value) }
    : tokenCaller(state, value);
}

/** GitHub accepts an installation token as the password of any user name. */
const basicPassword = (value: string) =>
  Buffer.from(value, "base64").toString("utf8").split(":").slice(1).join(":");

function clientCaller(state: GitHubState, value: string): Caller | undefined {
  const [id, secret] = Buffer.from(value, "base64").toString("utf8").split(":");
  const app = [...state.apps.values()].find(({ oauth }) => oauth !== undefined && oauth.clientId === id);
  if (!app) return undefined;
  if (app.oauth?.clientSecret !== secret) throw badCredentials();
  return { kind: "client", app };
}

function tokenCaller(state: GitHubState, value: string): Caller {
  const user = state.userTokens.get(value);
  if (user) return { kind: "user", user };
  const token = state.tokens.get(value);
  if (!token || token.revoked || token.expiresAt.getTime() <= Date.now()) throw badCredentials();
  if (token.installation.suspendedAt) throw new GitHubRefusal(403, "This installation has been suspended");
  return { kind: "installation", token };
}

function jwtPart(part: string | undefined): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(part ?? "", "base64url").toString("utf8")) as Record<string, unknown>;
  } catch {
    throw new GitHubRefusal(401, "A JSON web token could not be decoded");
  }
}

/** Requires RS256 with the App's key, the App as the issuer, no future date, and at most ten minutes of validity. */
function appOfJwt(state: GitHubState, jwt: string): App {
  const [header, claims, signature] = jwt.split(".");
  if (jwtPart(header).alg !== "RS256") throw new GitHubRefusal(401, "A JSON web token could not be decoded");
  const { iss, iat, exp } = jwtPart(claims);
  const app = state.apps.get(Number(iss));
  if (!app) throw new GitHubRefusal(401, "Integration must generate a public key");
  const signed = createVerify("RSA-SHA256")
    .update(`${header}.${claims}`)
    .verify(app.publicKey, signature ?? "", "base64url");
  if (!signed) throw new GitHubRefusal(401, "A JSON web token could not be decoded");
  const now = Date.now() / 1000;
  const [issued, expires] = [Number(iat), Number(exp)];
  if (!(issued <= now)) {
    throw new GitHubRefusal(
      401,
      "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
    );
  }
  if (!(expires > now) || expires > now + 600) {
    throw new GitHubRefusal(
      401,
      "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
    );
  }
  return app;
}

export function requireApp(caller: Caller): App {
  if (caller.kind === "app") return caller.app;
  throw new GitHubRefusal(401, "A JSON web token could not be decoded");
}

export function requireUser(caller: Caller): UserToken {
  if (caller.kind === "user") return caller.user;
  if (caller.kind === "nobody") throw new GitHubRefusal(401, "Requires authentication");
  throw new GitHubRefusal(403, "Resource not accessible by integration");
}

export function requireClient(caller: Caller): App {
  if (caller.kind === "client") return caller.app;
  throw notFound();
}

export function requireToken(caller: Caller): Token {
  if (caller.kind === "installation") return caller.token;
  if (caller.kind === "nobody") throw new GitHubRefusal(401, "Requires authentication");
  throw new GitHubRefusal(403, "Resource not accessible by integration");
}

const covers = (permissions: Permissions, name: string, access: Access) =>
  name === "metadata" || permissions[name] === "write" || permissions[name] === access;

/** Refuses a token without any of the permissions, and names those that would do. */
export function requirePermission(token: Token, anyOf: readonly [string, Access][]): void {
  if (anyOf.some(([name, access]) => covers(token.permissions, name, access))) return;
  throw new GitHubRefusal(403, "Resource not accessible by integration", undefined, {
    "x-accepted-github-permissions": anyOf.map(([name, access]) => `${name}=${access}`).join("; "),
  });
}

/** The repository of a path as the token sees it: repositories outside the token do not exist. */
export function requireRepository(state: GitHubState, token: Token, owner: string, name: string): Repository {
  const repository = state.repository(owner, name);
  if (!repository || !token.repositories.includes(repository)) throw notFound();
  return repository;
}
