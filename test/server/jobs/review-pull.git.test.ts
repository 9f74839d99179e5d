import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { publicText } from "../../../src/pull/publish/public-text.ts";
import { updateState } from "../../../src/pull/publish/sticky-comment.ts";
import { maxAttempts } from "../../../src/server/queue/job.ts";
import { commandJob } from "../../contract/queue.ts";
import { refusal } from "../../pull/publish/memory-github.ts";
import { fault, WorkedQueue } from "./job-fixture.ts";

let jobs: WorkedQueue;
beforeEach(() => {
  jobs = new WorkedQueue();
});
afterEach(() => jobs[Symbol.asyncDispose]());

const outage = () => fault("github_failed", { retryable: true });
const reviewed = "neutral: Analyzers only: nothing found in the part that was read";
const failed = "neutral: The review failed";

/** An attempt whose worker was killed after it had opened its check run. */
async function killedAttempt(
  opened = { head: jobs.github.state.headSha, trigger: "event@main" },
): Promise<void> {
  const job = await jobs.queue.claim("doomed", 1);
  if (!job) throw new Error("there is no job");
  await jobs.queue.record(job, { kind: "check_opened", ...opened });
  if (jobs.github.checks.length === 0)
    await jobs.github.createCheckRun(opened.head, `${opened.head}:${opened.trigger}`, {
      status: "in_progress",
      title: publicText("Reviewing"),
      summary: publicText(""),
    });
  jobs.pass(10);
}

it("The check run of an event arrives after a review, for which nothing is asked that no model would read", async () => {
  jobs.inOwnProcess = true;
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual([reviewed]);
  expect(jobs.github.count("failedChecks")).toBe(0);
});

it("The check run of an event stays as it is when the mirror cannot be cleaned up, which is logged", async () => {
  jobs.tidy = async () => {
    throw new Error("the disk is full");
  };
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual([reviewed]);
  expect(jobs.logged("warn").join("\n")).toContain("the disk is full");
});

it.each(["pull", "fileAt", "checkRuns", "ownReviews"] as const)(
  "The check run of an event arrives although GitHub was away ten times when it was asked for `%s`",
  async (call) => {
    for (let nth = 1; nth <= 10; nth++) jobs.github.faults.push({ call, nth, error: outage() });
    await jobs.queue.enqueue(jobs.event());
    await jobs.work();

    expect(jobs.checks()).toEqual([reviewed]);
    expect(jobs.github.comments).toHaveLength(1);
  },
);

it("The check run of an event arrives although no token could be had for a while", async () => {
  let times = 0;
  jobs.beforeAccess = () => {
    if (++times <= 10) throw outage();
  };
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual([reviewed]);
});

it("The check run of an event arrives although the rate limit was used up for an hour", async () => {
  const used = fault("github_rate_limited", { retryable: true, retryAfterMs: 3_600_000 });
  for (const nth of [1, 2]) jobs.github.faults.push({ call: "ownReviews", nth, error: used });
  jobs.github.faults.push({ call: "updateCheckRun", nth: 1, error: used });
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual([reviewed]);
  // Nobody is told meanwhile that it failed.
  expect(jobs.github.checks[0]?.history.map(({ status }) => status)).toEqual(["in_progress", "completed"]);
  expect(jobs.checkouts).toHaveLength(1);
});

it.each([
  ["cannot be checked out", fault("too_large")],
  ["meets a fault of ours", new TypeError("undefined is not a function")],
])("The check run of an event says that the review failed when the change %s", async (_, error) => {
  jobs.beforeCheckout = () => {
    throw error;
  };
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual([failed]);
  expect(jobs.checkouts).toHaveLength(1);
  // What only whoever runs this should read: paths, and what a file may have made a program say.
  expect(JSON.stringify(jobs.github.checks)).not.toContain("not a function");
});

it("The check run of an event says that the review failed when it failed at every attempt", async () => {
  jobs.beforeCheckout = () => {
    throw fault("child_died", { retryable: true });
  };
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual([failed]);
  expect(jobs.checkouts).toHaveLength(maxAttempts);
});

it("The check run of an event says that the review failed when its worker was killed at every attempt", async () => {
  await jobs.queue.enqueue(jobs.event());
  for (let n = 0; n < maxAttempts; n++) await killedAttempt();
  await jobs.work();

  expect(jobs.checks().at(-1)).toBe(failed);
  expect(jobs.checkouts).toEqual([]);
});

it("The check run of an event says that the review failed on the head of the event when GitHub does not show the pull request", async () => {
  jobs.github.faults.push({ call: "pull", error: refusal("github_forbidden") });
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual([failed]);
  expect(jobs.github.checks[0]?.headSha).toBe(jobs.github.state.headSha);
});

it.each([
  ["too_large", "failure: The review failed"],
  ["github_invalid", failed],
] as const)(
  "flooded-threads: The check run is as red as a limit if there are too many comments to know what is open (%s)",
  async (code, expected) => {
    jobs.github.fileAt = (async () => "check: { fail: true }\n") as never;
    for (const call of ["ownThreads", "ownReviewComments"] as const)
      jobs.github.faults.push({ call, error: fault(code) });
    await jobs.queue.enqueue(jobs.event());
    await jobs.work();
    expect(jobs.checks()).toEqual([expected]);
  },
);

it("The check run of an event says why nothing is reviewed when the configuration cannot be asked for", async () => {
  jobs.github.fileAt = async () => {
    throw fault("github_forbidden");
  };
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual([failed]);
  expect(jobs.github.checks[0]?.history.at(-1)?.summary).toContain("github_forbidden happened");
  expect(jobs.checkouts).toEqual([]);
});

it.each([
  ["closed", { state: "closed" as const }, "cancelled: Canceled"],
  ["turned into a draft", { draft: true }, "skipped: Not reviewed"],
])(
  "A check run that an attempt left open is closed when the pull request was %s meanwhile",
  async (_, change, end) => {
    await jobs.queue.enqueue(jobs.event());
    await killedAttempt();
    Object.assign(jobs.github.state, change);
    await jobs.work();

    expect(jobs.checks()).toEqual([end]);
  },
);

it("A check run that an attempt left open is canceled when the head moved on, and the new head gets its own", async () => {
  await jobs.queue.enqueue(jobs.event());
  await killedAttempt();
  jobs.github.state.headSha = jobs.laterHead;
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual(["cancelled: Canceled", reviewed]);
  expect(jobs.github.checks[1]?.headSha).toBe(jobs.laterHead);
});

it("A review whose head moved on before it was published goes on with the new head in the same job", async () => {
  const read = jobs.github.state.headSha;
  jobs.beforeCheckout = () => void Object.assign(jobs.github.state, { headSha: jobs.laterHead });
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checks()).toEqual(["cancelled: Canceled", reviewed]);
  expect(jobs.checkouts.map(({ pull }) => pull.headSha)).toEqual([read, jobs.laterHead]);
  // No event told of it, so no other job did.
  expect((await jobs.queue.stats()).jobs).toMatchObject({ done: 1 });
});

it("A check run that an attempt left open for a command is closed although its author may command no more", async () => {
  const { number, headSha } = jobs.github.state;
  const command = commandJob(number, 99);
  await jobs.queue.enqueue({ ...command, task: { ...command.task, requestedBy: "ann" } as never });
  await killedAttempt({ head: headSha, trigger: "comment:99" });
  jobs.github.permissionOf = async () => "read" as never;
  await jobs.work();

  expect(jobs.checks()).not.toContain("in_progress");
});

it("A check run that an attempt left open does not end the review of the new head if GitHub refuses to close it", async () => {
  await jobs.queue.enqueue(jobs.event());
  await killedAttempt();
  jobs.github.state.headSha = jobs.laterHead;
  const error = refusal("github_forbidden", "Give Hunkwise the permission checks=write");
  for (const call of ["checkRuns", "createCheckRun", "updateCheckRun"] as const) {
    jobs.github.faults.push({ call, error });
  }
  await jobs.work();

  expect(jobs.github.comments).toHaveLength(1);
  expect(jobs.logged("warn").join("\n")).toContain("checks=write");
});

it("An event that arrives before GitHub shows its head waits for it", async () => {
  const [old, { laterHead }] = [jobs.github.state.headSha, jobs];
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  jobs.github.meanwhile = (call) => {
    if (call === "pull" && jobs.github.count("pull") >= 3) jobs.github.state.headSha = laterHead;
  };
  await jobs.queue.enqueue(jobs.event(laterHead));
  await jobs.work();

  expect(jobs.github.checks.map(({ headSha }) => headSha)).toEqual([old, laterHead]);
  expect(jobs.checks()).toEqual([reviewed, reviewed]);
});

it("An event about an old head is about the newest", async () => {
  await jobs.queue.enqueue(jobs.event("0".repeat(40)));
  await jobs.work();

  expect(jobs.github.checks.map(({ headSha }) => headSha)).toEqual([jobs.github.state.headSha]);
  expect(jobs.checks()).toEqual([reviewed]);
});

it("An event about a head that was reviewed has it reviewed no second time", async () => {
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.checkouts).toHaveLength(1);
});

it("An event about a head that was reviewed has it reviewed no second time if check runs are not permitted either", async () => {
  jobs.github.faults.push({ call: "checkRuns", error: refusal("github_forbidden") });
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.github.comments).toHaveLength(1);
  expect(jobs.checkouts).toHaveLength(1);
});

it("An event about a draft is logged where the check run that says so is not permitted", async () => {
  jobs.github.state.draft = true;
  const error = refusal("github_forbidden", "Give Hunkwise the permission checks=write");
  jobs.github.faults.push({ call: "checkRuns", error });
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect(jobs.logged("warn").join("\n")).toContain("checks=write");
});

it("An event about a pull request that is gone is given up at once, and the log says so", async () => {
  for (const call of ["pull", "checkRuns", "createCheckRun"] as const) {
    jobs.github.faults.push({ call, error: refusal("github_not_found") });
  }
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();

  expect((await jobs.queue.stats()).jobs.failed).toBe(1);
  expect(jobs.logged("error")).toContain("Job failed: GitHub answered with github_not_found");
});

describe("a pull request whose reviews are paused", () => {
  beforeEach(() =>
    updateState(jobs.github, (state) => ({ ...state, paused: { by: "ann", at: "2026-11-22T10:00:00Z" } })),
  );

  it("A pull request whose reviews are paused has an event's check run concluded with who paused them", async () => {
    await jobs.queue.enqueue(jobs.event());
    await jobs.work();

    expect(jobs.checks()).toEqual(["skipped: Not reviewed"]);
    expect(jobs.github.checks[0]?.history.at(-1)?.summary).toMatch(/^Not reviewed: paused by ann\.\n/);
    expect(jobs.checkouts).toEqual([]);
  });

  it("A pull request whose reviews are paused is reviewed for a command, and stays paused", async () => {
    const { task, ...job } = commandJob(jobs.github.state.number, 99);
    await jobs.queue.enqueue({ ...job, task: { ...task, requestedBy: "ann" } as never });
    await jobs.work();

    expect(jobs.checks()).toEqual([reviewed]);
    expect(jobs.github.comments[0]?.body).toMatch(/^⏸️ .* by `ann`/);
  });
});

it("A check run that somebody asks for once more is taken up although it says how a review ended", async () => {
  await jobs.queue.enqueue(jobs.event());
  await jobs.work();
  const { task, ...job } = jobs.event();
  const again = { ...task, again: true, trigger: "event@main", requestedBy: "ann" };
  await jobs.queue.enqueue({ ...job, coalesce: false, task: again as never });
  await jobs.work();

  expect(jobs.checkouts).toHaveLength(2);
  expect(jobs.checks()).toEqual([reviewed]);
  expect(jobs.github.comments).toHaveLength(1);
});

describe("a merge queue's check", () => {
  const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
  const group = (headSha: string) => ({
    task: { kind: "pass_check" as const, repository, headSha, reason: "reviewed before" },
    concurrencyKey: `7@${headSha}`,
    coalesce: false,
    priority: 10,
  });

  it("A merge queue's check passes although GitHub was away", async () => {
    for (let nth = 1; nth <= 10; nth++) jobs.github.faults.push({ call: "checkRuns", nth, error: outage() });
    await jobs.queue.enqueue(group("c".repeat(40)));
    await jobs.work();

    expect(jobs.checks()).toEqual(["success: Nothing to review"]);
  });

  it("A merge queue's check that is not permitted is given up at once, and the log names the permission", async () => {
    const error = refusal("github_forbidden", "Give Hunkwise the permission checks=write");
    jobs.github.faults.push({ call: "checkRuns", error });
    await jobs.queue.enqueue(group("c".repeat(40)));
    await jobs.work();

    expect((await jobs.queue.stats()).jobs.failed).toBe(1);
    expect(jobs.log.map(({ message }) => message).join("\n")).toContain("checks=write");
  });
});
