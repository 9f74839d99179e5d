import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { landing } from "../../../src/pages/setup.ts";
import { handledEvents } from "../../../src/server/webhooks/decide.ts";
import { type ServerOptions, startServer } from "../../../src/server/webhooks/server.ts";
import { type Example, examples } from "./examples.ts";
import { deliveryHeaders, logBook, sign, startTestServer, testEnv } from "./support.ts";

type TestServer = Awaited<ReturnType<typeof startTestServer>>;
let server: TestServer;
let wakes = 0;
/** What became of each delivery. */
const results: string[] = [];
beforeAll(async () => {
  server = await startTestServer({
    onAccepted: () => wakes++,
    onDelivery: (_event, result) => void results.push(result),
  });
});
afterAll(() => server.close());

let deliveries = 0;
const newId = () => `delivery-${++deliveries}`;
const post = (body: string | Buffer, headers: Record<string, string>, path = "") =>
  fetch(server.endpoint + path, { method: "POST", body: body as string, headers });
const waiting = async () => (await server.queue.stats()).jobs.waiting;

/** A payload that starts a review of a pull request nobody else in this file uses. */
let pulls = 1_000;
const opened = () => ({
  action: "opened",
  installation: { id: 3 },
  repository: { id: 7, name: "shop", owner: { login: "octo" } },
  pull_request: { number: ++pulls, head: { sha: "a".repeat(40) } },
});

/** The App of these tests, as checks name it. */
const app = { id: 7 };

/** An example with what it lacks to start something. */
function completed(event: string, payload: Example["payload"]): object {
  const around = { ...payload, installation: { id: 3 } };
  const comment = { ...(payload.comment as object), body: "/review" };
  const sender = { login: "octocat", type: "User" };
  switch (event) {
    case "pull_request":
      return payload.action === "edited" ? { ...around, changes: { title: { from: "WIP" } } } : around;
    case "issue_comment":
      return { ...around, issue: { ...(payload.issue as object), pull_request: {} }, comment };
    case "pull_request_review_comment":
      return { ...around, comment };
    case "check_run": {
      const run = payload.check_run as { head_sha: string };
      return { ...around, sender, check_run: { ...run, app, external_id: `${run.head_sha}:event#2@main` } };
    }
    case "check_suite":
      return { ...around, sender, check_suite: { ...(payload.check_suite as object), app } };
    default:
      return around;
  }
}

it("Every example payload is there", () => expect(examples).toHaveLength(329));

it("Every signed example payload is answered with 2xx, and only declared pairs start a job", async () => {
  const started = new Set<string>();
  for (const { event, payload } of examples) {
    const body = JSON.stringify(payload);
    const response = await post(body, deliveryHeaders(body, event, newId()));
    expect(response.status, `${event}.${payload.action}: ${await response.text()}`).toBe(202);
    if (results.at(-1) === "stored") started.add(`${event}.${payload.action}`);
  }
  expect([...started].filter((pair) => !(handledEvents as readonly string[]).includes(pair))).toEqual([]);
});

it("Every signed example payload of each declared pair starts a job once it has what that takes", async () => {
  const started = new Set<string>();
  // There is none of an edited pull request.
  const edited: Example[] = examples
    .filter(({ event, payload }) => event === "pull_request" && payload.action === "opened")
    .map((example) => ({ ...example, payload: { ...example.payload, action: "edited" } }));
  for (const { event, payload } of [...examples, ...edited]) {
    const complete = completed(event, payload);
    const body = JSON.stringify(complete);
    await post(body, deliveryHeaders(body, event, newId()));
    if (results.at(-1) === "stored") started.add(`${event}.${payload.action}`);
  }
  expect([...started].toSorted()).toEqual([...handledEvents].toSorted());
});

it("A delivery is answered with 202 when its job is in the queue, and wakes the worker", async () => {
  const before = { waiting: await waiting(), wakes };
  const body = JSON.stringify(opened());
  const response = await post(body, deliveryHeaders(body, "pull_request", newId()));
  expect(response.status).toBe(202);
  expect({ waiting: await waiting(), wakes }).toEqual({
    waiting: before.waiting + 1,
    wakes: before.wakes + 1,
  });
});

it("A delivery that comes fifty times at once starts one job", async () => {
  const before = await waiting();
  const body = JSON.stringify(opened());
  const headers = deliveryHeaders(body, "pull_request", newId());
  results.length = 0;
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async () => (await post(body, headers)).status),
  );
  expect(new Set(statuses)).toEqual(new Set([202]));
  expect(results.toSorted()).toEqual([...Array(49).fill("duplicate"), "stored"]);
  expect(await waiting()).toBe(before + 1);
});

it("A delivery is logged with its id, repository, pull and head, and without its payload", async () => {
  const id = newId();
  const payload = { ...opened(), secret_looking: "do-not-log-me" };
  const body = JSON.stringify(payload);
  await post(body, deliveryHeaders(body, "pull_request", id));
  expect(server.lines).toContainEqual(
    expect.objectContaining({
      delivery: id,
      repo: "octo/shop",
      pull: payload.pull_request.number,
      head: "a".repeat(40),
    }),
  );
  expect(JSON.stringify(server.lines).includes("do-not-log-me")).toBe(false);
});

it("A delivery of GitHub's ping is accepted", async () => {
  const body = JSON.stringify({ zen: "Design for failure.", hook_id: 1 });
  expect((await post(body, deliveryHeaders(body, "ping", newId()))).status).toBe(202);
});

it("A delivery is answered with 503 while the queue cannot store it", async () => {
  const broken = await startTestServer();
  await broken.queue.close();
  const body = JSON.stringify(opened());
  const headers = deliveryHeaders(body, "pull_request", newId());
  const response = await fetch(broken.endpoint, { method: "POST", body, headers });
  expect(response.status).toBe(503);
  expect((await fetch(`${broken.address}/readyz`)).status).toBe(503);
  expect((await fetch(`${broken.address}/healthz`)).status).toBe(200);
  await broken.close();
});

/** Who is answered before all of it was sent may find the connection closed before the answer was read: RFC 9112, section 9.6. */
async function statusOf(send: () => Promise<Response>): Promise<number> {
  for (let tries = 1; ; tries++) {
    try {
      return (await send()).status;
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
}

describe("a request that is no delivery of ours", () => {
  const body = JSON.stringify(opened());
  const sha1 = { "x-hub-signature-256": undefined, "x-hub-signature": `sha1=${"0".repeat(40)}` };
  const cases: [string, number, Record<string, string | undefined>][] = [
    ["without a signature", 401, { "x-hub-signature-256": undefined }],
    ["with a SHA-1 signature alone", 401, sha1],
    ["with a wrong signature", 401, { "x-hub-signature-256": sign(body, "another-secret") }],
    [
      "signed with the secret every Probot falls back to",
      401,
      { "x-hub-signature-256": sign(body, "development") },
    ],
    ["with a signature of the wrong length", 401, { "x-hub-signature-256": "sha256=00" }],
    ["with a signature in capital letters", 401, { "x-hub-signature-256": sign(body).toUpperCase() }],
    ["with an empty signature", 401, { "x-hub-signature-256": "" }],
    ["without a delivery id", 400, { "x-github-delivery": undefined }],
    ["without an event", 400, { "x-github-event": undefined }],
    ["for an event with a strange name", 400, { "x-github-event": "__proto__" }],
    ["as a form", 415, { "content-type": "application/x-www-form-urlencoded" }],
    ["without a content type", 415, { "content-type": "" }],
    ["compressed", 415, { "content-encoding": "gzip" }],
  ];
  it.each(cases)(
    "A request that is no delivery of ours %s is answered with %i and stores nothing",
    async (_, status, changes) => {
      const before = await waiting();
      const response = await post(body, deliveryHeaders(body, "pull_request", newId(), changes));
      expect(response.status).toBe(status);
      expect(await waiting()).toBe(before);
    },
  );

  it("A request that is no delivery of ours is refused by its signature before anything parses it", async () => {
    const broken = "{ not json";
    const wrong = deliveryHeaders(broken, "pull_request", newId(), { "x-hub-signature-256": sign("else") });
    expect((await post(broken, wrong)).status).toBe(401);
    expect((await post(broken, deliveryHeaders(broken, "pull_request", newId()))).status).toBe(400);
  });

  it.each(["null", "[]", "1", '"text"', ""])(
    "A request that is no delivery of ours is answered with 400 when its signed body is %j",
    async (text) => {
      expect((await post(text, deliveryHeaders(text, "pull_request", newId()))).status).toBe(400);
    },
  );

  it("A request that is no delivery of ours is refused when its bytes are not the text that was signed", async () => {
    const bytes = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
    expect((await post(bytes, deliveryHeaders(bytes, "pull_request", newId()))).status).toBe(401);
  });

  it("A request that is no delivery of ours is answered with 413 above 25 MB, announced or not", async () => {
    const large = Buffer.alloc(25 * 1024 * 1024 + 1, " ");
    const headers = deliveryHeaders(large, "pull_request", newId());
    const chunks = () =>
      new ReadableStream({
        start(controller) {
          for (let n = 0; n < 26; n++) controller.enqueue(new Uint8Array(1024 * 1024));
          controller.close();
        },
      });
    const unannounced = () =>
      fetch(server.endpoint, { method: "POST", body: chunks(), headers, duplex: "half" } as RequestInit);
    expect(await statusOf(() => post(large, headers))).toBe(413);
    expect(await statusOf(unannounced)).toBe(413);
  });

  it.each([
    ["GET", "", 405],
    ["PUT", "", 405],
    ["POST", "/more", 404],
  ])(
    "A request that is no delivery of ours %s at the webhook path%s is answered with %i",
    async (method, path, status) => {
      const init = method === "GET" ? {} : { body: "{}", headers: { "content-type": "application/json" } };
      expect((await fetch(server.endpoint + path, { method, ...init })).status).toBe(status);
    },
  );
});

it("The environment decides how long a push waits, and whose checks are made again", async () => {
  const stored: unknown[] = [];
  const queue: ServerOptions["queue"] = {
    check: async () => {},
    stats: () => server.queue.stats(),
    accept: async (_delivery, jobs) => {
      stored.push(...jobs.map(({ task, debounceMs }) => ({ kind: task.kind, debounceMs })));
      return true;
    },
  };
  const env = testEnv("127.0.0.1:9", "unused", { APP_ID: "8", HUNKWISE_PUSH_WINDOW_SECONDS: "2.5" });
  const other = await startTestServer({ env, queue });
  const deliver = async (event: string, payload: object) => {
    const body = JSON.stringify(payload);
    return (
      await fetch(other.endpoint, { method: "POST", body, headers: deliveryHeaders(body, event, newId()) })
    ).status;
  };
  const rerun = completed("check_run", {
    ...{ ...opened(), action: "rerequested" },
    check_run: { head_sha: "a".repeat(40) },
  });

  expect(await deliver("pull_request", { ...opened(), action: "synchronize" })).toBe(202);
  expect(await deliver("check_run", rerun)).toBe(202);
  expect(stored).toEqual([{ kind: "review", debounceMs: 2_500 }]);
  await other.close();
});

it("The other pages say that the server lives, is ready, and what it is", async () => {
  expect(await (await fetch(`${server.address}/healthz`)).text()).toBe("ok\n");
  expect(await (await fetch(`${server.address}/readyz`)).json()).toMatchObject({ ready: true });
  const landing = await fetch(server.address);
  expect(await landing.text()).toContain("Hunkwise is running");
  expect(landing.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect((await fetch(`${server.address}/healthz`, { method: "HEAD" })).status).toBe(200);
  expect((await fetch(`${server.address}/healthz`, { method: "POST" })).status).toBe(405);
  expect((await fetch(`${server.address}/elsewhere`)).status).toBe(404);
});

it("The page of an App without a client secret says step by step how people can log in", async () => {
  const text = await (await fetch(server.address)).text();
  for (const word of [
    "Generate a new client secret",
    "/login/callback",
    "GITHUB_CLIENT_ID",
    "GITHUB_CLIENT_SECRET",
  ])
    expect(text).toContain(word);
  expect(text).toMatch(/<a href="http:\/\/127\.0\.0\.1:\d+\/settings\/apps">/);
});

it("The page of an App without a client secret is the only one: nobody can log in", async () => {
  for (const path of ["/login", "/login/callback", "/reviews"])
    expect((await fetch(server.address + path)).status).toBe(404);
  expect((await fetch(`${server.address}/login`, { method: "POST" })).status).toBe(404);
});

it("The server ends connections that send their headers or body drop by drop", async () => {
  const impatient = await startTestServer({ timeouts: { headersMs: 100, requestMs: 200 } });
  const head = "POST /api/github/webhooks HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
  for (const start of [head, `${head}content-length: 100\r\n\r\n{`]) {
    const socket = connect(impatient.port, "127.0.0.1");
    socket.write(start);
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    await once(socket, "close");
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
  }
  await impatient.close();
});

it("A server whose port is taken says so in one line", async () => {
  const { log } = logBook();
  const env = testEnv("127.0.0.1:9", "unused", { PORT: String(server.port) });
  const pages = landing("https://github.com");
  await expect(startServer({ env, queue: server.queue, log, pages })).rejects.toMatchObject({
    code: "config_invalid",
    line: expect.stringMatching(
      new RegExp(`^Cannot listen on .*, port ${server.port}: .+\\. Stop the program .* set PORT to a port`),
    ),
  });
});
