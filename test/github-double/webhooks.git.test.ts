import { createServer, type IncomingMessage } from "node:http";
import examples from "@octokit/webhooks-examples";
import { Probot } from "probot";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../support/github-double/client.ts";
import { deliver } from "../support/github-double/deliver.ts";
import type { CheckRun } from "../support/github-double/model.ts";
import { headOf } from "../support/github-double/model.ts";
import {
  checkRunPayload,
  checkSuitePayload,
  issueCommentPayload,
  pullRequestPayload,
  reviewCommentPayload,
} from "../support/github-double/payloads.ts";
import { createScenario, type Scenario } from "../support/github-double/scenario.ts";
import { type LocalServer, listenHere } from "../support/local-server.ts";

let scenario: Scenario;
let receiver: LocalServer;
let received: { headers: IncomingMessage["headers"]; body: string }[] = [];
let probot: Probot;
let target: { url: string; secret: string };

beforeAll(async () => {
  scenario = await createScenario({ base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" }, labels: ["bug"] });
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(202).end("queued");
  });
  receiver = await listenHere(server);
  target = { url: `${receiver.origin}/api/github/webhooks`, secret: scenario.webhookSecret };
  const { app, privateKey, webhookSecret } = scenario;
  const options = { appId: app.id, privateKey, secret: webhookSecret, logLevel: "fatal" } as const;
  probot = new Probot({ ...options, baseUrl: scenario.github.apiUrl });
});
afterAll(async () => {
  await receiver.close();
  await scenario.github.close();
});

/** Every key path of a payload, but inside lists, which may be empty. */
function keysOf(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [path];
  return Object.entries(value).flatMap(([key, inner]) => keysOf(inner, `${path}.${key}`));
}

/** Keys that every example of an event has and a payload lacks. */
function missing(event: string, payload: object): string[] {
  const known = (examples as unknown as { name: string; examples: object[] }[]).find(
    (one) => one.name === event,
  );
  const [first = [], ...others] = (known?.examples ?? []).map((one) => keysOf(one));
  const everywhere = first.filter((key) => others.every((keys) => keys.includes(key)));
  expect(everywhere.length).toBeGreaterThan(100);
  const ours = keysOf(payload);
  // Which permissions an App has is its own business.
  const wanted = everywhere.filter((key) => !key.includes(".app.permissions."));
  return wanted.filter((key) => !ours.some((one) => one === key || one.startsWith(`${key}.`)));
}

describe("a payload", () => {
  it("A payload of a pull request has all keys of GitHub's examples", async () => {
    const payload = await pullRequestPayload(scenario.github.state, "opened", scenario.pull);
    expect(missing("pull_request", payload)).toEqual([]);
    expect(payload).toMatchObject({
      action: "opened",
      number: 1,
      organization: { login: "octo-org" },
      installation: { id: scenario.installation.id },
    });
  });

  it("A payload of a push has the heads before and after", async () => {
    const [before] = scenario.pull.heads;
    const after = scenario.people.push(scenario.pull, { "a.txt": "c\n" });
    const payload = await pullRequestPayload(scenario.github.state, "synchronize", scenario.pull);
    expect(payload).toMatchObject({ before, after, pull_request: { head: { sha: after } } });
  });

  it("A payload of a comment has all keys of GitHub's examples and refers to the pull request", () => {
    const comment = scenario.people.comment(scenario.pull, "octocat", "/review");
    const payload = issueCommentPayload(scenario.github.state, comment);
    expect(missing("issue_comment", payload)).toEqual([]);
    expect(payload).toMatchObject({
      issue: { number: 1, pull_request: {} },
      comment: { body: "/review", user: { type: "User" } },
    });
  });

  it("A payload of a review comment has all keys of GitHub's examples", async () => {
    const at = { path: "a.txt", line: 1, body: "x" };
    const comment = await scenario.people.reviewComment(scenario.pull, "octocat", at);
    const payload = await reviewCommentPayload(scenario.github.state, comment);
    expect(missing("pull_request_review_comment", payload)).toEqual([]);
  });

  it("A payload of a requested re-run has all keys of GitHub's examples", async () => {
    const { github, pull, repository, app, installation } = scenario;
    const call = clientOf(github, installation);
    const asked = { name: "Hunkwise", head_sha: headOf(pull), external_id: "x", conclusion: "neutral" };
    await call("POST /repos/octo-org/shop/check-runs", asked);
    const run = repository.checkRuns.at(-1) as CheckRun;
    const sender = github.state.account("octocat");
    const pulls = [{ number: pull.number }];

    const again = checkRunPayload(github.state, run, "rerequested", sender);
    expect(missing("check_run", again)).toEqual([]);
    expect(again).toMatchObject({
      ...{ action: "rerequested", sender: { login: "octocat" } },
      check_run: { external_id: "x", status: "completed", app: { id: app.id }, pull_requests: pulls },
    });

    const of = { repository, headSha: headOf(pull), app };
    const all = checkSuitePayload(github.state, of, "rerequested", sender);
    expect(missing("check_suite", all)).toEqual([]);
    expect(all).toMatchObject({ check_suite: { head_sha: headOf(pull), pull_requests: pulls } });
  });

  it("A payload of a check on a fork's commit has no pull request", () => {
    const { github, people, repository, app } = scenario;
    const commits = [{ files: { "a.txt": "f\n" } }];
    const forked = people.openPull(repository, { title: "F", author: "eve", fork: "eve", commits });
    const of = { repository, headSha: headOf(forked), app };
    const payload = checkSuitePayload(github.state, of, "rerequested", forked.author);
    expect(payload).toMatchObject({ check_suite: { head_branch: null, pull_requests: [] } });
  });
});

describe("a delivery", () => {
  it("A delivery is signed as octokit expects, and logged", async () => {
    received = [];
    const payload = await pullRequestPayload(scenario.github.state, "opened", scenario.pull);
    const { id, status, body } = await deliver(scenario.github.state, "pull_request", payload, target);
    expect([status, body]).toEqual([202, "queued"]);
    const { headers, body: sent } = received[0]!;
    expect(await probot.webhooks.verify(sent, String(headers["x-hub-signature-256"]))).toBe(true);
    expect(await probot.webhooks.verify(`${sent} `, String(headers["x-hub-signature-256"]))).toBe(false);
    expect(headers).toMatchObject({
      "x-github-event": "pull_request",
      "x-github-delivery": id,
      "x-github-hook-installation-target-type": "integration",
      "x-github-hook-installation-target-id": String(scenario.app.id),
    });
    await deliver(scenario.github.state, "pull_request", payload, { ...target, id });
    const log = scenario.github.state.deliveries.filter((one) => one.guid === id);
    expect(log).toMatchObject([
      { redelivery: false, statusCode: 202, action: "opened", installationId: scenario.installation.id },
      { redelivery: true, statusCode: 202 },
    ]);
  });

  it("A delivery can be unsigned or wrongly signed", async () => {
    received = [];
    await deliver(scenario.github.state, "ping", { zen: "x" }, { ...target, signature: null });
    await deliver(scenario.github.state, "ping", { zen: "x" }, { ...target, signature: "sha256=00" });
    expect(received.map((one) => one.headers["x-hub-signature-256"])).toEqual([undefined, "sha256=00"]);
  });

  it("A delivery to a closed port has status 502", async () => {
    const { status } = await deliver(
      scenario.github.state,
      "ping",
      {},
      { ...target, url: "http://127.0.0.1:1/" },
    );
    expect(status).toBe(502);
  });

  it("The App finds its deliveries in the log, page by page", async () => {
    const { rest } = await probot.auth();
    const { data } = await rest.apps.listWebhookDeliveries({ per_page: 2 });
    expect(data).toMatchObject([
      { event: "ping", status_code: 502 },
      { event: "ping", status: "OK" },
    ]);
    const older = await rest.apps.listWebhookDeliveries({ per_page: 2, cursor: `v1_${data[1]?.id}` });
    expect(older.data[0]?.id).toBeLessThan(data[1]!.id);
  });
});
