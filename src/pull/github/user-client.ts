import { createHash } from "node:crypto";
import { z } from "zod";
import type { GitHubPlace, LoginCredentials } from "../../config/env.ts";
import { AppError } from "../../core/errors.ts";
import { registerSecret } from "../../core/secrets/live-secrets.ts";
import { exchangeReach, revokingReach, userReach } from "./allowlist.ts";
import { Name } from "./app-client.ts";
import { nextPage } from "./client.ts";
import { oneLine, refusalError, toAppError, unlessRefused } from "./errors.ts";
import { read } from "./repository-client.ts";
import { createTransport } from "./transport.ts";

/*
 * The App as an OAuth client, and GitHub as a person sees it
 * (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app).
 * No package of octokit knows PKCE. No request is repeated: a person waits for the answer.
 */

/** A repository in which the App is installed, and which a person may see. */
export interface SeenRepository {
  id: number;
  installation: number;
  owner: string;
  name: string;
  /** Whether GitHub lets this person write to it; each action is checked again when it is done. */
  mayWrite: boolean;
}

/** Every method rejects with an AppError of a `github_*` code. */
export interface UserClient {
  /** Where a person lets the App act for them. GitHub sends the browser to the first callback URL of the App, with `state` and a code. */
  authorizeUrl(state: string, verifier: string): string;
  /** The user access token for a code, which GitHub accepts once. Rejects with `github_invalid` for any other code. */
  exchange(code: string, verifier: string): Promise<string>;
  account(token: string): Promise<{ id: number; login: string }>;
  /** What both the person and the App may see. Installations that are suspended, or closed to the person, count as empty. */
  repositories(token: string): Promise<SeenRepository[]>;
  revoke(token: string): Promise<void>;
}

interface UserClientOptions {
  github: Pick<GitHubPlace, "apiUrl" | "webUrl">;
  login: LoginCredentials;
  appId: number;
  userAgent: string;
}

/** In milliseconds. A person waits: GitHub itself gives up after ten seconds. */
const patienceMs = 10_000;
/** Of 100 entries, for all installations together: 20,000 repositories. */
const mostPages = 200;

/** GitHub reports a refused code with status 200 ("Troubleshooting OAuth app access token request errors"). */
const Exchanged = z.union([
  z.object({ access_token: z.string().regex(/^[\w.~+/=-]{8,4096}$/), token_type: z.string() }),
  z.object({ error: z.string(), error_description: z.string().catch("") }),
]);
const Account = z.object({ id: z.int().positive(), login: Name });
const Installations = z.object({
  installations: z.array(
    z.object({ id: z.int().positive(), app_id: z.int(), suspended_at: z.string().nullish() }),
  ),
});
const Repositories = z.object({
  repositories: z.array(
    z.object({
      id: z.int().positive(),
      name: Name,
      owner: z.object({ login: Name }),
      permissions: z.object({ push: z.boolean() }).nullish(),
    }),
  ),
});

export function createUserClient({ github, login, appId, userAgent }: UserClientOptions): UserClient {
  const { apiUrl, webUrl } = github;
  const { clientId, clientSecret } = login;

  interface Sent {
    at: string;
    reach: Parameters<typeof createTransport>[0]["reach"];
    authorization?: string;
    body?: object;
    /** What the body has to contain of our secrets. */
    reveals?: readonly string[];
  }

  /** @param call method and path below the root, or the address of a next page */
  async function send(call: string, { at, reach, authorization, body, reveals }: Sent) {
    const [method = "", target = ""] = call.split(" ");
    const name = `${method} ${target.replace(at, "").replace(/\?.*/, "")}`;
    try {
      const transport = createTransport({ baseUrl: at, reach, timeoutMs: patienceMs, reveals });
      const response = await transport(target.startsWith("/") ? `${at}${target}` : target, {
        method,
        headers: {
          accept: at === apiUrl ? "application/vnd.github+json" : "application/json",
          "user-agent": userAgent,
          ...(at === apiUrl && { "x-github-api-version": "2022-11-28" }),
          ...(authorization && { authorization }),
          ...(body && { "content-type": "application/json" }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      const { status } = response;
      const headers = Object.fromEntries(response.headers);
      // A page of a proxy is no JSON.
      const data: unknown = await response.json().catch(() => undefined);
      if (response.ok) return { data, headers };
      throw refusalError({ status, headers, message: oneLine(Message.safeParse(data).data?.message ?? "") });
    } catch (error) {
      throw toAppError(error, name);
    }
  }

  const asUser = (token: string): Sent => ({
    at: apiUrl,
    reach: userReach,
    authorization: `Bearer ${token}`,
  });

  /** All pages of a list. `of` makes items of a page. */
  async function list<Item>(
    path: string,
    token: string,
    pages: { left: number },
    of: (data: unknown) => Item[],
  ): Promise<Item[]> {
    const items: Item[] = [];
    let url: string | undefined = `${path}?per_page=100`;
    while (url !== undefined) {
      if (pages.left-- === 0)
        throw new AppError("too_large", `GitHub lists more than ${mostPages} pages of repositories`);
      const { data, headers }: Awaited<ReturnType<typeof send>> = await send(`GET ${url}`, asUser(token));
      items.push(...of(data));
      url = nextPage(headers);
    }
    return items;
  }

  return {
    authorizeUrl(state, verifier) {
      const query = new URLSearchParams({
        client_id: clientId,
        state,
        // GitHub only knows S256 (RFC 7636, section 4.2).
        code_challenge: createHash("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
      });
      return `${webUrl}/login/oauth/authorize?${query}`;
    },

    async exchange(code, verifier) {
      const call = "POST /login/oauth/access_token";
      const { data } = await send(call, {
        at: webUrl,
        reach: exchangeReach,
        body: { client_id: clientId, client_secret: clientSecret, code, code_verifier: verifier },
        reveals: [clientSecret],
      });
      const answer = read(Exchanged, data, "an access token");
      if ("access_token" in answer) {
        registerSecret(answer.access_token);
        return answer.access_token;
      }
      const reason = oneLine(`${answer.error}: ${answer.error_description}`);
      const isOurs = answer.error === "incorrect_client_credentials";
      throw new AppError(
        isOurs ? "github_unauthorized" : "github_invalid",
        `GitHub refused ${call}: ${reason}`,
        isOurs ? { remedy: "Check GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET" } : {},
      );
    },

    async account(token) {
      const { data } = await send("GET /user", asUser(token));
      return read(Account, data, "the account");
    },

    async repositories(token) {
      const pages = { left: mostPages };
      const installations = await list(
        "/user/installations",
        token,
        pages,
        (data) => read(Installations, data, "installations").installations,
      );
      const seen: SeenRepository[] = [];
      // One after the other, as GitHub asks of all clients.
      for (const { id: installation, app_id, suspended_at } of installations) {
        if (app_id !== appId || typeof suspended_at === "string") continue;
        const path = `/user/installations/${installation}/repositories`;
        const of = (data: unknown) => read(Repositories, data, "repositories").repositories;
        // An organization with SAML closes an installation until people log in there, and one may be gone since it was listed.
        const found = await unlessRefused(list(path, token, pages, of), []);
        for (const { id, name, owner, permissions } of found)
          seen.push({ id, installation, owner: owner.login, name, mayWrite: permissions?.push ?? false });
      }
      return seen;
    },

    async revoke(token) {
      await send(`DELETE /applications/${clientId}/token`, {
        at: apiUrl,
        reach: revokingReach(clientId),
        authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`,
        body: { access_token: token },
        reveals: [token],
      });
    },
  };
}

const Message = z.object({ message: z.string() });
