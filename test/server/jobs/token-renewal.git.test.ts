import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createLogger } from "../../../src/core/logger.ts";
import { publicText } from "../../../src/pull/publish/public-text.ts";
import type { MintToken } from "../../../src/server/jobs/github-access.ts";
import { createGitHubAccess, gitAuthorization } from "../../../src/server/jobs/github-access.ts";
import { createProbot, installationAuth } from "../../../src/server/webhooks/app-auth.ts";
import { createScenario, type Scenario } from "../../support/github-double/scenario.ts";

const minute = 60_000;

let scenario: Scenario;
let mintToken: MintToken;

beforeEach(async () => {
  // Both sides, and the library that keeps the tokens, look at this clock.
  vi.useFakeTimers({ toFake: ["Date"] });
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
  const { github, app, privateKey, webhookSecret } = scenario;
  const place = { host: github.host, protocol: "http", apiUrl: github.apiUrl, webUrl: github.url } as const;
  mintToken = installationAuth(
    createProbot({ id: app.id, privateKey, webhookSecret }, place, createLogger("fatal")),
  );
});
afterEach(async () => {
  vi.useRealTimers();
  await scenario.github.close();
});

const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);
const reference = () => ({
  ...{ installation: scenario.installation.id, id: scenario.repository.id },
  ...{ owner: "octo-org", name: "shop" },
});
const apiOf = (pull: number) => {
  const { github, app } = scenario;
  const access = createGitHubAccess({
    ...{ apiUrl: github.apiUrl, userAgent: "test", mintToken, granted: async () => ({}) },
    identity: async () => app,
  });
  return access.openJob().pull(reference(), pull, new AbortController().signal);
};
const minted = () => scenario.github.requests.filter(({ path }) => path.endsWith("/access_tokens")).length;
const refused = () => scenario.github.requests.filter(({ status }) => status === 401);

it("A job that takes longer than a token lives goes on with a fresh one before GitHub refuses the old one", async () => {
  const { pull } = scenario;
  const api = await apiOf(pull.number);
  for (let elapsed = 0; elapsed < 150; elapsed += 10) {
    await api.permissionOf("octocat");
    pass(10 * minute);
  }
  await api.createComment(publicText("Done after two and a half hours"));
  expect(pull.comments).toHaveLength(1);
  expect(refused()).toEqual([]);
  expect(minted()).toBe(3);
});

it("A job whose token was withdrawn gets another one", async () => {
  const { github, pull } = scenario;
  const api = await apiOf(pull.number);
  await api.ownComments();
  github.state.expireTokens();
  // All of them find it out at once.
  await Promise.all([api.ownReviews(), api.ownComments(), api.createComment(publicText("Done"))]);
  expect(pull.comments).toHaveLength(1);
});

it("A token for git lives for nearly an hour more, whenever a fetch begins", async () => {
  for (const wait of [0, 1, 30, 58, 59, 61]) {
    pass(wait * minute);
    const value = Buffer.from((await gitAuthorization(mintToken, reference())).split(" ")[1]!, "base64");
    const token = scenario.github.state.tokens.get(value.toString().split(":")[1]!);
    expect(token!.expiresAt.getTime() - Date.now()).toBeGreaterThan(59 * minute);
  }
});
