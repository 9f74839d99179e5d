import { Probot } from "probot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { deliver } from "../support/github-double/deliver.ts";
import {
  installationPayload,
  installationRepositoriesPayload,
} from "../support/github-double/installation-payloads.ts";
import { pullRequestPayload } from "../support/github-double/payloads.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";

let scenario: Scenario;
let asApp: ReturnType<typeof clientOf>;

beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } });
  const { app, privateKey, github } = scenario;
  const probot = new Probot({ appId: app.id, privateKey, logLevel: "fatal", baseUrl: github.apiUrl });
  const { token } = (await (await probot.auth()).auth({ type: "app" })) as { token: string };
  asApp = clientOf(github, token);
});
afterAll(() => scenario.github.close());

describe("an App", () => {
  it("lists its installations, and each its repositories", async () => {
    const { github, installation, repository } = scenario;
    const listed = await asApp("GET /app/installations");
    expect(listed.body).toMatchObject([{ id: installation.id, suspended_at: null }]);
    const { body } = await clientOf(github, installation)("GET /installation/repositories");
    expect(body).toMatchObject({
      total_count: 1,
      repositories: [{ id: repository.id, archived: false, open_issues_count: 1 }],
    });
  });

  it("sees by pages what became of its deliveries, and what was in them", async () => {
    const { github, pull, webhookSecret } = scenario;
    const payload = await pullRequestPayload(github.state, "opened", pull);
    const nowhere = { url: "http://127.0.0.1:9/", secret: webhookSecret };
    for (const id of ["first", "second"]) {
      await deliver(github.state, "pull_request", payload, { ...nowhere, id });
    }
    const newest = await asApp("GET /app/hook/deliveries?per_page=1");
    expect(newest.body).toMatchObject([{ guid: "second", status_code: 502, action: "opened" }]);
    const next = /<[^>]*(\/app\/hook[^>]*)>; rel="next"/.exec(newest.headers.get("link") ?? "")?.[1];
    const older = await asApp(`GET ${next}`);
    expect(older.body).toMatchObject([{ guid: "first" }]);
    expect(older.headers.get("link")).toBeNull();
    const whole = await asApp(`GET /app/hook/deliveries/${older.body[0].id}`);
    expect(whole.body.request.payload).toEqual(payload);
  });
});

describe("a request that names an ETag", () => {
  it("is answered 304 until something changes", async () => {
    const { github, installation, people, pull } = scenario;
    const call = clientOf(github, installation);
    const list = (etag: string) =>
      call("GET /repos/octo-org/shop/pulls", undefined, { "if-none-match": etag });
    const etag = (await list("")).headers.get("etag") ?? "";
    expect((await list(etag)).status).toBe(304);
    people.retitle(pull, "Another title");
    expect((await list(etag)).status).toBe(200);
  });

  it("is answered in full to another token", async () => {
    const { github, installation } = scenario;
    const path = "GET /repos/octo-org/shop/pulls";
    const etag = (await clientOf(github, installation)(path)).headers.get("etag") ?? "";
    const other = await clientOf(github, installation)(path, undefined, { "if-none-match": etag });
    expect(other.status).toBe(200);
  });
});

describe("an event about installations", () => {
  it("names them and their repositories", () => {
    const { github, installation, repository } = scenario;
    const { id, name } = repository;
    expect(installationPayload(github.state, installation, "deleted")).toMatchObject({
      installation: { id: installation.id, account: { login: "octo-org" } },
      repositories: [{ id, name, full_name: "octo-org/shop" }],
    });
    const taken = installationRepositoriesPayload(github.state, installation, "removed", [repository]);
    expect(taken).toMatchObject({ repositories_added: [], repositories_removed: [{ id }] });
  });
});
