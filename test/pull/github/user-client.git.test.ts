import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { holdsLiveSecret, registerSecret } from "../../../src/core/secrets/live-secrets.ts";
import { createUserClient, type UserClient } from "../../../src/pull/github/user-client.ts";
import { createScenario, type Scenario } from "../../support/github-double/scenario.ts";

const verifier = "v".repeat(43);
let scenario: Scenario;
let client: UserClient;
let clientSecret: string;

beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
  const { github, app } = scenario;
  const login = github.state.enableLogin(app, "https://hunkwise.test/login/callback");
  clientSecret = login.clientSecret;
  github.state.visitor = github.state.account("octocat");
  // As `serve` does: nothing that is sent may contain it, except what logs a person in.
  registerSecret(clientSecret, { keep: true });
  client = clientWith(login);
});
afterAll(async () => {
  expect(scenario.github.violations).toEqual([]);
  await scenario.github.close();
});

const clientWith = (login: { clientId: string; clientSecret: string }) =>
  createUserClient({
    ...{ login, appId: scenario.app.id, userAgent: "hunkwise/test" },
    github: { apiUrl: scenario.github.apiUrl, webUrl: scenario.github.url },
  });

async function code(): Promise<string> {
  const address = client.authorizeUrl("state", verifier);
  const body = new URLSearchParams({ decision: "authorize" });
  const back = await fetch(address, { method: "POST", redirect: "manual", body });
  return new URL(back.headers.get("location") ?? "").searchParams.get("code") ?? "";
}
const token = async () => client.exchange(await code(), verifier);

describe("The address for a log-in", () => {
  it("The address has the challenge and never the verifier, and no callback of ours", () => {
    const { searchParams } = new URL(client.authorizeUrl("a b&c", verifier));
    expect(Object.fromEntries(searchParams)).toEqual({
      client_id: scenario.app.oauth?.clientId,
      state: "a b&c",
      // The example of RFC 7636 is below.
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
    });
    const ofRfc = new URL(client.authorizeUrl("s", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"));
    expect(ofRfc.searchParams.get("code_challenge")).toBe("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
  });
});

describe("The exchange of a code", () => {
  it("The exchange gets a token, which is registered as a secret", async () => {
    const value = await token();
    expect(value).toMatch(/^ghu_/);
    expect(holdsLiveSecret(`x ${value} x`)).toBe(true);
    expect(await client.account(value)).toEqual({
      id: scenario.github.state.account("octocat").id,
      login: "octocat",
    });
  });

  it("The exchange refuses a used code and another verifier", async () => {
    const used = await code();
    await client.exchange(used, verifier);
    const refused = { code: "github_invalid", message: expect.stringContaining("bad_verification_code") };
    await expect(client.exchange(used, verifier)).rejects.toMatchObject(refused);
    await expect(client.exchange(await code(), "w".repeat(43))).rejects.toMatchObject(refused);
  });

  it("The exchange names the variables of wrong credentials, and not their values", async () => {
    const wrong = clientWith({ clientId: scenario.app.oauth?.clientId ?? "", clientSecret: "f".repeat(40) });
    await expect(wrong.exchange(await code(), verifier)).rejects.toMatchObject({
      code: "github_unauthorized",
      remedy: "Check GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET",
      message: expect.not.stringContaining("ffff"),
    });
  });

  it.each([
    ["a page", { status: 200, body: "<html>" }],
    [
      "a token with a line feed",
      { status: 200, body: { access_token: "ghu_1\nx: y", token_type: "bearer" } },
    ],
    ["an error", { status: 500, body: { message: "No" } }],
  ])("The exchange does not accept %s as a token", async (_, answer) => {
    const { faults } = scenario.github;
    faults.add({ match: /access_token$/, kind: { answer } });
    await expect(client.exchange(await code(), verifier)).rejects.toMatchObject({ code: "github_failed" });
    faults.clear();
  });

  it("The exchange sends no secret but the App's own", async () => {
    const foreign = "kkkkJ8s7dKq2Lm9Xw4Zt6Yb1";
    registerSecret(foreign, { keep: true });
    await expect(client.exchange(foreign, verifier)).rejects.toThrow("would have received a secret");
  });
});

describe("The repositories that a person sees", () => {
  it("A person sees this App's installations that are not suspended, and closed ones as empty", async () => {
    const { github, people, app, repository, installation } = scenario;
    const ownOne = people.createRepository("octocat/own", { "a.txt": "a\n" });
    const second = github.state.install(app, [ownOne]);
    const value = await token();
    const own = {
      ...{ id: ownOne.id, installation: second.id, owner: "octocat", name: "own", mayWrite: true },
    };
    const shop = {
      ...{
        id: repository.id,
        installation: installation.id,
        owner: "octo-org",
        name: "shop",
        mayWrite: true,
      },
    };
    expect(await client.repositories(value)).toEqual([shop, own]);
    repository.collaborators.set("octocat", "triage");
    expect(await client.repositories(value)).toEqual([{ ...shop, mayWrite: false }, own]);
    for (const status of [403, 404]) {
      const message = "Resource protected by organization SAML enforcement.";
      const closed = { answer: { status, body: { message } } };
      github.faults.add({ match: new RegExp(`/${installation.id}/repositories$`), kind: closed });
      expect(await client.repositories(value)).toEqual([own]);
    }
    second.suspendedAt = new Date();
    expect(await client.repositories(value)).toEqual([{ ...shop, mayWrite: false }]);
  });

  it.each([
    ["GitHub's limit", { secondaryLimit: 403 } as const, "github_rate_limited"],
    ["a broken connection", "reset-before" as const, "github_failed"],
    ["half an answer", "truncated" as const, "github_failed"],
  ])("The repositories are unknown, and not empty, after %s", async (_, kind, expected) => {
    const value = await token();
    scenario.github.faults.add({ match: /\/repositories$/, kind });
    await expect(client.repositories(value)).rejects.toMatchObject({ code: expected });
    scenario.github.faults.clear();
  });

  it("The repositories are unknown to a token that was revoked", async () => {
    const value = await token();
    await client.revoke(value);
    const gone = { code: "github_unauthorized" };
    await expect(client.repositories(value)).rejects.toMatchObject(gone);
    await expect(client.account(value)).rejects.toMatchObject(gone);
    await expect(client.revoke(value)).rejects.toMatchObject({ code: "github_not_found" });
  });
});
