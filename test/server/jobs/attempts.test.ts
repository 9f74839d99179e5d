import { describe, expect, it } from "vitest";
import { forAllRoles } from "../../../src/agent/llm/model.ts";
import type { TrajectoryEntry } from "../../../src/agent/record/trajectory.ts";
import { defaultRepoConfig } from "../../../src/config/repo-config.ts";
import type { OwnText } from "../../../src/core/ledger/entry.ts";
import { formatMarker } from "../../../src/core/ledger/marker.ts";
import { emptyState } from "../../../src/core/ledger/state.ts";
import { openCheckRun } from "../../../src/pull/publish/check-run.ts";
import { publicText } from "../../../src/pull/publish/public-text.ts";
import {
  closeEarlierChecks,
  publishedName,
  recordedMasks,
  recordedResult,
  recordedTests,
  recordedTurns,
  startProofs,
  triggerOf,
  wasPublished,
} from "../../../src/server/jobs/attempts.ts";
import type { ProveInput, ProveTarget } from "../../../src/tasks/prove/prove-input.ts";
import { MemoryGitHub } from "../../pull/publish/memory-github.ts";
import { sampleResult } from "../../report/sample-result.ts";

const [a, b] = ["a".repeat(40), "b".repeat(40)];
const opened = (head: string, trigger = "event"): TrajectoryEntry => ({
  kind: "check_opened",
  head,
  trigger,
});
const sticky = (trigger: string): OwnText => ({
  id: 1,
  body: `Text\n\n${formatMarker({ kind: "summary", head: a, trigger, state: emptyState })}`,
});
const warn = (notice: string) => {
  throw new Error(notice);
};

async function pullAt(headSha: string, state: "open" | "closed" = "open") {
  const github = new MemoryGitHub();
  const pull = { ...(await github.pull()), headSha, baseSha: "base", state };
  return { github, met: { pull, trigger: "event" } };
}

describe("the input of proofs", () => {
  const shas = { head: a, base: b, mergeBase: b };
  const limits = { turns: 9, tokens: 90_000, costUsd: null, milliseconds: 60_000 };
  const target: ProveTarget = {
    ...{ id: "f1", severity: "high", title: "No total", text: "It throws.", path: "a.js", side: "RIGHT" },
    ...{ line: 1, start_line: null, symbol: null, suggestion: null },
  };
  const input: ProveInput = {
    ...{ targetBranch: "main", pull: null, targets: [target], config: defaultRepoConfig, limits },
    models: forAllRoles({ name: "m", contextTokens: 9_000, protocol: "native" }),
  };
  /** Starts with each of the inputs, one attempt after the other. */
  async function start(...given: { input: ProveInput; shas?: typeof shas }[]) {
    const recorded: TrajectoryEntry[] = [];
    const record = async (entry: TrajectoryEntry) => void recorded.push(JSON.parse(JSON.stringify(entry)));
    const started: ProveInput[] = [];
    for (const one of given)
      started.push(await startProofs(one.input, { shas: one.shas ?? shas }, [...recorded], { record }));
    return { started, recorded };
  }

  it("The input of proofs is that of an earlier attempt if only less is left to spend", async () => {
    const less = { ...input, limits: { ...limits, tokens: 30_000 } };
    const { started, recorded } = await start({ input }, { input: less });
    expect(started[1]).toEqual(input);
    expect(recorded).toEqual([{ kind: "run", what: "prove", shas, input: expect.anything() }]);
  });

  it.each([
    ["findings", { input: { ...input, targets: [{ ...target, id: "f2" }] } }],
    ["configuration", { input: { ...input, config: { ...defaultRepoConfig, max_comments: 3 } } }],
    ["files", { input, shas: { ...shas, head: b } }],
  ])("The input of proofs is recorded anew for other %s", async (_, other) => {
    const { started, recorded } = await start({ input }, other);
    expect(started[1]).toEqual(other.input);
    expect(recorded).toHaveLength(2);
  });

  it("The input of proofs comes with every run of a test on record", () => {
    const end = {
      ...{ stdout: "", stderr: "", exit_code: 0, ended: null, changed: [], executed: null, duration_ms: 1 },
    };
    expect(recordedTests([opened(a), { kind: "tested", key: "k", end }])).toEqual([{ key: "k", end }]);
  });
});

it("Check runs of earlier attempts are canceled once the head has moved on, each on its own head and trigger", async () => {
  const { github, met } = await pullAt(b);
  await openCheckRun(github, { ...github.state, headSha: a }, "event");
  await openCheckRun(github, { ...github.state, headSha: a }, "comment:7");

  await closeEarlierChecks([opened(a), opened(a, "comment:7"), opened(a)], met, github, warn);

  expect(github.checks.map((check) => check.history.at(-1)?.conclusion)).toEqual(["cancelled", "cancelled"]);
});

it("Check runs of earlier attempts stay open on the head that is reviewed now", async () => {
  const { github, met } = await pullAt(a);
  await openCheckRun(github, { ...github.state, headSha: a }, "event");

  await closeEarlierChecks([opened(a)], met, github, warn);

  expect(github.checks[0]?.history.at(-1)?.status).toBe("in_progress");
});

it("Check runs of earlier attempts are canceled if the review is for another branch now", async () => {
  const { github, met } = await pullAt(a);
  await openCheckRun(github, { ...github.state, headSha: a }, "event@stacked");

  await closeEarlierChecks([opened(a, "event@stacked"), opened(a)], met, github, warn);

  expect(github.checks[0]?.history.at(-1)?.conclusion).toBe("cancelled");
});

it("Check runs of earlier attempts are canceled when the pull request was closed", async () => {
  const { github, met } = await pullAt(a, "closed");
  await openCheckRun(github, { ...github.state, headSha: a }, "event");

  await closeEarlierChecks([opened(a)], met, github, warn);

  expect(github.checks[0]?.history.at(-1)?.conclusion).toBe("cancelled");
});

it("Check runs of earlier attempts that were concluded are left alone", async () => {
  const { github, met } = await pullAt(b);
  const check = await openCheckRun(github, { ...github.state, headSha: a }, "event");
  await check.conclude({
    status: "completed",
    conclusion: "success",
    title: publicText("T"),
    summary: publicText("S"),
  });

  await closeEarlierChecks([opened(a)], met, github, warn);

  expect(github.checks[0]?.history.at(-1)?.conclusion).toBe("success");
});

describe("the result of an earlier attempt", () => {
  const result = sampleResult();
  const entry: TrajectoryEntry = {
    kind: "result",
    head: a,
    base: "base",
    result: JSON.parse(JSON.stringify(result)),
  };

  const of = (headSha: string, sticky: OwnText | null = null) => ({
    ...{ pull: { headSha, baseSha: "base" }, trigger: "event#7@main", ledger: { sticky } },
  });

  it("The result of an earlier attempt is taken over for the same head and base", () => {
    expect(recordedResult([entry], of(a))).toEqual(result);
  });

  it("The result of an earlier attempt is taken over without a list of masked lines", () => {
    const { masked: _, ...older } = result;
    expect(recordedResult([{ ...entry, result: older }], of(a))).toEqual(result);
  });

  it("The result of an earlier attempt is not taken over for another head, or from another version", () => {
    expect(recordedResult([entry], of(b))).toBeUndefined();
    expect(recordedResult([{ ...entry, result: { head_sha: a } }], of(a))).toBeUndefined();
  });

  it("The result of an earlier attempt is not taken over once another job has published", () => {
    const [earlier, other, own] = [sticky("comment:8"), sticky("comment:9"), sticky("event#7@main")];
    const knowing = (after: OwnText | null): TrajectoryEntry => ({
      ...{ ...entry, after: publishedName({ sticky: after }) },
    });

    expect(recordedResult([knowing(earlier)], of(a, earlier))).toEqual(result);
    expect(recordedResult([knowing(earlier)], of(a, own))).toEqual(result);
    expect(recordedResult([knowing(null)], of(a))).toEqual(result);
    expect(recordedResult([knowing(null)], of(a, other))).toBeUndefined();
    expect(recordedResult([knowing(earlier)], of(a, other))).toBeUndefined();
    // Nothing said what it knew of.
    expect(recordedResult([entry], of(a, other))).toEqual(result);
  });
});

it("The turns of earlier attempts are handed on without what the job noted about itself", () => {
  const stopped: TrajectoryEntry = { kind: "stopped", loop: "review", reason: "finished" };
  const unit: TrajectoryEntry = { kind: "unit", head: a, loop: "review", hashes: [], findings: [] };

  expect(recordedTurns([opened(a), stopped, unit], a)).toEqual([stopped]);
});

it("The turns of earlier attempts keep the numbers of their masks, of whichever head", () => {
  const masks: TrajectoryEntry = {
    kind: "masks",
    work: "review",
    head: a,
    salt: "s",
    numbers: { hash: 1 },
  };
  const began: TrajectoryEntry = { kind: "began", head: b };
  expect(recordedMasks([opened(a), masks, began])).toEqual([masks]);
  expect(recordedTurns([masks], a)).toEqual([]);
});

it("The turns of earlier attempts are those of the present head alone, whatever came in between", () => {
  const turn = (turn: number): TrajectoryEntry => ({
    ...{ kind: "turn", loop: "review", turn },
    model: {
      ...{ content: "", toolCalls: [], finishReason: "stop" },
      usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1, costUsd: null },
    },
  });
  const began = (head: string): TrajectoryEntry => ({ kind: "began", head });
  const recorded = [began(a), turn(1), began(b), turn(2), began(a), turn(3)];

  expect(recordedTurns(recorded, a)).toEqual([turn(1), turn(3)]);
  expect(recordedTurns(recorded, b)).toEqual([turn(2)]);
  // An older version told of no head.
  expect(recordedTurns([opened(b), turn(4), began(b), turn(5)], a)).toEqual([turn(4)]);
});

it.each([
  ["an event", "event#7", null, "event#7@main"],
  ["a suite that a person asked for again", "event#7", "ann", "event#7@main"],
  ["a check run that a person asked for again", "event#7@main", "ann", "event#7@main"],
  ["one of the time when it was for another branch", "event#7@stacked", "ann", "event#7@main"],
  ["a command", "comment:9", "ann", "comment:9"],
])("The trigger of a review of %s", (_name, trigger, requestedBy, expected) => {
  expect(triggerOf({ trigger, requestedBy }, { baseRef: "main" })).toBe(expected);
});

it("The summary comment says which review was published, by head and trigger", () => {
  const key = { head: a, trigger: "event#7@main" };
  expect(wasPublished(key, { sticky: sticky("event#7@main") })).toBe(true);
  expect(wasPublished({ ...key, head: b }, { sticky: sticky("event#7@main") })).toBe(false);
  expect(wasPublished(key, { sticky: sticky("comment:9") })).toBe(false);
  expect(wasPublished(key, { sticky: null })).toBe(false);
});
