import { describe, expect, it } from "vitest";
import type { TrajectoryEntry } from "../../src/agent/trajectory.ts";
import { closeEarlierChecks, recordedResult, recordedTurns } from "../../src/jobs/attempts.ts";
import { openCheckRun } from "../../src/reporters/check-run.ts";
import { MemoryGitHub } from "../reporters/memory-github.ts";
import { sampleResult } from "../reporters/sample-result.ts";

const [a, b] = ["a".repeat(40), "b".repeat(40)];
const opened = (head: string, trigger = "event"): TrajectoryEntry => ({
  kind: "check_opened",
  head,
  trigger,
});
const noSleep = async () => {};
const warn = (notice: string) => {
  throw new Error(notice);
};

async function pullAt(headSha: string, state: "open" | "closed" = "open") {
  const github = new MemoryGitHub();
  return { github, pull: { ...(await github.pull()), headSha, baseSha: "base", state, trigger: "event" } };
}

describe("check runs of earlier attempts", () => {
  it("are called off once the head has moved on, each on its own head and trigger", async () => {
    const { github, pull } = await pullAt(b);
    await openCheckRun(github, a, "event", noSleep);
    await openCheckRun(github, a, "comment:7", noSleep);

    await closeEarlierChecks([opened(a), opened(a, "comment:7"), opened(a)], pull, github, warn);

    expect(github.checks.map((check) => check.history.at(-1)?.conclusion)).toEqual([
      "cancelled",
      "cancelled",
    ]);
  });

  it("stay open on the head that is reviewed now", async () => {
    const { github, pull } = await pullAt(a);
    await openCheckRun(github, a, "event", noSleep);

    await closeEarlierChecks([opened(a)], pull, github, warn);

    expect(github.checks[0]?.history.at(-1)?.status).toBe("in_progress");
  });

  it("are called off where the review now is for another branch", async () => {
    const { github, pull } = await pullAt(a);
    await openCheckRun(github, a, "event@stacked", noSleep);

    await closeEarlierChecks([opened(a, "event@stacked"), opened(a)], pull, github, warn);

    expect(github.checks[0]?.history.at(-1)?.conclusion).toBe("cancelled");
  });

  it("are called off when the pull request was closed", async () => {
    const { github, pull } = await pullAt(a, "closed");
    await openCheckRun(github, a, "event", noSleep);

    await closeEarlierChecks([opened(a)], pull, github, warn);

    expect(github.checks[0]?.history.at(-1)?.conclusion).toBe("cancelled");
  });

  it("that were concluded are left alone", async () => {
    const { github, pull } = await pullAt(b);
    const check = await openCheckRun(github, a, "event", noSleep);
    await check.conclude({ status: "completed", conclusion: "success", title: "T", summary: "S" });

    await closeEarlierChecks([opened(a)], pull, github, warn);

    expect(github.checks[0]?.history.at(-1)?.conclusion).toBe("success");
  });
});

describe("the result of an earlier attempt", () => {
  const result = sampleResult();
  const entry: TrajectoryEntry = {
    kind: "result",
    head: a,
    base: "base",
    result: JSON.parse(JSON.stringify(result)),
  };

  it("is taken over for the same head and base", async () => {
    expect(recordedResult([entry], (await pullAt(a)).pull)).toEqual(result);
  });

  it("is not taken over for another head, or from another version", async () => {
    expect(recordedResult([entry], (await pullAt(b)).pull)).toBeUndefined();
    expect(recordedResult([{ ...entry, result: { head_sha: a } }], (await pullAt(a)).pull)).toBeUndefined();
  });
});

describe("the turns of earlier attempts", () => {
  it("are handed on without what the job noted about itself", () => {
    const stopped: TrajectoryEntry = { kind: "stopped", loop: "review", reason: "finished" };

    expect(recordedTurns([opened(a), stopped])).toEqual([stopped]);
  });
});
