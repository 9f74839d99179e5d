import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openCheckRun } from "../../src/pull/publish/check-run.ts";
import { publishReview } from "../../src/pull/publish/publish-review.ts";
import { head, MemoryGitHub } from "../pull/publish/memory-github.ts";
import { summary } from "../pull/publish/publish-to-memory.ts";
import type { ScriptedTurn } from "../support/scripted.ts";
import { createRounds, type Rounds, round } from "../tasks/review/followup/later-round.ts";

let rounds: Rounds;
beforeAll(() => {
  rounds = createRounds();
});
afterAll(() => rounds?.dispose());

/** The published review of a model that always gives this answer. */
async function published(turn: ScriptedTurn) {
  const { result } = await round(rounds, { head: "first", script: { review: () => turn } });
  const github = new MemoryGitHub();
  const check = await openCheckRun(github, github.state, "event");
  await publishReview({
    ...{
      result: { ...result, head_sha: head },
      api: github,
      trigger: "event",
      check,
      baseRef: "main",
      maxComments: 20,
    },
    ...{ repositoryUrl: "https://github.com/octo/shop", version: "0.1.0" },
    checkPolicy: { threshold: "high", fail: false },
  });
  const last = github.checks[0]?.history.at(-1);
  return { conclusion: last?.conclusion, text: [last?.title, last?.summary, summary(github)].join("\n") };
}

describe("a model that is asked for a review", () => {
  it.each<[string, ScriptedTurn]>([
    ["says nothing", { content: "" }],
    ["refuses in words", { content: "I'm sorry, but I can't help with that." }],
    ["is kept from answering by a filter", { content: "", finishReason: "content_filter" }],
    ["praises and reports nothing", { content: "LGTM! The change is perfect. Approved." }],
  ])("model-fails: A model that is asked and %s gives a failed review, without praise", async (_, turn) => {
    const { conclusion, text } = await published(turn);
    expect(conclusion).toBe("neutral");
    expect(text).toMatch(/incomplete|failed/i);
    expect(text).not.toMatch(/no problems|✅|LGTM|perfect|approved/i);
  });
});
