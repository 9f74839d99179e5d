import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../errors.ts";
import { notGranted } from "../github/errors.ts";

/** The repositories that a token reaches: by id, or by name where only that is known; left out, all of the installation. */
export type Repositories =
  | { repositoryIds?: readonly number[]; repositoryNames?: never }
  | { repositoryNames: readonly string[]; repositoryIds?: never };

export type Permissions = Readonly<Record<string, "read" | "write">>;

/** Mints a token of an installation. */
export type MintToken = (
  installation: number,
  scope: Repositories & {
    /** Each must have been granted: GitHub refuses the whole token where one was not (`github_invalid`). */
    permissions: Permissions;
    /** One that is no cached copy. */
    renew?: boolean;
    /** For the caller alone: it is nobody else's copy either. */
    own?: boolean;
  },
) => Promise<string>;

/** What an installation grants the App, by permission. */
export type Granted = (installation: number) => Promise<Readonly<Record<string, string>>>;

/** A token for one repository; `renew` asks for one that is no cached copy. */
export type Token = (installation: number, repositoryId: number, renew: boolean) => Promise<string>;

/** For so long it is believed what was granted and what was not: an owner may have changed it meanwhile. */
const beliefMs = 3_600_000;

export const isRefused = (error: unknown) => error instanceof AppError && error.code === "github_invalid";

/**
 * Mints tokens that can do what is wished, and where that was not all granted, what of it was: never more than the wish. Rejects
 * with `github_invalid` where GitHub refuses that as well.
 */
export function createLeastTokens(
  wish: Permissions,
  { mintToken, granted, now }: { mintToken: MintToken; granted: Granted; now: () => number },
) {
  /** By installation, what it grants of the wish, where that is less. */
  const lesser = new Map<number, { permissions: Permissions; until: number }>();
  return async (installation: number, scope: Repositories & { renew: boolean }): Promise<string> => {
    const known = lesser.get(installation);
    const permissions = known && now() < known.until ? known.permissions : wish;
    try {
      return await mintToken(installation, { ...scope, permissions });
    } catch (error) {
      if (!isRefused(error)) throw error;
      const least = grantedOf(wish, await granted(installation));
      // It is not for the permissions, then.
      if (samePermissions(least, permissions)) throw error;
      lesser.set(installation, { permissions: least, until: now() + beliefMs });
      return mintToken(installation, { ...scope, permissions: least });
    }
  };
}

/** Never empty: a token for which no permission is named has all that there are. */
function grantedOf(wish: Permissions, granted: Readonly<Record<string, string>>): Permissions {
  const both = Object.entries(wish).flatMap(([name, access]): [string, "read" | "write"][] => {
    const given = granted[name];
    if (given === "write" || given === "admin") return [[name, access]];
    return given === "read" ? [[name, "read"]] : [];
  });
  return both.length > 0 ? Object.fromEntries(both) : { metadata: "read" };
}

/** Of two that were made from one wish. */
const samePermissions = (one: Permissions, other: Permissions) =>
  JSON.stringify(one) === JSON.stringify(other);

/** What resolving a thread and proposing a file take, and nothing else has. */
const writing = { contents: "write", pull_requests: "write" } as const;

/** How long a job waits at its end for its tokens to be forgotten. */
const endingMs = 5_000;

export interface WritingTokens {
  /** Minted when it is first asked for. Rejects with `github_forbidden` where that was not granted. */
  token: Token;
  /** Has GitHub forget all that were minted. Never rejects, and takes five seconds at most: what stays ends within its hour. */
  end(): Promise<void>;
}

/** Tokens that may write to a repository: each for one job alone, which many installations do not grant. */
export function createWritingTokens(options: {
  mintToken: MintToken;
  endToken: (token: string) => Promise<void>;
  granted: Granted;
  /** Milliseconds since 1970. */
  now: () => number;
}): { forJob(): WritingTokens } {
  const { mintToken, endToken, granted, now } = options;
  /** By installation, when it was refused. */
  const refusedAt = new Map<number, number>();
  const refusal = () => notGranted("Writing to the repository", "contents=write, pull_requests=write");
  const isGranted = async (installation: number) =>
    samePermissions(grantedOf(writing, await granted(installation)), writing);

  async function mint(installation: number, id: number): Promise<string> {
    if (now() - (refusedAt.get(installation) ?? Number.NEGATIVE_INFINITY) < beliefMs) throw refusal();
    try {
      return await mintToken(installation, { repositoryIds: [id], permissions: writing, own: true });
    } catch (error) {
      // Of a repository that is gone it says nothing about the others.
      if (!isRefused(error) || (await isGranted(installation))) throw error;
      refusedAt.set(installation, now());
      throw refusal();
    }
  }

  return {
    forJob() {
      /** The latest, by repository. */
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
