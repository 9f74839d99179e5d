import {
  artifactsReach,
  filesReach,
  noOwnIds,
  type OwnIds,
  proposingReach,
  pullReach,
  type Reach,
  type RepositoryPath,
  repositoryReach,
  resolvingReach,
} from "../github/allowlist.ts";
import { createArtifactApi } from "../github/artifact-client.ts";
import { type BeforeWrite, createGitHubClient, type GitHubClient } from "../github/client.ts";
import { notGranted } from "../github/errors.ts";
import type { AppIdentity } from "../github/own-text.ts";
import { createPullRequestApi } from "../github/pull-request-client.ts";
import { createRateLimiter, type RateLimiter, type RateLimitSeen } from "../github/rate-limit.ts";
import { createRepositoryApi, createRepositoryWriter, readFile } from "../github/repository-client.ts";
import { endToken } from "../github/transport.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { Pushing } from "./job-dependencies.ts";
import type { JobGitHub } from "./per-job.ts";
import {
  createLeastTokens,
  createWritingTokens,
  type Granted,
  isRefused,
  type MintToken,
  type Token,
} from "./tokens.ts";

/** Permissions to publish, and to read what a reviewer sees besides the change; app.yml explains each. */
const publishing = {
  contents: "read",
  pull_requests: "write",
  checks: "write",
  issues: "read",
  statuses: "read",
} as const;
const reading = { contents: "read" } as const;
/** For the results of workflows. Only asked for where a configuration names a workflow: few installations grant it. */
const readingArtifacts = { actions: "read" } as const;

interface GitHubAccessOptions {
  /** Root of the REST API. */
  apiUrl: string;
  userAgent: string;
  mintToken: MintToken;
  granted: Granted;
  /** Our identity, to tell our own comments from others'. */
  identity: () => Promise<AppIdentity>;
  /** The rate limiter of this process. Default: one for these jobs only. */
  rateLimiter?: RateLimiter;
  /** Called with the rate limits that responses report. */
  onRateLimit?: (seen: RateLimitSeen & { installation: number }) => void;
  /** Milliseconds since 1970. Default: the machine's clock. */
  now?: () => number;
}

/** The repository of an account with the settings for all of its repositories. */
const organizationRepository = ".github";

/**
 * GitHub's API for jobs: a token for each repository, and one pacing for each installation. Each job can change only the repository and
 * the pull request that it is about.
 */
export function createGitHubAccess(options: GitHubAccessOptions): { openJob(): JobGitHub } {
  const { apiUrl, userAgent, mintToken, granted, now = Date.now } = options;
  const clientFor = clientsOf(options);
  const tokens: Tokens = {
    api: ofOne(createLeastTokens(publishing, { ...options, now })),
    organization: () => organizationToken(mintToken),
    artifacts: artifactsToken(mintToken),
  };
  const writing = createWritingTokens({
    ...{ mintToken, granted, now },
    endToken: (token) => endToken(token, { apiUrl, userAgent }),
  });
  return {
    openJob() {
      const { token, end } = writing.forJob();
      return { ...accessOf({ ...options, clientFor, own: noOwnIds() }, { ...tokens, writing: token }), end };
    },
  };
}

interface TokenAccessOptions
  extends Pick<GitHubAccessOptions, "apiUrl" | "userAgent" | "identity" | "rateLimiter"> {
  /** Reaches one repository. What it may do there is unknown until GitHub refuses something. */
  token: string;
  /** Reads the organisation's repository `.github`. Left out: `token` does. */
  organizationToken?: string;
}

/** The same with one token that somebody else made, such as the one of a job in GitHub Actions. It is never revoked. */
export function createTokenAccess(options: TokenAccessOptions): { openJob(): JobGitHub } {
  const clientFor = clientsOf(options);
  const token: Token = async () => options.token;
  const organization: Token = async () => options.organizationToken ?? options.token;
  return {
    openJob: () => ({
      ...accessOf(
        { ...options, clientFor, own: noOwnIds() },
        { api: token, writing: token, organization: () => organization },
      ),
      end: async () => {},
    }),
  };
}

interface Tokens {
  /** For the requests that every job makes. */
  api: Token;
  organization(): Token;
  /** Left out if artifacts are not read. */
  artifacts?: Token;
}

interface Job extends Pick<GitHubAccessOptions, "apiUrl" | "userAgent"> {
  identity: () => Promise<AppIdentity>;
  clientFor: ClientFor;
  own: OwnIds;
}

function accessOf(
  { identity, clientFor, own, apiUrl, userAgent }: Job,
  tokens: Tokens & { writing: Token },
): Omit<JobGitHub, "end"> {
  const { artifacts: token } = tokens;
  return {
    ...(token && {
      artifacts(repository, signal) {
        const place = placeOf(repository);
        const client = clientFor({ reach: artifactsReach(place), token, repository, signal });
        return createArtifactApi({ client, ...place, apiUrl, userAgent, signal });
      },
    }),
    async repository(repository, signal, beforeWrite) {
      const [place, app] = [placeOf(repository), await identity()];
      const reach = repositoryReach(place, app, own);
      const client = clientFor({ reach, token: tokens.api, repository, signal, beforeWrite });
      return createRepositoryApi({ client, ...place, app });
    },
    async pull(repository, pull, signal, beforeWrite) {
      const [place, app] = [placeOf(repository), await identity()];
      const how = { repository, signal, beforeWrite };
      const client = clientFor({ ...how, reach: pullReach(place, pull, app, own), token: tokens.api });
      const writing = clientFor({ ...how, reach: resolvingReach(own), token: tokens.writing });
      return createPullRequestApi({ client, writing, ...place, app, pull });
    },
    async writer(repository, signal, beforeWrite) {
      const place = placeOf(repository);
      const how = { repository, signal, beforeWrite, token: tokens.writing };
      return createRepositoryWriter({
        client: clientFor({ ...how, reach: proposingReach(place) }),
        ...place,
      });
    },
    async pushing(repository, _signal, beforeWrite) {
      const { slug } = await identity();
      return {
        author: authorOf(`${slug}[bot]`, own),
        async authorization() {
          const token = await tokens.writing(repository.installation, repository.id, false);
          await beforeWrite?.();
          return basic(token);
        },
      };
    },
    defaultBranch(repository, signal) {
      const place = placeOf(repository);
      const client = clientFor({ reach: filesReach(place), token: tokens.api, repository, signal });
      return async (path) => (await readFile(client, place, path))?.text;
    },
    async organization(repository, signal) {
      const there = { owner: repository.owner, repo: organizationRepository };
      const reach = filesReach({ ...there, id: null });
      const client = clientFor({ reach, token: tokens.organization(), repository, signal });
      return async (path) => (await readFile(client, there, path))?.text;
    },
  };
}

/** GitHub attributes a commit to an account by this address, which begins with the account's id; without the id, only by the name. */
function authorOf(login: string, { accounts }: OwnIds): Pushing["author"] {
  const [id] = accounts;
  return { name: login, email: `${id === undefined ? "" : `${id}+`}${login}@users.noreply.github.com` };
}

const placeOf = ({ owner, name, id }: RepositoryRef): RepositoryPath => ({ owner, repo: name, id });

type ClientFor = (one: {
  reach: Reach;
  token: Token;
  repository: RepositoryRef;
  signal: AbortSignal;
  beforeWrite?: BeforeWrite | undefined;
}) => GitHubClient;

function clientsOf(
  options: Pick<GitHubAccessOptions, "apiUrl" | "userAgent" | "rateLimiter" | "onRateLimit">,
): ClientFor {
  const { apiUrl: baseUrl, userAgent, rateLimiter = createRateLimiter(), onRateLimit } = options;
  return ({ reach, token, repository: { installation, id }, signal, beforeWrite }) =>
    createGitHubClient({
      ...{ baseUrl, userAgent, reach, signal, beforeWrite },
      limits: rateLimiter(installation),
      token: ({ renew }) => token(installation, id, renew),
      onRateLimit: (seen) => onRateLimit?.({ installation, ...seen }),
    });
}

/** Bound to one repository. */
const ofOne =
  (least: ReturnType<typeof createLeastTokens>): Token =>
  (installation, id, renew) =>
    least(installation, { repositoryIds: [id], renew });

/**
 * The token for the organisation's repository. GitHub refuses it if the App is not installed there or the repository does not exist. Then
 * any token can read it if it is public.
 */
function organizationToken(mintToken: MintToken): Token {
  let isClosed = false;
  const any: Token = (installation, id, renew) =>
    mintToken(installation, { repositoryIds: [id], permissions: reading, renew });
  return async (installation, id, renew) => {
    if (isClosed) return any(installation, id, renew);
    const repositoryNames = [organizationRepository];
    try {
      return await mintToken(installation, { repositoryNames, permissions: reading, renew });
    } catch (error) {
      if (!isRefused(error)) throw error;
      isClosed = true;
      return any(installation, id, renew);
    }
  };
}

/** Rejects with `github_forbidden` if the permission is not granted. */
const artifactsToken =
  (mintToken: MintToken): Token =>
  async (installation, id, renew) => {
    try {
      return await mintToken(installation, { repositoryIds: [id], permissions: readingArtifacts, renew });
    } catch (error) {
      if (isRefused(error)) throw notGranted("Reading the results of workflows", "actions=read");
      throw error;
    }
  };

/** The Authorization header for git over HTTP: GitHub accepts an installation token as the password of `x-access-token`. */
export async function gitAuthorization(
  mintToken: MintToken,
  { installation, id }: RepositoryRef,
): Promise<string> {
  // A cached token may have less than a minute left, and git cannot ask for another during a fetch of ten minutes.
  const scope = { repositoryIds: [id], permissions: reading, renew: true };
  return basic(await mintToken(installation, scope));
}

export const basic = (token: string): string =>
  `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`;
