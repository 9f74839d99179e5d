import { AppError } from "../errors.ts";
import { createGitHubClient, type GitHubClient } from "../github/client.ts";
import type { AppIdentity } from "../github/own-text.ts";
import { createPacings } from "../github/pacing.ts";
import { createPullRequestApi } from "../github/pull-request-client.ts";
import { createRepositoryApi } from "../github/repository-client.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { GitHubAccess } from "./job-dependencies.ts";

/** Mints a token of an installation for one repository; `renew` asks for one that is no cached copy. */
export type MintToken = (
  installation: number,
  scope: {
    repositoryIds: readonly number[];
    /** Left out: all that the installation grants. */
    permissions?: Readonly<Record<string, "read" | "write">> | undefined;
    renew?: boolean;
  },
) => Promise<string>;

/** What publishing takes; app.yml says what each is for. */
const publishing = { contents: "read", pull_requests: "write", checks: "write" } as const;
/** What a reviewer is shown beside the change, and can do without. */
const surroundings = { issues: "read", statuses: "read" } as const;
/** Asked for in this order, until GitHub grants one. The last is all that the installation has. */
const apiPermissions = [{ ...publishing, ...surroundings }, publishing, undefined];
const gitPermissions = { contents: "read" } as const;

export interface GitHubAccessOptions {
  /** Root of the REST API. */
  apiUrl: string;
  userAgent: string;
  mintToken: MintToken;
  /** Who we are, to tell our own comments from others'. */
  identity: () => Promise<AppIdentity>;
}

/** GitHub's API for jobs: a token for each repository, one pacing for each installation. */
export function createGitHubAccess(options: GitHubAccessOptions): GitHubAccess {
  const pacings = createPacings();
  /**
   * GitHub refuses a token whole when one of its permissions was not granted: there, what was granted has to do. By
   * installation, how many of the wishes above were refused.
   */
  const refused = new Map<number, number>();

  async function token(installation: number, id: number, renew: boolean): Promise<string> {
    for (;;) {
      const wish = refused.get(installation) ?? 0;
      const permissions = apiPermissions[wish];
      try {
        return await options.mintToken(installation, { repositoryIds: [id], permissions, renew });
      } catch (error) {
        const isRefused = error instanceof AppError && error.code === "github_invalid";
        if (!isRefused || permissions === undefined) throw error;
        refused.set(installation, Math.max(refused.get(installation) ?? 0, wish + 1));
      }
    }
  }

  function client({ installation, id }: RepositoryRef, signal: AbortSignal): GitHubClient {
    return createGitHubClient({
      baseUrl: options.apiUrl,
      userAgent: options.userAgent,
      pacing: pacings(installation),
      token: ({ renew }) => token(installation, id, renew),
      signal,
    });
  }

  async function access(repository: RepositoryRef, signal: AbortSignal) {
    const { owner, name: repo } = repository;
    return { client: client(repository, signal), owner, repo, app: await options.identity() };
  }

  return {
    repository: async (repository, signal) => createRepositoryApi(await access(repository, signal)),
    pull: async (repository, pull, signal) =>
      createPullRequestApi({ ...(await access(repository, signal)), pull }),
  };
}

/** The Authorization header for git over HTTP: GitHub takes an installation token as the password of `x-access-token`. */
export async function gitAuthorization(
  mintToken: MintToken,
  { installation, id }: RepositoryRef,
): Promise<string> {
  // A cached token may have less than a minute left; git cannot ask for another in the middle of a fetch.
  const scope = { repositoryIds: [id], permissions: gitPermissions, renew: true };
  const token = await mintToken(installation, scope);
  return `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
}
