import { Probot, ProbotOctokit } from "probot";
import { z } from "zod";
import type { AppCredentials, GitHubPlace } from "../../config/env.ts";
import { AppError } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { registerSecret } from "../../core/secrets/live-secrets.ts";
import { credentialsReach } from "../../pull/github/allowlist.ts";
import { refusalOf, refuseCutOff, toAppError, unreadableAnswer } from "../../pull/github/errors.ts";
import { createTransport } from "../../pull/github/transport.ts";
import type { Granted, MintToken } from "../jobs/github-access.ts";

/** The queue does retries and pacing; here a request either succeeds or says why not. */
const plain = { retry: { enabled: false }, throttle: { enabled: false as const } };
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** An octokit without credentials. `timeoutMs` is for one request with its whole answer; default 30 s. */
export function anonymousOctokit({ apiUrl: baseUrl }: GitHubPlace, timeoutMs?: number): ProbotOctokit {
  const fetch = createTransport({ baseUrl, reach: credentialsReach, timeoutMs });
  const octokit = new ProbotOctokit({ baseUrl, log: silent, request: { fetch }, ...plain });
  // Probot would keep what is missing in an answer that is cut off as a token, for an hour.
  octokit.hook.after("request", (answer, { method, url, request }) =>
    refuseCutOff(answer, `${method} ${url}`, request ?? {}),
  );
  return octokit;
}

/** Probot with the App's credentials: it verifies signatures, dispatches events and mints tokens. */
export function createProbot(
  app: AppCredentials,
  github: GitHubPlace,
  log: Logger,
  timeoutMs?: number,
): Probot {
  for (const secret of [app.privateKey, app.webhookSecret]) registerSecret(secret, { keep: true });
  // Probot's own request for tokens would send the App's JWT to github.com, even with an enterprise server.
  const { request } = anonymousOctokit(github, timeoutMs);
  const Octokit = ProbotOctokit.defaults((options: Record<string, unknown>) => ({
    ...options,
    ...plain,
    auth: { ...(options.auth as object), request },
  })) as typeof ProbotOctokit;
  const { id: appId, privateKey, webhookSecret: secret } = app;
  // Below "warn" Probot logs whole payloads and request bodies, including private code.
  const level = log.isLevelEnabled("info") ? "warn" : log.level;
  const quiet = log.child({}, { level });
  const baseUrl = github.apiUrl;
  const transport = { fetch: createTransport({ baseUrl, reach: credentialsReach, timeoutMs }) };
  return new Probot({ appId, privateKey, secret, baseUrl, request: transport, log: quiet, Octokit });
}

/** Mints tokens through Probot, which caches them for part of their hour. */
export function installationAuth(probot: Probot): MintToken {
  return async (
    installation,
    { repositoryIds, repositoryNames, permissions, renew = false, own = false },
  ) => {
    const octokit = await probot.auth();
    const names = repositoryNames && [...repositoryNames];
    const ids = repositoryIds && [...repositoryIds];
    const kept = { ...(names && { repositoryNames: names }), ...(ids && { repositoryIds: ids }) };
    const mint = (): Promise<unknown> =>
      own
        ? octokit
            .request("POST /app/installations/{installation_id}/access_tokens", {
              installation_id: installation,
              ...{ ...(names && { repositories: names }), ...(ids && { repository_ids: ids }), permissions },
            })
            .then(({ data }) => data)
        : octokit.auth({
            type: "installation",
            installationId: installation,
            ...kept,
            permissions,
            refresh: renew,
          });
    const call = `POST /app/installations/${installation}/access_tokens`;
    const { success, data: minted } = Minted.safeParse(await asTheApp(call, mint));
    if (!success) throw unreadableAnswer(call, "it contains no token");
    registerSecret(minted.token);
    return minted.token;
  };
}

const Minted = z.object({ token: z.string().min(1) });

const Installation = z.object({ permissions: z.record(z.string(), z.string()) });

export function installationGrants(probot: Probot): Granted {
  return async (installation) => {
    const octokit = await probot.auth();
    const call = `GET /app/installations/${installation}`;
    const { data } = await asTheApp(call, () =>
      octokit.request("GET /app/installations/{installation_id}", { installation_id: installation }),
    );
    const { success, data: found } = Installation.safeParse(data);
    if (!success) throw unreadableAnswer(call, "it contains no permissions");
    return found.permissions;
  };
}

/** Asks GitHub as the App, after a 401 once more with a new JSON web token. Rejects with an AppError of a `github_*` code. */
async function asTheApp<Answer>(call: string, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask().catch((error: unknown) => {
      if (refusalOf(error)?.status !== 401) throw error;
      return ask();
    });
  } catch (error) {
    throw toAppError(error, call);
  }
}

/** GitHub accepts a JSON web token of an App for ten minutes at most; ours is shorter, because clocks differ. */
const appTokenMs = 5 * 60_000;

/** The App's own JSON web token, for GitHub's endpoints about the App itself. Kept for some minutes. */
export function appAuth(probot: Probot, now: () => number = Date.now) {
  let kept = { token: "", until: 0 };
  return async ({ renew }: { renew: boolean }): Promise<string> => {
    if (!renew && now() < kept.until) return kept.token;
    const octokit = await probot.auth();
    const { token } = (await octokit.auth({ type: "app" })) as { token: string };
    registerSecret(token);
    kept = { token, until: now() + appTokenMs };
    return token;
  };
}

/** Asks GitHub for the App's name in mentions, once; again after a failure. */
export function appIdentity(probot: Probot): () => Promise<{ slug: string }> {
  let known: Promise<{ slug: string }> | undefined;
  const ask = async () => {
    const octokit = await probot.auth();
    const { data } = await asTheApp("GET /app", () => octokit.request("GET /app"));
    if (!data?.slug) throw new AppError("github_failed", "GitHub's answer to GET /app names no App");
    return { slug: data.slug };
  };
  return () => {
    known ??= ask().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  };
}
