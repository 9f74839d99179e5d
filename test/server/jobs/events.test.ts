import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, it } from "vitest";
import { registerSecret } from "../../../src/core/secrets/live-secrets.ts";
import { eventAt, findingsOf } from "../../../src/report/event.ts";
import { createAnnouncer, createSender } from "../../../src/server/jobs/events.ts";
import type { ClaimedJob, NewJob, NotifyTask } from "../../../src/server/queue/job.ts";
import { nextTry } from "../../../src/server/queue/run-job.ts";
import { sampleFinding, sampleProof } from "../../report/sample-result.ts";
import { type Answering, type EventReceiver, startEventReceiver } from "../../support/event-receiver.ts";
import { claimed } from "./dependencies.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const never = new AbortController().signal;
const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
const about = {
  ...{ job: "j1", repository, head_sha: "a".repeat(40) },
  pull: { number: 3, url: "https://github.com/octo/shop/pull/3" },
};
const skipped = (reason: string) =>
  eventAt("review.skipped", 1_800_000_000_000, { ...about, origin: "event", requested_by: null, reason });

let receiver: EventReceiver | undefined;
afterEach(async () => {
  await receiver?.[Symbol.asyncDispose]();
  receiver = undefined;
});

function jobAt(
  startedAt: number,
  body = JSON.stringify(skipped("it is a draft")),
): ClaimedJob & { task: NotifyTask } {
  const task: NotifyTask = { kind: "notify", repository, id: `msg_${"a".repeat(27)}`, body, headSha: null };
  return claimed(task, { createdAt: startedAt, startedAt });
}

async function sending(answer?: Answering, { ageMs = 0, timeoutMs = 5_000 } = {}) {
  receiver ??= await startEventReceiver(secret, answer);
  const now = Date.now();
  const job = jobAt(now - ageMs);
  const send = createSender({ url: receiver.url, secret, version: "1.2.3", now: () => now, timeoutMs });
  return { job, now, sent: send(job, never) };
}

describe("an event that is sent", () => {
  it("An event that is sent is signed as Standard Webhooks says, with the same id and body at each try", async () => {
    for (let n = 0; n < 2; n++)
      expect(await (await sending()).sent).toEqual({
        kind: "done",
        reason: expect.stringContaining("took event msg_"),
      });
    const [one, two] = receiver!.received;
    expect(receiver!.complaints).toEqual([]);
    expect(one).toMatchObject({
      method: "POST",
      path: "/a-secret-path",
      headers: { "user-agent": "hunkwise/1.2.3" },
    });
    expect(two!.headers["webhook-id"]).toBe(one!.headers["webhook-id"]);
    expect(two!.body).toBe(one!.body);
  });

  it("An event that is sent is refused by a receiver that has another secret, as the test's receiver would be", async () => {
    receiver = await startEventReceiver(`whsec_${randomBytes(32).toString("base64")}`);
    await (await sending()).sent;
    expect(receiver.complaints).toEqual([expect.stringContaining("is not right")]);
  });

  it("An event that is sent counts as taken by an answer of any length, which is not read", async () => {
    const piece = Buffer.alloc(1_000_000, "x");
    const endless: Answering = (response) => {
      response.writeHead(200);
      const more = () => {
        while (response.write(piece));
      };
      response.on("drain", more);
      more();
    };
    expect(await (await sending(endless)).sent).toMatchObject({ kind: "done" });
  });

  const failures: Record<string, [Answering, RegExp]> = {
    "answers with an error": [(response) => void response.writeHead(503).end("no"), /answered with 503$/],
    "wants no more": [(response) => void response.writeHead(410).end(), /answered with 410$/],
    "redirects to another machine": [
      (response) => void response.writeHead(307, { location: "http://example.com/" }).end(),
      /redirected /,
    ],
    "redirects to itself": [
      (response) => void response.writeHead(308, { location: "/again" }).end(),
      /redirected .* too often$/,
    ],
    "redirects a POST to a GET": [
      (response) => void response.writeHead(302, { location: "/again" }).end(),
      /redirected a POST with 302/,
    ],
    "hangs up": [(response) => void response.destroy(), /cannot be reached/],
    "never answers": [() => {}, /did not answer in time$/],
  };
  it.each(Object.entries(failures))(
    "An event that is sent is tried again if the receiver %s",
    async (_, [answer, why]) => {
      const { sent, job, now } = await sending(answer, { timeoutMs: 200 });
      const error = await sent.then(
        () => undefined,
        (reason: Error) => reason,
      );
      expect(error).toMatchObject({
        code: "receiver_failed",
        retryable: true,
        message: expect.stringMatching(why),
      });
      expect(error?.message).not.toContain("a-secret-path");
      expect(nextTry(job, error, { now: () => now, random: () => 0 })).toEqual({
        delayMs: 5_000,
        countAttempt: false,
      });
      expect(receiver!.received).toHaveLength(1);
    },
  );

  it("An event that is sent is tried again if nobody listens", async () => {
    const gone = await startEventReceiver(secret);
    const { url } = gone;
    await gone[Symbol.asyncDispose]();
    const send = createSender({ url, secret, version: "1", now: Date.now });
    await expect(send(jobAt(Date.now()), never)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The receiver of events, 127\.0\.0\.1:\d+, cannot be reached \(ECONNREFUSED\)$/,
      ),
      retryable: true,
    });
  });

  it("An event that is sent is tried less and less often for a day, and then no more", async () => {
    const minutes: number[] = [];
    let ageMs = 0;
    for (;;) {
      const { sent, job, now } = await sending((response) => void response.writeHead(500).end(), { ageMs });
      const error = await sent.catch((reason: unknown) => reason);
      const again = nextTry(job, error, { now: () => now, random: () => 0 });
      if (again === undefined) break;
      expect(again.countAttempt).toBe(false);
      minutes.push(again.delayMs / 60_000);
      ageMs += again.delayMs;
    }
    expect(ageMs).toBeGreaterThanOrEqual(24 * 3_600_000);
    expect(ageMs).toBeLessThanOrEqual(25 * 3_600_000);
    expect(minutes.length).toBeLessThan(40);
    expect(minutes).toEqual(minutes.toSorted((a, b) => a - b));
  });

  it("An event that is sent is not sent with a secret of this process in it", async () => {
    registerSecret("live-secret-of-this-process-1", { keep: true });
    receiver = await startEventReceiver(secret);
    const send = createSender({ url: receiver.url, secret, version: "1", now: Date.now });
    const body = JSON.stringify(skipped("live-secret-of-this-process-1"));
    await expect(send(jobAt(Date.now(), body), never)).rejects.toMatchObject({ code: "receiver_failed" });
    expect(receiver.received).toEqual([]);
  });

  it("An event that is sent is given back at once when the worker stops", async () => {
    const stopping = new AbortController();
    receiver = await startEventReceiver(secret, () => stopping.abort(new Error("stopped")));
    const send = createSender({ url: receiver.url, secret, version: "1", now: Date.now });
    await expect(send(jobAt(Date.now()), stopping.signal)).rejects.not.toHaveProperty("retryable");
  });
});

describe("an event that is stored", () => {
  function announcing(refuse?: () => void) {
    const stored = new Map<string, NewJob>();
    const warnings: string[] = [];
    const announce = createAnnouncer({
      queue: {
        accept: async ({ id }, [job]) => {
          refuse?.();
          const isNew = !stored.has(id);
          if (isNew && job) stored.set(id, job);
          return isNew;
        },
        check: async () => {},
      },
      sleep: async () => {},
      signal: never,
      warn: (message) => void warnings.push(message),
    });
    return { announce, stored, warnings };
  }

  it("An event that is stored has an id that is made of what happened", async () => {
    const { announce, stored } = announcing();
    for (const key of ["a", "b", "a"]) await announce([{ repository, key, event: skipped(key) }]);
    expect(stored.size).toBe(2);
    for (const [id, { task }] of stored) expect(task).toMatchObject({ kind: "notify", id });
  });

  it("An event that is stored holds no secret that somebody wrote, and what programs compare unchanged", async () => {
    const { announce, stored } = announcing();
    const token = `ghp_${"Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"}`;
    await announce([{ repository, key: "a", event: skipped(`because of ${token}`) }]);
    const body = JSON.parse(([...stored.values()][0]!.task as NotifyTask).body);
    expect(JSON.stringify(body)).not.toContain(token);
    expect(body).toMatchObject({
      version: 1,
      data: { ...about, reason: expect.stringContaining("because of") },
    });
  });

  it("An event that is stored fails nothing if it cannot be stored", async () => {
    const { announce, warnings } = announcing(() => {
      throw new Error("the disk is full");
    });
    await announce([{ repository, key: "a", event: skipped("a") }]);
    expect(warnings.at(-1)).toBe("An event was not stored, so it is not sent");
  });
});

it("The findings of an event are cut if there is no room, and counted", () => {
  const findings = Array.from({ length: 2_000 }, (_, n) => ({
    finding: sampleFinding({ id: `f${n}`, title: "x".repeat(1_000) }),
    placement: { kind: "inline" as const },
  }));
  const { findings: kept, findings_left_out: left } = findingsOf({ findings }, () => undefined);
  expect(kept.length + left).toBe(2_000);
  expect(left).toBeGreaterThan(1_000);
  expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThan(65_000);
  expect(kept[0]?.title).toMatch(/^x{300}…/);
});

it("The findings of an event say in a word what a test shows, and nothing of one that shows nothing", () => {
  const proofs = [sampleProof(), sampleProof({ kind: "ran_right" })];
  const findings = proofs.map((proof) => ({
    finding: sampleFinding({ proof }),
    placement: { kind: "inline" as const },
  }));
  const [shown, passing] = findingsOf({ findings }, () => undefined).findings;
  expect(shown?.mark).toBe("regression");
  expect(passing).not.toHaveProperty("mark");
  expect(JSON.stringify([shown, passing])).not.toContain("assert");
});
