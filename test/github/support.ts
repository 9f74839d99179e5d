import nock from "nock";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { createGitHubClient, type GitHubClientOptions } from "../../src/github/client.ts";
import { type Clock, createPacing } from "../../src/github/pacing.ts";
import { createPullRequestApi } from "../../src/github/pull-request-client.ts";
import { anywhere } from "../support/reach.ts";

export const host = "https://api.github.test";
export const app = { id: 4711, slug: "hunkwise" };
export const bot = { login: "hunkwise[bot]", type: "Bot" };

/** A clock that moves by sleeping alone, and remembers every nap. */
export interface FakeClock extends Clock {
  naps: number[];
}

export function fakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let now = start;
  const naps: number[] = [];
  return {
    naps,
    now: () => now,
    async sleep(milliseconds, signal) {
      signal?.throwIfAborted();
      naps.push(milliseconds);
      now += milliseconds;
    },
  };
}

/** Every test that calls this fails on a request that nobody expected, and on an expected one that never came. */
export function useNock(): void {
  const unexpected: string[] = [];
  const note = (request: { method?: string; path?: string; url?: string }) =>
    unexpected.push(`${request.method} ${request.url ?? request.path}`);
  beforeAll(() => {
    nock.disableNetConnect();
    nock.emitter.on("no match", note);
  });
  beforeEach(() => {
    unexpected.length = 0;
  });
  afterEach(() => {
    const pending = nock.pendingMocks();
    nock.cleanAll();
    nock.abortPendingRequests();
    expect({ unexpected, pending }).toEqual({ unexpected: [], pending: [] });
  });
  afterAll(() => {
    nock.emitter.removeListener("no match", note);
    nock.restore();
    nock.activate();
  });
}

export function clientFor(over: Partial<GitHubClientOptions> = {}) {
  const clock = fakeClock();
  const client = createGitHubClient({
    baseUrl: host,
    reach: anywhere,
    token: async () => "ghs_secret",
    userAgent: "hunkwise-test",
    pacing: createPacing(over.clock ?? clock),
    clock,
    ...over,
  });
  return { client, clock };
}

export function apiFor(over: Partial<GitHubClientOptions> = {}) {
  const { client, clock } = clientFor(over);
  return {
    clock,
    api: createPullRequestApi({ client, writing: client, owner: "octo", repo: "shop", pull: 7, app }),
  };
}

/** What a promise rejects with, as far as callers branch on it. */
export async function failure(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error("it did not reject");
  return error as Error & { code: string; retryable: boolean; retryAfterMs?: number; remedy?: string };
}
