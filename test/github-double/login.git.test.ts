import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { revokeAuthorization } from "../support/github-double/login.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

const callback = "https://hunkwise.test/login/callback";
const verifier = "v".repeat(43);
const challenge = createHash("sha256").update(verifier).digest("base64url");
let scenario: Scenario;
let client: { clientId: string; clientSecret: string };

beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
  client = scenario.github.state.enableLogin(scenario.app, callback);
  scenario.github.state.visitor = scenario.github.state.account("octocat");
});
afterAll(() => scenario.github.close());

const ask = (query: Record<string, string>) =>
  `${scenario.github.url}/login/oauth/authorize?${new URLSearchParams({ client_id: client.clientId, ...query })}`;

async function authorized(
  query: Record<string, string> = { code_challenge: challenge, code_challenge_method: "S256" },
  decision = "authorize",
): Promise<URL> {
  const response = await fetch(ask({ state: "s", ...query }), {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams({ decision }),
  });
  return new URL(response.headers.get("location") ?? "");
}

async function exchange(body: Record<string, unknown>) {
  const response = await fetch(`${scenario.github.url}/login/oauth/access_token`, {
    method: "POST",
    headers: { accept: "application/json", "content-type": "application/json" },
    body: JSON.stringify({ client_id: client.clientId, client_secret: client.clientSecret, ...body }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

const token = async () => {
  const code = (await authorized()).searchParams.get("code");
  return String((await exchange({ code, code_verifier: verifier })).body.access_token);
};

describe("the page on which a person authorizes an App", () => {
  it("asks the first time, and then sends the browser on with a code and the state", async () => {
    const page = await (await fetch(ask({ state: "s" }))).text();
    expect(page).toContain("Authorize Hunkwise");
    const back = await authorized();
    expect(back.href).toMatch(/^https:\/\/hunkwise\.test\/login\/callback\?code=[0-9a-f]{20}&state=s$/);
    const again = await fetch(ask({ state: "t" }), { redirect: "manual" });
    expect([again.status, again.headers.get("location")]).toEqual([302, expect.stringMatching(/&state=t$/)]);
  });

  it("sends back who cancels, and who names another place, without a code", async () => {
    expect((await authorized({}, "cancel")).searchParams.get("error")).toBe("access_denied");
    const elsewhere = await fetch(ask({ redirect_uri: "https://evil.test/" }), { redirect: "manual" });
    expect(elsewhere.headers.get("location")).toMatch(/^https:\/\/hunkwise\.test\/.*redirect_uri_mismatch/);
  });

  it("is not shown to a browser without an account, nor for an unknown App", async () => {
    const { state } = scenario.github;
    expect((await fetch(ask({ client_id: "Iv1.unknown" }))).status).toBe(404);
    state.visitor = null;
    expect((await fetch(ask({}), { redirect: "manual" })).headers.get("location")).toContain("/login?");
    state.visitor = state.account("octocat");
  });
});

describe("a code", () => {
  it("is exchanged once, by its App, with the verifier of its challenge", async () => {
    const code = async () => (await authorized()).searchParams.get("code");
    const bad = { status: 200, body: expect.objectContaining({ error: "bad_verification_code" }) };
    expect(await exchange({ code: await code(), code_verifier: "another" })).toEqual(bad);
    expect(await exchange({ code: await code() })).toEqual(bad);
    const one = await code();
    const good = await exchange({ code: one, code_verifier: verifier });
    expect(good.body).toMatchObject({ token_type: "bearer", access_token: expect.stringMatching(/^ghu_/) });
    expect(await exchange({ code: one, code_verifier: verifier })).toEqual(bad);
    expect(await exchange({ code: await code(), client_secret: "no", code_verifier: verifier })).toEqual({
      status: 200,
      body: expect.objectContaining({ error: "incorrect_client_credentials" }),
    });
  });
});

describe("a user token", () => {
  it("shows who it is of, and the repositories that person and App share, with what the person may do", async () => {
    const { github, people, installation, repository } = scenario;
    const hidden = people.createRepository("octo-org/hidden", { "a.txt": "a\n" });
    installation.repositories.push(hidden);
    const call = clientOf(github, await token());
    expect((await call("GET /user")).body).toMatchObject({ login: "octocat" });
    expect((await call("GET /user/installations")).body).toMatchObject({
      total_count: 1,
      installations: [{ id: installation.id, app_id: scenario.app.id }],
    });
    const path = `GET /user/installations/${installation.id}/repositories`;
    expect((await call(path)).body).toMatchObject({
      total_count: 1,
      repositories: [{ id: repository.id, permissions: { push: true, admin: false } }],
    });
    people.addCollaborator(hidden, "octocat", "triage");
    expect((await call(path)).body.repositories[1]).toMatchObject({
      id: hidden.id,
      permissions: { push: false, triage: true, pull: true },
    });
    expect((await call("GET /user/installations/1/repositories")).status).toBe(404);
  });

  it("ends when its App or its person ends it", async () => {
    const { github, app } = scenario;
    const [one, other] = [await token(), await token()];
    const basic = `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString("base64")}`;
    const end = (value: string) =>
      clientOf(github, "")(
        `DELETE /applications/${client.clientId}/token`,
        { access_token: value },
        { authorization: basic },
      );
    expect((await end(one)).status).toBe(204);
    expect((await end(one)).status).toBe(404);
    expect((await clientOf(github, one)("GET /user")).status).toBe(401);
    expect((await clientOf(github, other)("GET /user")).status).toBe(200);
    expect(revokeAuthorization(github.state, app, github.state.account("octocat"))).toMatchObject({
      action: "revoked",
      sender: { login: "octocat" },
    });
    expect((await clientOf(github, other)("GET /user")).status).toBe(401);
  });
});
