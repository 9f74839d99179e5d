import { createSign } from "node:crypto";
import { Probot } from "probot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

let scenario: Scenario;
beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
});
afterAll(() => scenario.github.close());

const now = () => Math.floor(Date.now() / 1000);

function jwt(claims: Record<string, unknown>, options: { alg?: string; key?: string } = {}): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = `${part({ alg: options.alg ?? "RS256", typ: "JWT" })}.${part(claims)}`;
  const signature = createSign("RSA-SHA256")
    .update(signed)
    .sign(options.key ?? scenario.privateKey, "base64url");
  return `${signed}.${signature}`;
}

const jwtOfNow = () => jwt({ iat: now() - 30, exp: now() + 500, iss: scenario.app.id });

describe("an App's JSON web token", () => {
  const claims = (changes: object = {}) => ({
    iat: now() - 30,
    exp: now() + 500,
    iss: scenario.app.id,
    ...changes,
  });

  it("shows the App itself", async () => {
    const { status, body } = await clientOf(scenario.github, jwt(claims()))("GET /app");
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: scenario.app.id, slug: "hunkwise", installations_count: 1 });
  });

  it.each([
    ["that has ended", () => jwt(claims({ iat: now() - 700, exp: now() - 10 }))],
    ["that lasts longer than ten minutes", () => jwt(claims({ exp: now() + 700 }))],
    ["of the future", () => jwt(claims({ iat: now() + 100 }))],
    ["of an unknown App", () => jwt(claims({ iss: 1 }))],
    ["without RS256", () => jwt(claims(), { alg: "none" })],
    [
      "changed after it was signed",
      () =>
        jwt(claims()).replace(
          /\.[^.]+\./,
          `.${Buffer.from(JSON.stringify(claims({ exp: now() + 400 }))).toString("base64url")}.`,
        ),
    ],
  ])("%s is refused", async (_, token) => {
    const { status, body } = await clientOf(scenario.github, token())("GET /app");
    expect(status).toBe(401);
    expect(body.message).toMatch(/./);
  });

  it("does not do what a token does", async () => {
    const answer = await clientOf(scenario.github, jwt(claims()))("GET /repos/octo-org/shop");
    expect(answer.status).toBe(403);
  });

  it("gets tokens for some repositories and permissions, never for more than is installed", async () => {
    const call = clientOf(scenario.github, jwt(claims()));
    const path = `POST /app/installations/${scenario.installation.id}/access_tokens`;
    const narrow = await call(path, { repositories: ["shop"], permissions: { contents: "read" } });
    expect(narrow.status).toBe(201);
    expect(narrow.body).toMatchObject({
      permissions: { contents: "read" },
      repositories: [{ name: "shop" }],
    });
    const token = clientOf(scenario.github, narrow.body.token as string);
    expect((await token("GET /repos/octo-org/shop/contents/a.txt")).status).toBe(200);
    expect((await token("GET /repos/octo-org/shop/pulls/1")).status).toBe(403);
    expect((await call(path, { permissions: { contents: "write" } })).status).toBe(422);
    expect((await call(path, { repositories: ["other"] })).status).toBe(422);
    expect((await call("POST /app/installations/1/access_tokens")).status).toBe(404);
  });
});

describe("an installation token", () => {
  it.each([
    ["none", ""],
    ["a wrong one", "ghs_wrong"],
  ])("is asked for: %s gets 401", async (_, token) => {
    expect((await clientOf(scenario.github, token)("GET /repos/octo-org/shop")).status).toBe(401);
  });

  it("ends", async () => {
    const call = clientOf(scenario.github, scenario.installation);
    expect((await call("GET /repos/octo-org/shop")).status).toBe(200);
    scenario.github.state.expireTokens();
    expect((await call("GET /repos/octo-org/shop")).status).toBe(401);
  });

  it("ends when its holder has it revoked, and that alone", async () => {
    const { installation, github } = scenario;
    const call = clientOf(github, installation);
    const other = clientOf(github, installation);
    expect((await call("DELETE /installation/token")).status).toBe(204);
    expect((await call("GET /repos/octo-org/shop")).status).toBe(401);
    expect((await call("DELETE /installation/token")).status).toBe(401);
    expect((await other("GET /repos/octo-org/shop")).status).toBe(200);
  });

  it("that names no permission has all that were granted", async () => {
    const call = clientOf(scenario.github, jwtOfNow());
    const path = `POST /app/installations/${scenario.installation.id}/access_tokens`;
    for (const asked of [{}, { permissions: {} }])
      expect((await call(path, asked)).body.permissions).toMatchObject(scenario.installation.permissions);
  });

  it("sees its own repositories only", async () => {
    scenario.people.createRepository("octo-org/other", { "a.txt": "a\n" });
    const call = clientOf(scenario.github, scenario.installation);
    expect((await call("GET /repos/octo-org/other")).status).toBe(404);
  });

  it.each([
    ["POST /repos/octo-org/shop/pulls/1/reviews", { event: "COMMENT", body: "Hi." }, "pull_requests=write"],
    ["POST /repos/octo-org/shop/issues/1/comments", { body: "Hi." }, "issues=write; pull_requests=write"],
    ["POST /repos/octo-org/shop/check-runs", { name: "x", head_sha: "0".repeat(40) }, "checks=write"],
  ])("needs the permission for %s", async (endpoint, body, needed) => {
    const permissions = { contents: "read", pull_requests: "read", issues: "read", checks: "read" } as const;
    const token = scenario.github.state.issueToken(scenario.installation, { permissions });
    const answer = await clientOf(scenario.github, token)(endpoint, body);
    expect(answer.status).toBe(403);
    expect(answer.body.message).toBe("Resource not accessible by integration");
    expect(answer.headers.get("x-accepted-github-permissions")).toBe(needed);
  });

  it("is gone with its installation", async () => {
    const other = scenario.people.createRepository("octo-org/third", { "a.txt": "a\n" });
    const installation = scenario.github.state.install(scenario.app, [other]);
    const call = clientOf(scenario.github, installation);
    scenario.github.state.uninstall(installation);
    expect((await call("GET /repos/octo-org/third")).status).toBe(401);
  });
});

it("is GitHub to Probot's own client", async () => {
  const probot = new Probot({
    appId: scenario.app.id,
    privateKey: scenario.privateKey,
    baseUrl: scenario.github.apiUrl,
    logLevel: "fatal",
  });
  const octokit = await probot.auth(scenario.installation.id);
  const { data } = await octokit.rest.pulls.get({ owner: "octo-org", repo: "shop", pull_number: 1 });
  expect(data.head.sha).toBe(scenario.pull.heads[0]);
  const found = await (await probot.auth()).rest.apps.getRepoInstallation({
    owner: "octo-org",
    repo: "shop",
  });
  expect(found.data.id).toBe(scenario.installation.id);
});

it("exchanges a manifest's code once", async () => {
  const { state } = scenario.github;
  const conversion = {
    app: scenario.app,
    pem: scenario.privateKey,
    webhookSecret: "s",
    clientId: "i",
    clientSecret: "c",
  };
  state.manifestCodes.set("abc", conversion);
  const convert = () => fetch(`${scenario.github.apiUrl}/app-manifests/abc/conversions`, { method: "POST" });
  const first = await convert();
  expect(first.status).toBe(201);
  expect(await first.json()).toMatchObject({
    id: scenario.app.id,
    pem: scenario.privateKey,
    webhook_secret: "s",
  });
  expect((await convert()).status).toBe(404);
});
