import nock from "nock";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { createGitHubClient, type GitHubClientOptions } from "../../src/github/client.ts";
import { createPacing } from "../../src/github/pacing.ts";
import { createPullRequestApi } from "../../src/github/pull-request-client.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { anywhere } from "../support/reach.ts";

export const host = "https://api.github.test";
export const app = { id: 4711, slug: "hunkwise" };
export const bot = { login: "hunkwise[bot]", type: "Bot" };

// Loading nock takes over the network of the process, which other files share.
nock.restore();

/** Every test that calls this fails on a request that nobody expected, and on an expected one that never came. */
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
  });
  afterEach(() => {
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
