import { describe, expect, it } from "vitest";
import type { CheckRunUpdate } from "../../src/github/pull-request-api.ts";
import {
  cancelledConclusion,
  failedConclusion,
  openCheckRun,
  passedConclusion,
  reviewConclusion,
  skippedConclusion,
} from "../../src/reporters/check-run.ts";
import { MemoryGitHub } from "./memory-github.ts";
import { sampleResult } from "./sample-result.ts";

const head = "a".repeat(40);
const noSleep = async () => {};
const policy = { threshold: "high", fail: false } as const;

async function openedAfter(update: CheckRunUpdate) {
  const github = new MemoryGitHub();
  const first = await openCheckRun(github, head, "event", noSleep);
  await first.conclude(update);
  const again = await openCheckRun(github, head, "event", noSleep);
  return { again, history: github.checks.flatMap((check) => check.history) };
}

describe("a check run that is opened again", () => {
  it("is left alone where a review ended with a conclusion", async () => {
    const { again, history } = await openedAfter(reviewConclusion(sampleResult(), policy));

    expect(again.reviewed).toBe(true);
    expect(history.map((update) => update.status)).toEqual(["in_progress", "completed"]);
  });

  it.each([
    ["skipped", skippedConclusion("a draft")],
    ["called off", cancelledConclusion("the head moved on")],
    ["failed", failedConclusion("no model")],
  ])("goes on where the review was %s", async (_how, update) => {
    const { again, history } = await openedAfter(update);

    expect(again.reviewed).toBe(false);
    expect(history.at(-1)?.status).toBe("in_progress");
  });

  it("is one run for each head and trigger", async () => {
    const github = new MemoryGitHub();
    await openCheckRun(github, head, "event", noSleep);
    await openCheckRun(github, head, "event", noSleep);
    await openCheckRun(github, head, "comment:7", noSleep);

    expect(github.checks).toHaveLength(2);
  });

  it("passes a merge queue", () => {
    expect(passedConclusion("reviewed before")).toMatchObject({ status: "completed", conclusion: "success" });
  });
});
