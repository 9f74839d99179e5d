import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../core/errors.ts";
import { notGranted } from "../../pull/github/errors.ts";

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

export const isRefused = (error: unknown) => error instanceof AppError && error.code === "github_invalid";

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

interface WritingTokens {
  /** Minted on first use. Rejects with `github_forbidden` if the permission was not granted. */
  token: Token;
  /** Revokes all minted tokens. Never rejects, and takes five seconds at most. */
  end(): Promise<void>;
}

/** Tokens that may write to a repository, each for one job only. Many installations do not grant them. */
export function createWritingTokens(options: {
  mintToken: MintToken;
  endToken: (token: string) => Promise<void>;
  granted: Granted;
  now: () => number;
}): { forJob(): WritingTokens } {
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
        async token(installation, id, renew) {
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
        async end() {
          const all = minted.map(async (token) => endToken(await token));
          await Promise.race([Promise.allSettled(all), sleep(endingMs, undefined, { ref: false })]);
        },
      };
    },
  };
}
