import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../core/errors.ts";
import {
  appReach,
  artifactsReach,
  filesReach,
  lookingReach,
  noOwnIds,
  type OwnIds,
  proposingReach,
  pullReach,
  type Reach,
  type RepositoryPath,
  repositoryReach,
  resolvingReach,
} from "../../pull/github/allowlist.ts";
import { createAppApi, createInstallationApi } from "../../pull/github/app-client.ts";
import { createArtifactApi } from "../../pull/github/artifact-client.ts";
import {
  type BeforeWrite,
  createGitHubClient,
  type GitHubClient,
  type GitHubClientOptions,
} from "../../pull/github/client.ts";
import { notGranted } from "../../pull/github/errors.ts";
import type { AppIdentity } from "../../pull/github/own-text.ts";
import type { ReadFile } from "../../pull/github/pull-request-api.ts";
import { createPullRequestApi } from "../../pull/github/pull-request-client.ts";
import { createRateLimiter, type RateLimiter, type RateLimitSeen } from "../../pull/github/rate-limit.ts";
import {
  createRepositoryApi,
  createRepositoryWriter,
  readFile,
} from "../../pull/github/repository-client.ts";
import { endToken } from "../../pull/github/transport.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { AppAccess, OpenJob, Pushing } from "./job-dependencies.ts";

const publishing = {
  contents: "read",
  pull_requests: "write",
  checks: "write",
  issues: "read",
  statuses: "read",
} as const;
const reading = { contents: "read" } as const;
/** Only asked for where a configuration names a workflow: few installations grant it. */
const readingArtifacts = { actions: "read" } as const;

/** Permissions to look for missed events: nothing that can change anything. */
const looking = { pull_requests: "read", checks: "read" } as const;

interface ClientOptions {
  apiUrl: string;
  userAgent: string;
  /** Our identity, to tell our own comments from others'. */
  identity: () => Promise<AppIdentity>;
  /** The rate limiter of this process. Default: one for these jobs only. */
  rateLimiter?: RateLimiter;
  onRateLimit?: (seen: RateLimitSeen & { installation: number }) => void;
}

interface GitHubAccessOptions extends ClientOptions {
  mintToken: MintToken;
  granted: Granted;
  now?: () => number;
}

const organizationRepository = ".github";

interface JobGitHub extends ReturnType<OpenJob> {
  /** Reads the repository's default branch, for a page. */
  defaultBranch(repository: RepositoryRef, signal: AbortSignal): ReadFile;
}

type OpenJobGitHub = (beforeWrite?: BeforeWrite) => JobGitHub;

/** GitHub's API for jobs: a token for each repository, and one pacing for each installation. */
export function createGitHubAccess(options: GitHubAccessOptions): { openJob: OpenJobGitHub } {
  const { apiUrl, userAgent, mintToken, granted, now = Date.now } = options;
  const access = accessOf(options);
  const tokens: Omit<Tokens, "writing"> = {
    api: ofOne(createLeastTokens(publishing, { mintToken, granted, now })),
    organization: () => organizationToken(mintToken),
    artifacts: artifactsToken(mintToken),
  };
  const end = (token: string) => endToken(token, { apiUrl, userAgent });
  const writing = createWritingTokens({ mintToken, granted, now, endToken: end });
  return {
    openJob(beforeWrite) {
      const { token, end } = writing.forJob();
      return { ...access({ ...tokens, writing: token }, beforeWrite), end };
    },
  };
}

interface TokenAccessOptions extends ClientOptions {
  /** Reaches one repository. */
  token: string;
  /** Reads the organization's repository `.github`. Left out: `token` does. */
  organizationToken?: string;
}

/** The same with one token that somebody else made, such as the one of a job in GitHub Actions. It is never revoked. */
export function createTokenAccess(options: TokenAccessOptions): { openJob: OpenJobGitHub } {
  const token: Token = async () => options.token;
  const organization: Token = async () => options.organizationToken ?? options.token;
  const tokens: Tokens = { api: token, writing: token, organization: () => organization, artifacts: null };
  const access = accessOf(options);
  return { openJob: (beforeWrite) => ({ ...access(tokens, beforeWrite), end: async () => {} }) };
}

interface Tokens {
  api: Token;
  writing: Token;
  organization(): Token;
  /** Null if artifacts are not read. */
  artifacts: Token | null;
}

function accessOf(options: ClientOptions) {
  const { identity, apiUrl, userAgent } = options;
  const client = clientsOf(options);
  return (tokens: Tokens, beforeWrite?: BeforeWrite): Omit<JobGitHub, "end"> => {
    const own = noOwnIds();
    const clientFor = (reach: Reach, token: Token, of: RepositoryRef, signal: AbortSignal) => {
      const { installation, id } = of;
      const tokenOf = ({ renew }: { renew: boolean }) => token(installation, id, renew);
      return client(installation, { reach, signal, beforeWrite, token: tokenOf });
    };
    return {
      artifacts(repository, signal) {
        if (tokens.artifacts === null) return null;
        const place = placeOf(repository);
        const client = clientFor(artifactsReach(place), tokens.artifacts, repository, signal);
        return createArtifactApi({ client, ...place, apiUrl, userAgent, signal });
      },
      async repository(repository, signal) {
        const [place, app] = [placeOf(repository), await identity()];
        const client = clientFor(repositoryReach(place, app, own), tokens.api, repository, signal);
        return createRepositoryApi({ client, ...place, app });
      },
      async pull(repository, pull, signal) {
        const [place, app] = [placeOf(repository), await identity()];
        const client = clientFor(pullReach(place, pull, app, own), tokens.api, repository, signal);
        const writing = clientFor(resolvingReach(own), tokens.writing, repository, signal);
        return createPullRequestApi({ client, writing, ...place, app, pull });
      },
      async writer(repository, signal) {
        const place = placeOf(repository);
        const client = clientFor(proposingReach(place), tokens.writing, repository, signal);
        return createRepositoryWriter({ client, ...place });
      },
      async pushing({ installation, id }) {
        const { slug } = await identity();
        return {
          author: authorOf(`${slug}[bot]`, own),
          async authorization() {
            const token = await tokens.writing(installation, id, false);
            await beforeWrite?.();
            return basic(token);
          },
        };
      },
      defaultBranch(repository, signal) {
        const place = placeOf(repository);
        const client = clientFor(filesReach(place), tokens.api, repository, signal);
        return async (path) => (await readFile(client, place, path))?.text;
      },
      async organization(repository, signal) {
        const there = { owner: repository.owner, repo: organizationRepository };
        const reach = filesReach({ ...there, id: null });
        const client = clientFor(reach, tokens.organization(), repository, signal);
        return async (path) => (await readFile(client, there, path))?.text;
      },
    };
  };
}

interface AppAccessOptions extends GitHubAccessOptions {
  /** The App's own JSON web token; `renew` asks for one that is not cached. */
  appToken: GitHubClientOptions["token"];
}

const appItself = 0;

export function createAppAccess(options: AppAccessOptions): AppAccess {
  const { appToken, identity, mintToken, granted, now = Date.now } = options;
  const client = clientsOf(options);
  const lookingToken = createLeastTokens(looking, { mintToken, granted, now });
  return {
    app: (signal) => createAppApi(client(appItself, { reach: appReach, token: appToken, signal })),
    async installation(id, signal) {
      const token = (how: { renew: boolean }) => lookingToken(id, how);
      return createInstallationApi(client(id, { reach: lookingReach, token, signal }), await identity());
    },
  };
}

/** GitHub attributes a commit to an account by this address, which begins with the account's id. */
function authorOf(login: string, { accounts }: OwnIds): Pushing["author"] {
  const [id] = accounts;
  return { name: login, email: `${id === undefined ? "" : `${id}+`}${login}@users.noreply.github.com` };
}

const placeOf = ({ owner, name, id }: RepositoryRef): RepositoryPath => ({ owner, repo: name, id });

/** Makes clients, which share their limits if they are of one installation. */
function clientsOf({
  apiUrl: baseUrl,
  userAgent,
  rateLimiter = createRateLimiter(),
  onRateLimit,
}: ClientOptions) {
  type Options = Pick<GitHubClientOptions, "reach" | "token" | "signal" | "beforeWrite">;
  return (installation: number, options: Options): GitHubClient =>
    createGitHubClient({
      ...options,
      baseUrl,
      userAgent,
      limits: rateLimiter(installation),
      onRateLimit: (seen) => onRateLimit?.({ installation, ...seen }),
    });
}

const ofOne =
  (least: ReturnType<typeof createLeastTokens>): Token =>
  (installation, id, renew) =>
    least(installation, { repositoryIds: [id], renew });

/** GitHub refuses the token if the App is not installed there or the repository does not exist. Any token can read it if it is public. */
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

/** The repositories that a token reaches, by id or name. Default: all of the installation. */
type Repositories =
  | { repositoryIds?: readonly number[]; repositoryNames?: never }
  | { repositoryNames: readonly string[]; repositoryIds?: never };

export type Permissions = Readonly<Record<string, "read" | "write">>;

export type MintToken = (
  installation: number,
  scope: Repositories & {
    /** Each must be granted: GitHub refuses the whole token if one is not (`github_invalid`). */
    permissions: Permissions;
    /** Asks for a token that is not cached. */
    renew?: boolean;
    /** For this caller only: nobody else gets it from the cache. */
    own?: boolean;
  },
) => Promise<string>;

export type Granted = (installation: number) => Promise<Readonly<Record<string, string>>>;

/** A token for one repository; `renew` asks for one that is not cached. */
export type Token = (installation: number, repositoryId: number, renew: boolean) => Promise<string>;

/** How long a grant or a refusal is believed: an owner may change it meanwhile. */
const beliefMs = 3_600_000;

const isRefused = (error: unknown) => error instanceof AppError && error.code === "github_invalid";

/** Mints tokens with those of the wanted permissions that are granted. Rejects with `github_invalid` if GitHub refuses them. */
export function createLeastTokens(
  wish: Permissions,
  { mintToken, granted, now }: { mintToken: MintToken; granted: Granted; now: () => number },
) {
  /** By installation, the granted part of the wanted permissions if it is smaller. */
  const lesser = new Map<number, { permissions: Permissions; until: number }>();
  return async (installation: number, scope: Repositories & { renew: boolean }): Promise<string> => {
    const known = lesser.get(installation);
    const permissions = known && now() < known.until ? known.permissions : wish;
    try {
      return await mintToken(installation, { ...scope, permissions });
    } catch (error) {
      if (!isRefused(error)) throw error;
      const least = grantedOf(wish, await granted(installation));
      // Then the permissions are not the cause.
      if (samePermissions(least, permissions)) throw error;
      lesser.set(installation, { permissions: least, until: now() + beliefMs });
      return mintToken(installation, { ...scope, permissions: least });
    }
  };
}

/** Never empty: a token without named permissions gets all that exist. */
function grantedOf(wish: Permissions, granted: Readonly<Record<string, string>>): Permissions {
  const both = Object.entries(wish).flatMap(([name, access]): [string, "read" | "write"][] => {
    const given = granted[name];
    if (given === "write" || given === "admin") return [[name, access]];
    return given === "read" ? [[name, "read"]] : [];
  });
  return both.length > 0 ? Object.fromEntries(both) : { metadata: "read" };
}

const samePermissions = (one: Permissions, other: Permissions) =>
  JSON.stringify(one) === JSON.stringify(other);

/** The permissions to resolve a thread and to propose a file, which no other token has. */
const writing = { contents: "write", pull_requests: "write" } as const;

/** How long a job waits at its end for the revocation of its tokens. */
const endingMs = 5_000;

/** Tokens that may write to a repository, each for one job only. Many installations do not grant them. */
export function createWritingTokens(options: {
  mintToken: MintToken;
  endToken: (token: string) => Promise<void>;
  granted: Granted;
  now: () => number;
}) {
  const { mintToken, endToken, granted, now } = options;
  /** By installation, the time of the refusal. */
  const refusedAt = new Map<number, number>();
  const refusal = () => notGranted("Writing to the repository", "contents=write, pull_requests=write");
  const isGranted = async (installation: number) =>
    samePermissions(grantedOf(writing, await granted(installation)), writing);

  async function mint(installation: number, id: number): Promise<string> {
    if (now() - (refusedAt.get(installation) ?? Number.NEGATIVE_INFINITY) < beliefMs) throw refusal();
    try {
      return await mintToken(installation, { repositoryIds: [id], permissions: writing, own: true });
    } catch (error) {
      // A repository that is gone says nothing about the others.
      if (!isRefused(error) || (await isGranted(installation))) throw error;
      refusedAt.set(installation, now());
      throw refusal();
    }
  }

  return {
    forJob() {
      /** The latest token, by repository. */
      const latest = new Map<number, Promise<string>>();
      const minted: Promise<string>[] = [];
      return {
        /** Minted on first use. Rejects with `github_forbidden` if the permission was not granted. */
        async token(installation: number, id: number, renew: boolean): Promise<string> {
          const token = (renew ? undefined : latest.get(id)) ?? mint(installation, id);
          latest.set(id, token);
          if (!minted.includes(token)) minted.push(token);
          try {
            return await token;
          } catch (error) {
            latest.delete(id);
            throw error;
          }
        },
        /** Revokes all minted tokens. Never rejects, and takes five seconds at most. */
        async end(): Promise<void> {
          const all = minted.map(async (token) => endToken(await token));
          await Promise.race([Promise.allSettled(all), sleep(endingMs, undefined, { ref: false })]);
        },
      };
    },
  };
}
