import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { EventJson } from "../../../src/report/event.ts";
import { commandJob } from "../../contract/queue.ts";
import { type EventReceiver, startEventReceiver } from "../../support/event-receiver.ts";
import { fault, WorkedQueue } from "./job-fixture.ts";

/*
 * What a job tells the operator's receiver, with the real handlers on a real queue and a real receiver.
 */

const secret = `whsec_${randomBytes(24).toString("base64")}`;
let jobs: WorkedQueue;
let receiver: EventReceiver;
beforeEach(async () => {
  // Committed with a merge marker, which an analyzer reports.
  jobs = new WorkedQueue(
    null,
    "<<<<<<< ours\nexport const a = 2;\n=======\nexport const a = 3;\n>>>>>>> theirs\n",
  );
  receiver = await startEventReceiver(secret);
  jobs.events = { url: receiver.url, secret };
});
afterEach(async () => {
  await jobs[Symbol.asyncDispose]();
  expect(receiver.complaints).toEqual([]);
  await receiver[Symbol.asyncDispose]();
});

const told = () => receiver.received.map(({ event }) => event);
const ofType = <T extends EventJson["type"]>(type: T) =>
  told().filter((event): event is Extract<EventJson, { type: T }> => event.type === type);
const ids = () => receiver.received.map(({ headers }) => headers["webhook-id"]);

async function review(): Promise<void> {
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
}

it("A receiver gets a published review: what it found, where that is on GitHub, and how it ended", async () => {
  await review();
  const [event] = ofType("review.completed");
  expect(told()).toEqual([event]);
  const comment = jobs.github.reviews[0]!.comments[0]!;
  expect(event?.data).toMatchObject({
    repository: { id: 7, installation: 1, owner: "octo", name: "shop" },
    pull: { number: 7, url: "https://github.example/octo/shop/pull/7" },
    head_sha: jobs.github.state.headSha,
    base_sha: jobs.github.state.baseSha,
    ...{ origin: "event", requested_by: null, mode: "new", outcome: "offline", model: null },
    conclusion: jobs.checks()[0]?.split(":")[0],
    coverage: { hunks_total: 1, files_total: 1 },
    findings_left_out: 0,
  });
  expect(event?.data.findings).toEqual([
    expect.objectContaining({
      path: "a.js",
      line: 1,
      state: "open",
      source: expect.stringMatching(/^merge-markers\//),
    }),
  ]);
  expect(event?.data.findings[0]?.url).toContain(`#discussion_r${comment.id}`);
});

it("A receiver gets a skipped review with the reason of its check run", async () => {
  jobs.github.state.draft = true;
  await review();
  expect(told()).toMatchObject([
    { type: "review.skipped", data: { reason: expect.stringContaining("draft") } },
  ]);
});

it("A receiver gets a failed review once, although GitHub could not be reached at first", async () => {
  jobs.beforeCheckout = () => {
    throw fault("too_large");
  };
  const error = fault("github_rate_limited", { retryable: true, retryAfterMs: 10 });
  // The first is for the review, and the second for its failure.
  jobs.github.faults.push({ call: "pull", nth: 2, error });
  await review();
  expect(told()).toMatchObject([
    { type: "review.failed", data: { reason: expect.stringContaining("too_large") } },
  ]);
});

it("A receiver gets a dismissed finding when the next review notices it, and only then", async () => {
  await review();
  const comment = jobs.github.reviews[0]!.comments[0]!;
  jobs.github.personDownvotes(comment.id, "octocat");
  for (const id of [1, 2]) {
    await jobs.queue.enqueue(commandJob(7, id));
    await jobs.work();
  }
  const [dismissed, ...more] = ofType("finding.dismissed");
  expect(more).toEqual([]);
  expect(dismissed?.data).toMatchObject({
    ...{ by: "octocat", how: "reaction" },
    finding: { path: "a.js", state: "dismissed", severity: expect.any(String) },
  });
  expect(ofType("review.completed").map(({ data }) => [data.origin, data.requested_by])).toEqual([
    ["event", null],
    ["comment", "ada"],
    ["comment", "ada"],
  ]);
  expect(new Set(ids()).size).toBe(ids().length);
});

it("A receiver gets nothing of strangers' commands, answers, and what was reviewed before", async () => {
  await review();
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  jobs.github.permissions.set("stranger", "read");
  const command = commandJob(7, 3);
  await jobs.queue.enqueue({
    ...command,
    task: { ...command.task, requestedBy: "stranger" } as typeof command.task,
  });
  await jobs.work();
  expect(told().map(({ type }) => type)).toEqual(["review.completed"]);
});

it("A receiver gets a review once, although its worker died after publishing it", async () => {
  const reached = Promise.withResolvers<void>();
  jobs.beforeAnnounce = () => {
    reached.resolve();
    return new Promise(() => {});
  };
  await jobs.queue.enqueue(jobs.event());
  const interrupted = jobs.work();
  await reached.promise;
  const published = jobs.checks();
  await jobs.stop();
  expect(told()).toEqual([]);
  jobs.beforeAnnounce = async () => {};
  await Promise.all([interrupted, jobs.work()]);
  expect(jobs.checks()).toEqual(published);
  expect(told()).toMatchObject([{ type: "review.completed", data: { findings: [{ path: "a.js" }] } }]);
});

it("A receiver whose answer was lost gets the same event again", async () => {
  await receiver[Symbol.asyncDispose]();
  receiver = await startEventReceiver(secret, (response, nth) => {
    if (nth < 3) response.destroy();
    else response.writeHead(200).end();
  });
  jobs.events = { url: receiver.url, secret };
  await review();
  expect(receiver.received).toHaveLength(3);
  expect(new Set(receiver.received.map(({ headers, body }) => `${headers["webhook-id"]} ${body}`)).size).toBe(
    1,
  );
});

it("No review waits for a receiver that does not answer", async () => {
  await receiver[Symbol.asyncDispose]();
  const silent = Promise.withResolvers<void>();
  receiver = await startEventReceiver(secret, (response) => {
    void silent.promise.then(() => response.writeHead(200).end());
  });
  jobs.events = { url: receiver.url, secret };
  await jobs.queue.enqueue(jobs.event());
  const working = jobs.work();
  await receiver.until((all) => all.length === 1);
  await jobs.queue.enqueue(commandJob(7, 1));
  await expect.poll(() => jobs.checks().length).toBe(2);
  await expect.poll(() => jobs.checks()).not.toContain("in_progress");
  expect(receiver.received).toHaveLength(1);
  silent.resolve();
  await working;
  expect(ofType("review.completed")).toHaveLength(2);
});

it("A receiver gets a review whose comments and check run cannot be read again", async () => {
  await review();
  const calls = { threads: jobs.github.count("ownThreads"), checks: jobs.github.count("checkRuns") };
  await jobs[Symbol.asyncDispose]();
  jobs = new WorkedQueue();
  jobs.events = { url: receiver.url, secret };
  // The last of each is the one for the event.
  const error = fault("github_failed", { retryable: true });
  jobs.github.faults.push({ call: "ownThreads", nth: calls.threads, error });
  jobs.github.faults.push({ call: "checkRuns", nth: calls.checks, error });
  await review();
  expect(ofType("review.completed").map(({ data }) => data.conclusion)).toEqual([expect.any(String), null]);
  expect(jobs.logged("warn").join("\n")).toContain("An event has no conclusion: ");
});

it("A receiver gets a dismissal on a page with its person and way, and the review that follows", async () => {
  await review();
  const comment = jobs.github.reviews[0]!.comments[0]!.id;
  jobs.github.accounts.set("octocat", 5);
  const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
  await jobs.queue.enqueue({
    task: {
      ...{ kind: "act", act: { name: "dismiss", comment, reason: "It is wrong" }, repository, pull: 7 },
      ...{ id: "A".repeat(22), account: 5, requestedBy: "octocat", headSha: null },
    },
    ...{ concurrencyKey: "7#7", coalesce: false, priority: 10 },
  });
  await jobs.work();
  expect(ofType("finding.dismissed")).toMatchObject([{ data: { by: "octocat", how: "page" } }]);
  expect(ofType("finding.dismissed")[0]?.data).not.toHaveProperty("reason");
  expect(ofType("review.completed").at(-1)?.data).toMatchObject({
    ...{ origin: "page", requested_by: "octocat" },
    findings: [{ state: "dismissed" }],
  });
});
