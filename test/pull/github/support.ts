import nock from "nock";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { createGitHubClient, type GitHubClientOptions } from "../../../src/pull/github/client.ts";
import { createPullRequestApi } from "../../../src/pull/github/pull-request-client.ts";
import { createRateLimiter } from "../../../src/pull/github/rate-limit.ts";
import { anywhere } from "../../support/reach.ts";
import { SimulatedTime } from "../../support/simulated-time.ts";

export const host = "https://api.github.test";
export const app = { id: 4711, slug: "hunkwise" };
export const bot = { login: "hunkwise[bot]", type: "Bot" };

// Loading nock takes over the network of the process, which other files share.
nock.restore();

let time: SimulatedTime;
let end: PromiseWithResolvers<void>;

/**
 * Every test that calls this fails on a request that was not expected, and on an expected one that never came. A wait is over as
 * soon as nothing else happens.
 */
export function useNock(): void {
  const unexpected: string[] = [];
  const note = (request: { method?: string; path?: string; url?: string }) =>
    unexpected.push(`${request.method} ${request.url ?? request.path}`);
  beforeAll(() => {
    nock.activate();
    nock.disableNetConnect();
    nock.emitter.on("no match", note);
  });
  beforeEach(() => {
    unexpected.length = 0;
    time = new SimulatedTime(Date.UTC(2026, 0, 1), (input, init) => globalThis.fetch(input, init));
    end = Promise.withResolvers<void>();
    void time.runUntil(end.promise);
  });
  afterEach(() => {
    end.resolve();
    time[Symbol.dispose]();
    const pending = nock.pendingMocks();
    nock.cleanAll();
    nock.abortPendingRequests();
    expect({ unexpected, pending }).toEqual({ unexpected: [], pending: [] });
  });
  afterAll(() => {
    nock.emitter.removeListener("no match", note);
    nock.enableNetConnect();
    nock.restore();
  });
}

/** Seconds since it was called; the plugins take some milliseconds for themselves. */
export function stopwatch(): () => number {
  const start = Date.now();
  return () => Math.floor((Date.now() - start) / 100) / 10;
}

let installations = 0;
/** Of an installation of its own: the plugin keeps what it knows of one for the whole process, and time begins again with each test. */
export const newLimits = () => createRateLimiter()(++installations);

export function clientFor(over: Partial<GitHubClientOptions> = {}) {
  const waited = stopwatch();
  const client = createGitHubClient({
    baseUrl: host,
    reach: anywhere,
    token: async () => "ghs_secret",
    userAgent: "hunkwise-test",
    limits: newLimits(),
    fetch: time.fetch,
    ...over,
  });
  return { client, waited };
}

export function apiFor(over: Partial<GitHubClientOptions> = {}) {
  const { client, waited } = clientFor(over);
  return {
    waited,
    api: createPullRequestApi({ client, writing: client, owner: "octo", repo: "shop", pull: 7, app }),
  };
}
