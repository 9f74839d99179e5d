import { createHash, randomBytes } from "node:crypto";
import { within } from "../core/async.ts";
import { AppError } from "../core/errors.ts";
import type { Logger } from "../core/logger.ts";
import type { SeenRepository, UserClient } from "../pull/github/user-client.ts";
import type { Viewer } from "./viewer.ts";

export type LiveSessions = ReturnType<typeof createLiveSessions>;

interface LiveSessionsOptions {
  client: Pick<UserClient, "repositories" | "revoke">;
  operators: ReadonlySet<number>;
  log: Pick<Logger, "info" | "warn">;
  now: () => number;
}

/** As long as GitHub's tokens: after that, a session could not ask GitHub any more. */
export const sessionMs = 8 * 3_600_000;
const freshMs = 2 * 60_000;
const longestMs = 5 * 60_000;
/** GitHub is not asked again for this long after it gave no answer: a person waits. */
const pauseMs = 15_000;
/** How long a page waits for GitHub while its last word counts. */
const patienceMs = 3_000;
/** GitHub itself ends the oldest token of a person beyond ten. The other limit is against many accounts of one stranger. */
const most = { perAccount: 10, inAll: 2_000 };

interface Live {
  account: number;
  login: string;
  token: string;
  expiresAt: number;
  /** What GitHub said last; `at` is when it was asked. */
  seen?: { at: number; repositories: readonly SeenRepository[] };
  /** Why GitHub has said nothing since. */
  failure?: { at: number; error: unknown } | undefined;
  looking?: Promise<void> | undefined;
}

const hashOf = (id: string) => createHash("sha256").update(id).digest("hex");

/** The sessions that this process began. They and their tokens are only here, so after a restart people log in again. */
export function createLiveSessions({ client, operators, log, now }: LiveSessionsOptions) {
  /** By the hash of the id; the one that was used longest ago is first. */
  const live = new Map<string, Live>();

  function find(id: string | undefined): [hash: string, session: Live] | undefined {
    // Strangers may send anything, and it costs them more than us.
    if (id === undefined || !/^[\w-]{43}$/.test(id)) return undefined;
    const hash = hashOf(id);
    const session = live.get(hash);
    return session && [hash, session];
  }

  function makeRoom(account: number): void {
    const all = [...live];
    const own = all.filter(([, session]) => session.account === account);
    const doomed = [
      ...all.filter(([, { expiresAt }]) => expiresAt <= now()),
      ...own.slice(0, Math.max(0, own.length + 1 - most.perAccount)),
      ...all.slice(0, Math.max(0, all.length + 1 - most.inAll)),
    ];
    for (const [hash] of doomed) live.delete(hash);
  }

  async function look(hash: string, session: Live): Promise<void> {
    const at = now();
    try {
      session.seen = { at, repositories: await client.repositories(session.token) };
      session.failure = undefined;
    } catch (error) {
      if (isOver(error)) return void live.delete(hash);
      session.failure = { at: now(), error };
      log.warn({ err: error }, "GitHub does not say what a person may see");
    }
  }

  async function freshen(hash: string, session: Live): Promise<void> {
    const { seen, failure } = session;
    if (seen && now() - seen.at < freshMs) return;
    if (failure && now() - failure.at < pauseMs) return;
    session.looking ??= look(hash, session).finally(() => {
      session.looking = undefined;
    });
    if (seen && now() - seen.at < longestMs) await within(patienceMs, session.looking, () => {});
    else await session.looking;
  }

  return {
    /** Begins a session, always with a new id. Returns that id, which only the browser keeps. */
    start(token: string, { id: account, login }: { id: number; login: string }): string {
      makeRoom(account);
      const id = randomBytes(32).toString("base64url");
      live.set(hashOf(id), { account, login, token, expiresAt: now() + sessionMs });
      log.info({ account, login }, `${login} logged in`);
      return id;
    },

    /** What GitHub lets them see; null without a session. Rejects with an AppError if GitHub has not said that for longer than `longestMs`. */
    async viewer(id: string | undefined): Promise<Viewer | null> {
      const [hash, session] = find(id) ?? [];
      if (!hash || !session) return null;
      await freshen(hash, session);
      // Last, because the session may have ended meanwhile.
      if (!live.delete(hash) || session.expiresAt <= now()) return null;
      live.set(hash, session);
      const { account, login, seen, failure } = session;
      if (!seen || now() - seen.at >= longestMs) throw failure?.error ?? new Error("GitHub was not asked");
      return { account, login, isOperator: operators.has(account), repositories: seen.repositories };
    },

    end(id: string | undefined): void {
      const [hash, session] = find(id) ?? [];
      if (!hash || !session) return;
      live.delete(hash);
      log.info({ account: session.account, login: session.login }, `${session.login} logged out`);
      // Nobody waits for it: the token is forgotten here, and ends by itself within eight hours.
      client.revoke(session.token).catch((error: unknown) => {
        log.warn({ err: error }, "The token of a person who logged out could not be revoked");
      });
    },

    endAllOf(account: number): void {
      for (const [hash, session] of live) if (session.account === account) live.delete(hash);
    },
  };
}

/** GitHub refuses the token itself: it was revoked, or the account is suspended. */
const isOver = (error: unknown) =>
  error instanceof AppError &&
  ["github_unauthorized", "github_forbidden", "github_not_found"].includes(error.code);
