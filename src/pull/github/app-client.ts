import { z } from "zod";
import { identityReach, viewerQuery } from "./allowlist.ts";
import { createGitHubClient, type GitHubClient, type GitHubClientOptions, type Pages } from "./client.ts";
import { unlessGone } from "./errors.ts";
import type { AppIdentity } from "./own-text.ts";
import type { RepositoryApi } from "./pull-request-api.ts";
import { createRateLimiter } from "./rate-limit.ts";
import { createRepositoryApi, read } from "./repository-client.ts";

/*
 * Requests of an App about itself, and of an installation about everything it can access.
 */

/** GitHub as the App itself. All methods reject with an AppError of a `github_*` code. */
export interface AppApi {
  installations(): Pages<Installation>;
  /** Null if the App is no longer installed. */
  installation(id: number): Promise<Installation | null>;
  /** Newest first; GitHub keeps them for three days. */
  deliveries(): Pages<DeliveryAttempt>;
  payload(attempt: number): Promise<unknown>;
}

type RepositoryName = Pick<InstalledRepository, "owner" | "name">;

/** GitHub as an installation, for all of its repositories. */
export interface InstallationApi {
  repositories(): Pages<InstalledRepository>;
  /** Those with the most recent activity come first. */
  pulls(repository: RepositoryName, state: "open" | "all"): Pages<OpenPull>;
  repository(repository: RepositoryName): RepositoryApi;
}

/** GitHub's alphabet: both names become part of an address. */
export const Name = z.string().regex(/^[\w.-]{1,100}$/);
const Time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
/** Times are milliseconds since 1970. */
const Installation = z
  .object({ id: z.int(), created_at: Time, suspended_at: z.string().nullish() })
  .transform(({ id, created_at: createdAt, suspended_at }) => {
    return { id, createdAt, isSuspended: typeof suspended_at === "string" };
  });
export type Installation = z.infer<typeof Installation>;

const Repository = z
  .object({
    id: z.int(),
    name: Name,
    owner: z.object({ login: Name }),
    archived: z.boolean().nullish(),
    disabled: z.boolean().nullish(),
    // The count includes pull requests.
    open_issues_count: z.int().catch(1),
  })
  .transform(({ id, name, owner, archived, disabled, open_issues_count: open }) => {
    /** Open, neither archived nor disabled, and with an open issue or pull request. */
    const isBusy = !archived && !disabled && open > 0;
    return { id, name, owner: owner.login, isBusy };
  });
export type InstalledRepository = z.infer<typeof Repository>;

const Pull = z
  .object({
    number: z.int(),
    head: z.object({ sha: z.string() }),
    base: z.object({ ref: z.string() }),
    updated_at: Time,
  })
  .transform(({ number, head, base, updated_at: updatedAt }) => {
    return { number, headSha: head.sha, baseRef: base.ref, updatedAt };
  });
export type OpenPull = z.infer<typeof Pull>;

/** One attempt of GitHub to deliver a webhook. */
const Attempt = z
  .object({
    id: z.int(),
    // The same for all attempts at a delivery.
    guid: z.string().regex(/^[\w-]{1,100}$/),
    delivered_at: Time,
    event: z.string(),
    action: z.string().nullish(),
    status_code: z.int().catch(0),
  })
  .transform(({ id, guid, delivered_at: at, event, action = null, status_code: status }) => {
    return { id, guid, at, event, action, isDelivered: status >= 200 && status < 300 };
  });
export type DeliveryAttempt = z.infer<typeof Attempt>;

const Payload = z.object({ request: z.object({ payload: z.unknown() }) });

const listOf =
  <Item>(shape: z.ZodType<Item>, what: string) =>
  (data: unknown) =>
    read(z.array(shape), data, what);

/** Of items in any list of these. */
const mostHundreds = 1_000;

/** @param client sends the App's own JSON web token */
export function createAppApi(client: GitHubClient): AppApi {
  const { rest } = client;
  return {
    installations: () =>
      client.pages("/app/installations", mostHundreds, listOf(Installation, "installations")),

    async installation(id) {
      const answer = await unlessGone(rest.apps.getInstallation({ installation_id: id }));
      return answer === null ? null : read(Installation, answer.data, "installation");
    },

    deliveries: () => client.pages("/app/hook/deliveries", mostHundreds, listOf(Attempt, "deliveries")),

    async payload(attempt) {
      const { data } = await rest.apps.getWebhookDelivery({ delivery_id: attempt });
      return read(Payload, data, "delivery").request.payload;
    },
  };
}

/** @param client sends a token for all repositories of the installation */
export function createInstallationApi(client: GitHubClient, app: AppIdentity): InstallationApi {
  const Listed = z.object({ repositories: z.array(Repository) });
  return {
    repositories: () =>
      client.pages(
        "/installation/repositories",
        mostHundreds,
        (data) => read(Listed, data, "repositories").repositories,
      ),

    pulls: ({ owner, name }, state) =>
      client.pages(
        `/repos/${owner}/${name}/pulls?state=${state}&sort=updated&direction=desc`,
        mostHundreds,
        listOf(Pull, "pull requests"),
      ),

    repository: ({ owner, name: repo }) => createRepositoryApi({ client, owner, repo, app }),
  };
}

const Viewer = z.object({ viewer: z.object({ login: z.string() }) });
const App = z.object({ id: z.int() });

/** The App whose bot every workflow of GitHub Actions is. */
export const actionsSlug = "github-actions";

/** Whose a token is: an App's or a person's. Only GraphQL tells a token its own account; an App's id is public. */
export async function tokenIdentity(
  options: Pick<GitHubClientOptions, "baseUrl" | "userAgent" | "signal"> & { token: string },
): Promise<AppIdentity> {
  const client = createGitHubClient({
    ...options,
    token: async () => options.token,
    reach: identityReach,
    limits: createRateLimiter()(0),
  });
  const { viewer } = await client.query(viewerQuery, {}, Viewer);
  const [, slug] = /^([\w-]+)\[bot\]$/.exec(viewer.login) ?? [];
  if (slug === undefined) return { id: 0, slug: viewer.login, isPerson: true };
  const { data } = await client.request("GET /apps/{slug}", { slug });
  return { id: App.parse(data).id, slug };
}
