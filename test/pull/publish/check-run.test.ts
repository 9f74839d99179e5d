import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import type { CheckRunUpdate } from "../../../src/pull/github/pull-request-api.ts";
import {
  closeDoubledChecks,
  concludeAtOnce,
  concludeQueued,
  inProgress,
  openCheckRun,
} from "../../../src/pull/publish/check-run.ts";
import {
  cancelledConclusion,
  failedConclusion,
  passedConclusion,
  reviewConclusion,
  withheldConclusion,
} from "../../../src/pull/publish/conclusions.ts";
import { sampleResult } from "../../report/sample-result.ts";
import { ambiguous, head, MemoryGitHub, refusal } from "./memory-github.ts";

const skipped = (reason: string) => withheldConclusion(reason, [], policy, "skipped");
const policy = { threshold: "high", fail: false } as const;

describe("The check run of a review", () => {
  it("A check run is opened in progress and concluded", async () => {
    const github = new MemoryGitHub();
    const check = await openCheckRun(github, github.state, "event");
    await check.conclude(failedConclusion(new AppError("model_failed", "the model is down")));
    expect(github.checks[0]?.history).toMatchObject([
      { status: "in_progress" },
      {
        status: "completed",
        conclusion: "neutral",
        summary: expect.stringContaining(
          "The review failed: The model could not be reached or did not answer",
        ),
      },
    ]);
    expect(check.problem).toBeUndefined();
  });

  it("A check run is taken up by the next attempt, and another trigger has its own", async () => {
    const github = new MemoryGitHub();
    await openCheckRun(github, github.state, "event");
    await openCheckRun(github, github.state, "event");
    expect(github.checks).toHaveLength(1);
    // It says so already.
    expect(github.count("updateCheckRun")).toBe(0);
    await openCheckRun(github, github.state, "comment:5");
    expect(github.checks).toHaveLength(2);
  });

  it("A check run is concluded although the first answers are lost", async () => {
    const github = new MemoryGitHub();
    const check = await openCheckRun(github, github.state, "event");
    for (const nth of [1, 2]) github.faults.push({ call: "updateCheckRun", nth, error: ambiguous() });
    await check.conclude(passedConclusion("done"));
    expect(github.checks[0]?.history.at(-1)).toMatchObject({ conclusion: "success" });
  });

  it("A forbidden check run causes a notice and no failure", async () => {
    const github = new MemoryGitHub();
    github.faults.push({
      call: "createCheckRun",
      error: refusal("github_forbidden", "Give Hunkwise the permission checks=write"),
    });
    const check = await openCheckRun(github, github.state, "event");
    expect(check.problem).toBe(
      "No check run: GitHub answered with github_forbidden. Give Hunkwise the permission checks=write",
    );
    await check.conclude(passedConclusion("x"));
    expect(github.count("updateCheckRun")).toBe(0);
    expect(await concludeQueued(github, head, passedConclusion("x"))).toBe(check.problem);
  });

  it("An outage of GitHub rejects, and the job comes back", async () => {
    const github = new MemoryGitHub();
    const limit = new AppError("github_rate_limited", "later", { retryable: true, retryAfterMs: 1 });
    github.faults.push({ call: "checkRuns", error: limit });
    await expect(openCheckRun(github, github.state, "event")).rejects.toBe(limit);
  });

  it("A check run is concluded at once if nothing is reviewed, however often that is asked", async () => {
    const github = new MemoryGitHub();
    for (let times = 0; times < 2; times++) {
      expect(await concludeAtOnce(github, github.state, "event", skipped("a draft"))).toBeUndefined();
    }
    expect(github.checks).toHaveLength(1);
    expect(github.checks[0]?.history.at(-1)).toMatchObject({ status: "completed", conclusion: "skipped" });
  });
});

async function openedAfter(update: CheckRunUpdate) {
  const github = new MemoryGitHub();
  const first = await openCheckRun(github, github.state, "event");
  await first.conclude(update);
  const again = await openCheckRun(github, github.state, "event");
  return { again, history: github.checks.flatMap((check) => check.history) };
}

describe("Two check runs of one review by workers that did not know of each other", () => {
  /** GitHub shows the newer one, and the older one is the one that is found. */
  async function doubled() {
    const github = new MemoryGitHub();
    const check = await openCheckRun(github, github.state, "event");
    const externalId = github.checks[0]?.externalId ?? "";
    await github.createCheckRun(head, externalId, inProgress);
    const last = () => github.checks.map(({ history }) => history.at(-1)?.conclusion ?? "open");
    return { github, check, externalId, last };
  }

  it("Both check runs are concluded alike, by whoever has either", async () => {
    const { check, last } = await doubled();
    await check.conclude(reviewConclusion(sampleResult(), policy));

    expect(last()).toEqual(["neutral", "neutral"]);
  });

  it("The late worker's check run shows what the other says, or that it was called off", async () => {
    const early = await doubled();
    await closeDoubledChecks(early.github, head, early.externalId);
    expect(early.last()).toEqual(["open", "cancelled"]);
    await early.check.conclude(reviewConclusion(sampleResult(), policy));
    expect(early.last()).toEqual(["neutral", "neutral"]);

    const { github, externalId, last } = await doubled();
    await github.updateCheckRun(
      github.checks[0]?.id ?? 0,
      failedConclusion(new AppError("model_failed", "no model")),
    );
    await closeDoubledChecks(github, head, externalId);
    expect(last()).toEqual(["neutral", "neutral"]);
  });

  it("A check run of a dead worker is closed when its head is reviewed again", async () => {
    const { github, last } = await doubled();
    const first = github.checks[0]?.id ?? 0;
    await github.updateCheckRun(first, reviewConclusion(sampleResult(), policy));

    expect((await openCheckRun(github, github.state, "event")).reviewed).toBe(true);
    expect(last()).toEqual(["neutral", "neutral"]);
  });
});

describe("A check run that is opened again", () => {
  it("A check run with a conclusion of a review is left alone", async () => {
    const { again, history } = await openedAfter(reviewConclusion(sampleResult(), policy));

    expect(again.reviewed).toBe(true);
    expect(history.map((update) => update.status)).toEqual(["in_progress", "completed"]);
  });

  it.each([
    ["skipped", skipped("a draft")],
    ["called off", cancelledConclusion("the head moved on")],
    ["failed", failedConclusion(new AppError("model_failed", "no model"))],
  ])("A check run of a review that was %s is opened again", async (_how, update) => {
    const { again, history } = await openedAfter(update);

    expect(again.reviewed).toBe(false);
    expect(history.at(-1)?.status).toBe("in_progress");
  });

  it("A check run is opened again if somebody asks for it", async () => {
    const github = new MemoryGitHub();
    const first = await openCheckRun(github, github.state, "event");
    await first.conclude(reviewConclusion(sampleResult(), policy));
    const again = await openCheckRun(github, github.state, "event", true);

    expect(again.reviewed).toBe(false);
    expect(github.checks.flatMap(({ history }) => history).at(-1)?.status).toBe("in_progress");
  });
});
