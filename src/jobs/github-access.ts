import { AppError } from "../errors.ts";
import { type BeforeWrite, createGitHubClient, type GitHubClient } from "../github/client.ts";
import { type Clock, systemClock } from "../github/clock.ts";
import { readFile } from "../github/contents.ts";
import { notGranted } from "../github/errors.ts";
import type { AppIdentity } from "../github/own-text.ts";
import { createPullRequestApi } from "../github/pull-request-client.ts";
import type { RateLimitSeen } from "../github/rate-limit.ts";
import { createRepositoryApi } from "../github/repository-client.ts";
import { createRepositoryWriter } from "../github/repository-writer.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { GitHubAccess } from "./job-dependencies.ts";
import { createPacings, type Pacings } from "./pacings.ts";

/** The repositories that a token reaches: by id, or by name where only that is known. */
type Reach =
  | { repositoryIds: readonly number[]; repositoryNames?: never }
  | { repositoryNames: readonly string[]; repositoryIds?: never };

/** Mints a token of an installation for one repository; `renew` asks for one that is no cached copy. */
export type MintToken = (
  installation: number,
  scope: Reach & {
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
const readingPermissions = { contents: "read" } as const;
/** What resolving a thread and proposing a file take, and nothing else has. */
const writingPermissions = { contents: "write", pull_requests: "write" } as const;

/** For so long a refusal holds: an owner may have granted the permission meanwhile. */
const refusalMs = 3_600_000;

export interface GitHubAccessOptions {
  /** Root of the REST API. */
  apiUrl: string;
  userAgent: string;
  mintToken: MintToken;
  /** Who we are, to tell our own comments from others'. */
  identity: () => Promise<AppIdentity>;
  /** Shared by whatever talks to GitHub in this process. Default: nothing else does, nor any other process. */
  pacings?: Pacings;
  /** Told what answers say of the limits that they count against. */
  onRateLimit?: (seen: RateLimitSeen & { installation: number }) => void;
  /** Default: the machine's. */
  clock?: Clock;
}

/** Where an account keeps what holds for all of its repositories. */
const organizationRepository = ".github";

/** GitHub's API for jobs: a token for each repository, one pacing for each installation. */
export function createGitHubAccess(options: GitHubAccessOptions): GitHubAccess {
  const { clock = systemClock, pacings = createPacings({ clock }), onRateLimit } = options;
  const apiToken = createApiToken(options);
  const writingToken = createWritingToken(options);

  function client(
    token: Token,
    { installation, id }: RepositoryRef,
    signal: AbortSignal,
    beforeWrite?: BeforeWrite,
  ): GitHubClient {
    return createGitHubClient({
      baseUrl: options.apiUrl,
      userAgent: options.userAgent,
      pacing: pacings(installation),
      token: ({ renew }) => token(installation, id, renew),
      onRateLimit: (seen) => onRateLimit?.({ installation, ...seen }),
      ...{ signal, clock, beforeWrite },
    });
  }

  async function access(repository: RepositoryRef, signal: AbortSignal, beforeWrite?: BeforeWrite) {
    const { owner, name: repo } = repository;
    const app = await options.identity();
    return { client: client(apiToken, repository, signal, beforeWrite), owner, repo, app };
  }

  return {
    repository: async (...how) => createRepositoryApi(await access(...how)),
    async pull(repository, pull, signal, beforeWrite) {
      const writing = client(writingToken, repository, signal, beforeWrite);
      return createPullRequestApi({ ...(await access(repository, signal, beforeWrite)), pull, writing });
    },
    async writer(repository, signal, beforeWrite) {
      const { owner, name: repo } = repository;
      const writing = client(writingToken, repository, signal, beforeWrite);
      return createRepositoryWriter({ client: writing, owner, repo });
    },
    async organization(repository, signal) {
      const there = { owner: repository.owner, repo: organizationRepository };
      const reading = client(createOrganizationToken(options, apiToken), repository, signal);
      return async (path) => (await readFile(reading, there, path))?.text;
    },
  };
}

type Token = (installation: number, repositoryId: number, renew: boolean) => Promise<string>;

/**
 * The token that jobs have for what every job does. GitHub refuses a token whole when one of its permissions was not granted:
 * there, what was granted has to do.
 */
function createApiToken({ mintToken }: GitHubAccessOptions): Token {
  /** By installation, how many of the wishes above were refused. */
  const refused = new Map<number, number>();
  return async (installation, id, renew) => {
    for (;;) {
      const wish = refused.get(installation) ?? 0;
      const permissions = apiPermissions[wish];
      try {
        return await mintToken(installation, { repositoryIds: [id], permissions, renew });
      } catch (error) {
        if (!isRefused(error) || permissions === undefined) throw error;
        refused.set(installation, Math.max(refused.get(installation) ?? 0, wish + 1));
      }
    }
  };
}

/** The token of the few calls that take `contents: write`, which many installations do not grant. */
function createWritingToken({ mintToken, clock = systemClock }: GitHubAccessOptions): Token {
  /** By installation, when it was refused. */
  const refusedAt = new Map<number, number>();
  const refusal = () => notGranted("Writing to the repository", "contents=write");
  return async (installation, id, renew) => {
    if (clock.now() - (refusedAt.get(installation) ?? Number.NEGATIVE_INFINITY) < refusalMs) throw refusal();
    try {
      return await mintToken(installation, { repositoryIds: [id], permissions: writingPermissions, renew });
    } catch (error) {
      if (!isRefused(error)) throw error;
      refusedAt.set(installation, clock.now());
      throw refusal();
    }
  };
}

/**
 * The token for the organisation's repository. GitHub refuses it where the App is not installed there, or there is no such
 * repository: then any token can read it, if it is public.
 */
function createOrganizationToken({ mintToken }: GitHubAccessOptions, apiToken: Token): Token {
  let isClosed = false;
  return async (installation, id, renew) => {
    if (isClosed) return apiToken(installation, id, renew);
    const repositoryNames = [organizationRepository];
    try {
      return await mintToken(installation, { repositoryNames, permissions: readingPermissions, renew });
    } catch (error) {
      if (!isRefused(error)) throw error;
      isClosed = true;
      return apiToken(installation, id, renew);
    }
  };
}

const isRefused = (error: unknown) => error instanceof AppError && error.code === "github_invalid";

/** The Authorization header for git over HTTP: GitHub takes an installation token as the password of `x-access-token`. */
export async function gitAuthorization(
  mintToken: MintToken,
  { installation, id }: RepositoryRef,
): Promise<string> {
  // A cached token may have less than a minute left, and git cannot ask for another in the middle of a fetch of ten.
  const scope = { repositoryIds: [id], permissions: readingPermissions, renew: true };
  const token = await mintToken(installation, scope);
  return `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
}
