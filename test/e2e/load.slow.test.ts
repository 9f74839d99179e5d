import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parseMarker } from "../../src/core/ledger/marker.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { TempFolder } from "../support/git-repo.ts";
import { signatureOf } from "../support/github-double/deliver.ts";
import { headOf } from "../support/github-double/model.ts";
import type { Payload } from "../support/github-double/payloads.ts";
import { finding, finish, numbers, turn } from "./conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

const base = { "src/numbers.js": numbers(60) };
const change = (n: number) => ({ "src/numbers.js": numbers(60, { 10: `const n10 = ${n};` }) });
const lastHead = 9;
const reviewer = withAgreeingSceptic(() =>
  turn(finding({ line: 10, quote: `const n10 = ${lastHead};` }), finish),
);

interface Webhook {
  id: string;
  event: string;
  payload: Payload;
}

/** A pull request that was opened and pushed to, with the webhooks of these events in order. */
async function busyPull(all: SharedApp): Promise<{ pull: PullOfCase; webhooks: Webhook[] }> {
  const pull = all.addRepository(base).open(change(1));
  const webhook = async (payload: Promise<Payload>): Promise<Webhook> => ({
    ...{ id: randomUUID(), event: "pull_request" },
    payload: await payload,
  });
  const webhooks = [await webhook(pull.payload("opened"))];
  for (let n = 2; n <= lastHead; n++) {
    all.app.people.push(pull.pull, change(n));
    webhooks.push(await webhook(pull.payload("synchronize")));
  }
  for (let n = 0; n < 5; n++) {
    const changes = { title: { from: `Title ${n}` } };
    webhooks.push(await webhook(pull.payload("edited", { changes })));
  }
  return { pull, webhooks };
}

/** Shuffles in the same way in each run. */
function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  const key = (n: number) => ((n + 1) * 2_654_435_761 * seed) % 4_294_967_291;
  return items
    .map((item, n) => ({ item, key: key(n) }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

async function deliverAll(app: SharedApp["app"], webhooks: readonly Webhook[], withinMs: number) {
  using folder = new TempFolder("webhooks");
  const file = join(folder.path, "webhooks.json");
  const requests = webhooks.map(({ id, event, payload }) => {
    const body = JSON.stringify(payload);
    const headers = {
      "content-type": "application/json",
      "x-github-event": event,
      "x-github-delivery": id,
      "x-hub-signature-256": signatureOf(app.webhookSecret, body),
    };
    return { headers, body };
  });
  writeFileSync(file, JSON.stringify(requests));
  const program = resolve(import.meta.dirname, "../support/deliver-many.ts");
  const args = [program, app.server.webhookUrl, file, String(withinMs)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 10_000_000 });
  return JSON.parse(stdout) as { status: number; ms: number }[];
}

/** Number of our reviews of a head, by the markers in their bodies. */
const reviewsOf = ({ pull, of }: PullOfCase, head: string) =>
  pull.reviews.filter(({ via, body }) => {
    const marker = via === of.app.app ? parseMarker(body) : undefined;
    return marker?.kind === "review" && marker.head === head;
  }).length;

describe("a thousand webhooks within ten seconds", { timeout: 1_800_000 }, () => {
  it("A thousand webhooks are answered at once, and each newest head is reviewed once", async () => {
    await using all = await startSharedApp({
      everyRole: async (body) => ({ ...(await reviewer.script(body)), delay: 500 }),
      env: { HUNKWISE_CONCURRENCY: "4", HUNKWISE_PUSH_WINDOW_SECONDS: "2" },
    });
    const busy = [];
    for (let n = 0; n < 50; n++) busy.push(await busyPull(all));
    const first = busy.flatMap(({ webhooks }) => webhooks);
    expect(first).toHaveLength(700);
    const again = shuffled(first, 7).slice(0, 300);

    const answers = await deliverAll(all.app, shuffled([...first, ...again], 3), 10_000);
    const took = answers.map(({ ms }) => ms).sort((a, b) => a - b);
    console.info(
      `1,000 webhooks: median ${took[500]?.toFixed()} ms, 99 % ${took[990]?.toFixed()} ms, worst ${took[999]?.toFixed()} ms`,
    );
    expect(answers.filter(({ status }) => status !== 200 && status !== 202)).toEqual([]);
    expect(took[990]).toBeLessThan(1_000);

    for (const { pull } of busy) await pull.concluded();
    for (const { pull } of busy) await pull.of.idle();
    const found = busy.map(({ pull }) => ({
      reviews: reviewsOf(pull, headOf(pull.pull)),
      comments: pull.end().comments,
      summaries: pull.end().summaries,
      open: pull.of.repository.checkRuns.filter(({ status }) => status !== "completed").length,
    }));
    const once = { reviews: 1, comments: ["src/numbers.js RIGHT 10"], summaries: 1, open: 0 };
    expect(found).toEqual(busy.map(() => once));
    expect(all.app.github.violations).toEqual([]);
  });
});
