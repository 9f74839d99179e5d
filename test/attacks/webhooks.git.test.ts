import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { openSqliteStores } from "../../src/server/queue/stores.ts";
import { handledEvents } from "../../src/server/webhooks/decide.ts";
import { type Example, examples } from "../server/webhooks/examples.ts";
import { deliveryHeaders, privateKey, sign, startTestServer } from "../server/webhooks/support.ts";
import { TempFolder } from "../support/git-repo.ts";
import { unsetVariables } from "../support/run-cli.ts";
import { runHere } from "../support/run-program.ts";

type TestServer = Awaited<ReturnType<typeof startTestServer>>;
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});
afterAll(() => server.close());

let deliveries = 0;
const newId = () => `attack-${++deliveries}`;
const post = (body: string, headers: Record<string, string>, endpoint = server.endpoint) =>
  fetch(endpoint, { method: "POST", body, headers });

const otherBody = JSON.stringify({ action: "opened" });
const hex = (body: string) => sign(body).slice("sha256=".length);

/** Forged signatures of a body; `undefined` omits the header. */
const forgeries: Record<string, (body: string) => Record<string, string | undefined>> = {
  missing: () => ({ "x-hub-signature-256": undefined }),
  empty: () => ({ "x-hub-signature-256": "" }),
  "of SHA-1 alone": () => ({
    "x-hub-signature-256": undefined,
    "x-hub-signature": `sha1=${"0".repeat(40)}`,
  }),
  "of SHA-1 in the other header": () => ({ "x-hub-signature-256": `sha1=${"0".repeat(40)}` }),
  "too short": (body) => ({ "x-hub-signature-256": sign(body).slice(0, -1) }),
  "too long": (body) => ({ "x-hub-signature-256": `${sign(body)}0` }),
  "twice the right one": (body) => ({ "x-hub-signature-256": `${sign(body)}, ${sign(body)}` }),
  "without its kind": (body) => ({ "x-hub-signature-256": hex(body) }),
  "in capital letters": (body) => ({ "x-hub-signature-256": `sha256=${hex(body).toUpperCase()}` }),
  "with letters beyond ASCII": (body) => ({ "x-hub-signature-256": `sha256=${hex(body).slice(0, -1)}é` }),
  "of bytes that are letters elsewhere": (body) => ({
    "x-hub-signature-256": Buffer.from(`sha256=${hex(body).slice(0, -1)}０`).toString("latin1"),
  }),
  "for another body": () => ({ "x-hub-signature-256": sign(otherBody) }),
  "made with another secret": (body) => ({ "x-hub-signature-256": sign(body, "another-secret") }),
  "made with no secret but Probot's own": (body) => ({ "x-hub-signature-256": sign(body, "development") }),
  "for the body with a blank after it": (body) => ({ "x-hub-signature-256": sign(`${body} `) }),
};
const kinds = Object.keys(forgeries);

/** Posts an example with a forged signature and returns what is wrong with the response. */
async function complaintAbout({ event, payload }: Example, kind: string): Promise<string | undefined> {
  const body = JSON.stringify(payload);
  const parse = vi.spyOn(JSON, "parse");
  const headers = deliveryHeaders(body, event, newId(), forgeries[kind]?.(body));
  const { status } = await post(body, headers);
  const isParsed = parse.mock.calls.some(([text]) => text === body);
  parse.mockRestore();
  if ([400, 401].includes(status) && !isParsed) return;
  return `${event}.${payload.action}, ${kind}: ${status}${isParsed ? " and parsed" : ""}`;
}

it("forged-signature: Every example with a bad signature is refused, not parsed, and starts nothing", async () => {
  const accept = vi.spyOn(server.queue, "accept");
  const complaints: (string | undefined)[] = [];
  for (const [at, example] of examples.entries())
    complaints.push(await complaintAbout(example, kinds[at % kinds.length] ?? ""));
  const opened = examples.find(
    ({ event, payload }) => event === "pull_request" && payload.action === "opened",
  );
  for (const kind of kinds) if (opened) complaints.push(await complaintAbout(opened, kind));

  expect(complaints.filter(Boolean)).toEqual([]);
  expect(complaints).toHaveLength(329 + kinds.length);
  expect(accept).not.toHaveBeenCalled();
  const parse = vi.spyOn(JSON, "parse");
  const body = JSON.stringify(opened?.payload);
  await post(body, deliveryHeaders(body, "pull_request", newId()));
  expect(parse.mock.calls.map(([text]) => text)).toContain(body);
});

it("secret-unset: A server whose webhook secret is unset, empty or Probot's default refuses to start, in one line", async () => {
  using folder = new TempFolder("secret");
  const app = { APP_ID: "1", PRIVATE_KEY: privateKey, HUNKWISE_DATA_DIR: folder.path, PORT: "0" };
  const runs: Awaited<ReturnType<typeof runHere>>[] = [];
  for (const secret of ["", " ", "development", " development\n"]) {
    for (const [name, value] of Object.entries({ ...unsetVariables, ...app, WEBHOOK_SECRET: secret }))
      vi.stubEnv(name, value);
    runs.push(await runHere(["serve"]));
  }
  const missing = /^hunkwise: WEBHOOK_SECRET is missing\. Set [^\n]+\n$/;
  const known = /^hunkwise: WEBHOOK_SECRET is "development"[^\n]+\n$/;
  expect(runs).toEqual(
    [missing, missing, known, known].map((line) => ({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(line),
    })),
  );
});

/** A new server on the stores in a folder, as after a restart. */
async function openOn(folder: string) {
  const { queue } = openSqliteStores(folder);
  const results: string[] = [];
  const own = await startTestServer({ queue, onDelivery: (_event, result) => void results.push(result) });
  const close = async () => {
    await own.close();
    await queue.close();
  };
  return { queue, endpoint: own.endpoint, results, close };
}

it("replayed-delivery: A delivery that comes fifty times at once, and fifty times after a restart, starts one job", async () => {
  using folder = new TempFolder("replay");
  const body = JSON.stringify({
    action: "opened",
    installation: { id: 3 },
    repository: { id: 7, name: "shop", owner: { login: "octo" } },
    pull_request: { number: 1, head: { sha: "a".repeat(40) } },
  });
  const headers = deliveryHeaders(body, "pull_request", newId());
  const fiftyTimes = async ({ endpoint, results }: { endpoint: string; results: string[] }) => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(body, headers, endpoint)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    return results.toSorted();
  };
  const first = await openOn(folder.path);
  expect(await fiftyTimes(first)).toEqual([...Array(49).fill("duplicate"), "stored"]);
  // The job ends, so that a second one would not merge into it.
  const job = await first.queue.claim("worker", 60_000);
  expect(job && (await first.queue.complete(job, { kind: "done", reason: "" }))).toBe(true);
  await first.close();

  const second = await openOn(folder.path);
  expect(await fiftyTimes(second)).toEqual(Array(50).fill("duplicate"));
  expect((await second.queue.stats()).jobs).toMatchObject({ waiting: 0, active: 0, done: 1 });
  await second.close();
});

/**
 * Variations of an effective example with values that our code has never seen: those that must start nothing, and those that may still
 * start it.
 */
function strange({ event, payload }: Example): { nothing: [string, object][]; perhaps: [string, object][] } {
  const whole = { ...payload, installation: { id: 3 } };
  const { installation: _, ...uninstalled } = whole;
  const nobody = { ...(payload.comment as object), body: null, user: null };
  return {
    nothing: [
      [event, { ...whole, action: "transmogrified" }],
      [event, { ...whole, action: null }],
      [`${event}_of_tomorrow`, whole],
      [event, uninstalled],
      [event, { action: payload.action }],
    ],
    perhaps: [
      [event, { ...whole, sender: null }],
      [event, { ...whole, comment: nobody }],
    ],
  };
}

it("unknown-events: Unknown events, unknown actions and missing fields get a 2xx and start nothing", async () => {
  const pairs = new Map(examples.map((example) => [`${example.event}.${example.payload.action}`, example]));
  const handled = handledEvents.flatMap((pair) => pairs.get(pair) ?? []);
  const statuses = async (payloads: [string, object][]) => {
    const answers = payloads.map(async ([event, payload]) => {
      const body = JSON.stringify(payload);
      const { status } = await post(body, deliveryHeaders(body, event, newId()));
      return `${event} ${status}`;
    });
    return Promise.all(answers);
  };
  const before = (await server.queue.stats()).jobs;
  const ofNothing = await statuses(handled.flatMap((example) => strange(example).nothing));
  expect(ofNothing.filter((one) => !one.endsWith(" 202"))).toEqual([]);
  expect((await server.queue.stats()).jobs).toEqual(before);
  const ofPerhaps = await statuses(handled.flatMap((example) => strange(example).perhaps));
  expect(ofPerhaps.filter((one) => !one.endsWith(" 202"))).toEqual([]);
  expect(handled.length).toBeGreaterThan(handledEvents.length - 2);
});
