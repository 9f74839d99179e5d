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
const apiPermissions = { contents: "read", pull_requests: "write", checks: "write" } as const;
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
  /** GitHub refuses a token whole when one of its permissions was not granted: there, what was granted has to do. */
  const lacking = new Set<number>();

  function client({ installation, id }: RepositoryRef, signal: AbortSignal): GitHubClient {
    const scope = { repositoryIds: [id] };
    return createGitHubClient({
      baseUrl: options.apiUrl,
      userAgent: options.userAgent,
      pacing: pacings(installation),
      token: async ({ renew }) => {
        if (lacking.has(installation)) return options.mintToken(installation, { ...scope, renew });
        try {
          return await options.mintToken(installation, { ...scope, permissions: apiPermissions, renew });
        } catch (error) {
          if (!(error instanceof AppError && error.code === "github_invalid")) throw error;
          lacking.add(installation);
          return options.mintToken(installation, { ...scope, renew });
        }
      },
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
