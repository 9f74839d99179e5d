import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { parseMarker } from "../../../src/core/ledger/marker.ts";
import type { CheckRunUpdate, PullState } from "../../../src/pull/github/pull-request-api.ts";
import {
  closeCheckRun,
  concludeAtOnce,
  openCheckRun,
  settleChecks,
} from "../../../src/pull/publish/check-run.ts";
import {
  cancelledConclusion,
  failedConclusion,
  passedConclusion,
  withheldConclusion,
} from "../../../src/pull/publish/conclusions.ts";
import { publicPlain, publicText } from "../../../src/pull/publish/public-text.ts";
import { head, MemoryGitHub } from "./memory-github.ts";

const policy = { threshold: "high", fail: true } as const;
const draft = withheldConclusion("it is a draft", [], policy, "skipped");
const waiting = withheldConclusion("it is a draft", [], policy, "waits");
const red: CheckRunUpdate = {
  ...{ status: "completed", conclusion: "failure" },
  ...{ title: publicPlain("Found 1 high"), summary: publicText("One finding.") },
};
const green: CheckRunUpdate = {
  ...{ status: "completed", conclusion: "success" },
  ...{ title: publicPlain("No problems found"), summary: publicText("All read.") },
};

const eventOf = ({ number, baseRef }: PullState) => `event#${number}@${baseRef}`;

/** Pull request 7, and 8 with the same head. */
function twoPulls() {
  const github = new MemoryGitHub();
  const alice: PullState = github.state;
  const mallory: PullState = { number: 8, state: "open", headSha: head, baseRef: "main" };
  github.otherPulls.set(8, mallory);
  const review = async (pull: PullState, update: CheckRunUpdate, trigger = eventOf(pull)) => {
    const check = await openCheckRun(github, pull, trigger);
    await check.conclude(update);
  };
  const skip = (pull: PullState) => concludeAtOnce(github, pull, eventOf(pull), draft);
  /** What GitHub shows of the commit: its newest check run. */
  const shown = () => {
    const { status, conclusion, title, summary } = github.checks.at(-1)?.history.at(-1) ?? red;
    return { shows: status === "completed" ? conclusion : status, title, summary };
  };
  const all = () => github.checks.map(({ history }) => history.at(-1)?.conclusion ?? "open");
  return { github, alice, mallory, review, skip, shown, all };
}

describe("The check of a commit that several open pull requests have as their head", () => {
  it("The check stays red under the draft of a stranger, and names the pull request of the finding", async () => {
    const { alice, mallory, review, skip, shown } = twoPulls();
    await review(alice, red);
    await skip(mallory);

    expect(shown()).toMatchObject({ shows: "failure", title: "#7 has the same commit: Found 1 high" });
    expect(shown().summary).toContain(
      'The conclusion "failure" comes from pull request #7, which has the same head commit.',
    );
    expect(shown().summary).toContain("Not reviewed: it is a draft".slice("Not reviewed: ".length));
  });

  it("The check neither passes nor fails while one pull request waits for its review, unless one is red", async () => {
    const { github, alice, mallory, review, shown } = twoPulls();
    const wait = (pull: PullState) => concludeAtOnce(github, pull, eventOf(pull), waiting);
    await wait(mallory);
    expect(shown()).toMatchObject({ shows: "queued", title: "Waits to be reviewed" });
    await review(alice, green);
    expect(shown()).toMatchObject({ shows: "in_progress", title: "Waiting for the review of #8" });
    await review(alice, red, "comment:5");
    expect(shown().shows).toBe("failure");
    await review(alice, green, "comment:6");
    await review(mallory, green);
    expect(shown().shows).toBe("success");
  });

  it("The check is the draft's own again when the red pull request is closed, moved or gone", async () => {
    for (const leave of [{ state: "closed" }, { headSha: "c".repeat(40) }] as const) {
      const { github, alice, mallory, review, skip, shown } = twoPulls();
      await review(alice, red);
      await skip(mallory);
      Object.assign(github.state, leave);
      expect(await settleChecks(github, head, github.state)).toBeUndefined();
      expect(shown()).toMatchObject({ shows: "skipped", title: "Not reviewed" });
      expect(shown().summary).not.toContain("#7");
    }
    const { github, mallory, review, skip, shown } = twoPulls();
    await review({ ...mallory, number: 9 }, red);
    await skip(mallory);
    expect(shown().shows).toBe("skipped");
    expect(github.count("pullState")).toBeGreaterThan(0);
  });

  it("The check is that of the others when the red one is closed, although its check run is the newest", async () => {
    for (const leave of [{ state: "closed" }, { headSha: "c".repeat(40) }] as const) {
      const { github, alice, mallory, review, shown } = twoPulls();
      await review(alice, green);
      await review(mallory, red);
      Object.assign(mallory, leave);
      await settleChecks(github, head, mallory);
      expect(shown()).toMatchObject({
        shows: "success",
        title: "#7 has the same commit: No problems found",
      });
    }
  });

  it("The check is not passed by a draft while the other pull request is being reviewed", async () => {
    const { github, alice, mallory, skip, shown, all } = twoPulls();
    const check = await openCheckRun(github, alice, eventOf(alice));
    await skip(mallory);
    expect(shown()).toMatchObject({ shows: "in_progress", title: "Waiting for the review of #7" });

    await check.conclude(green);
    expect(all()).toEqual(["success", "skipped"]);
    expect(shown().title).toBe("Not reviewed");
  });

  it("The check is not passed by a review of the other while one is red", async () => {
    const { alice, mallory, review, all } = twoPulls();
    await review(mallory, green);
    await review(alice, red);
    expect(all()).toEqual(["failure", "failure"]);
    await review(alice, green, "comment:5");
    expect(all()).toEqual(["success", "failure", "success"]);
  });

  it("The check waits for the next review of the red pull request in the same check run", async () => {
    const { github, alice, mallory, review, skip, shown, all } = twoPulls();
    await review(alice, red);
    await skip(mallory);
    const again = await openCheckRun(github, alice, eventOf(alice), true);
    await skip(mallory);
    expect(shown().shows).toBe("in_progress");
    await again.conclude(green);
    expect(all()).toEqual(["success", "skipped"]);
  });

  it("The check counts reviews that a limit or a fault stopped, and none that was called off", async () => {
    const limit = withheldConclusion("the budget of the day is spent", [], policy, "failure");
    for (const [update, expected] of [
      [limit, "failure"],
      [failedConclusion(new AppError("model_failed", "no model")), "neutral"],
      [cancelledConclusion("the head moved on"), "skipped"],
    ] as const) {
      const { alice, mallory, review, skip, shown } = twoPulls();
      await review(alice, update);
      await skip(mallory);
      expect(shown().shows).toBe(expected);
    }
  });

  it("The check of a merge queue is left alone", async () => {
    const { github, alice, review, all } = twoPulls();
    await github.createCheckRun(head, `${head}:merge_group`, passedConclusion("it was reviewed"));
    await review(alice, red);
    expect(all()).toEqual(["success", "failure"]);
  });

  it("The check is closed with the review that was called off", async () => {
    const { github, alice, mallory, skip, shown } = twoPulls();
    await openCheckRun(github, alice, eventOf(alice));
    await skip(mallory);
    Object.assign(github.state, { headSha: "c".repeat(40) });
    const key = { head, trigger: eventOf(alice) };
    await closeCheckRun(github, key, github.state, cancelledConclusion("The head moved on."));
    expect(shown().shows).toBe("skipped");
  });
});

describe("The check of a pull request that changes its branch", () => {
  it("The check stays red for an unreviewed branch, is new for another, and red again on the way back", async () => {
    const { github, alice, review, skip, shown } = twoPulls();
    await review({ ...alice }, red);
    Object.assign(github.state, { baseRef: "docs" });
    await skip(github.state);
    expect(shown().shows).toBe("failure");

    Object.assign(github.state, { baseRef: "release" });
    await review(github.state, green);
    expect(shown().shows).toBe("success");

    Object.assign(github.state, { baseRef: "main" });
    await settleChecks(github, head, github.state);
    expect(shown()).toMatchObject({ shows: "failure", title: "Found 1 high" });
  });
});

describe("A check run that is requested again", () => {
  it("The check run counts as the newest, although others of the pull request were created later", async () => {
    const { github, alice, review, shown } = twoPulls();
    await review(alice, green);
    await review(alice, green, "comment:5");
    for (const update of [red, green]) {
      const again = await openCheckRun(github, alice, eventOf(alice), true);
      await again.conclude(update);
      expect(shown()).toMatchObject({ shows: update.conclusion, title: update.title });
    }
  });

  it("The check run turns a newer one of the same pull request green if all was dismissed meanwhile", async () => {
    const { github, alice, review, shown } = twoPulls();
    await review(alice, green);
    await review(alice, red, "comment:5");
    const again = await openCheckRun(github, alice, eventOf(alice), true);
    await again.conclude(green);
    expect(shown().shows).toBe("success");
    expect(shown().summary).toContain("comes from a newer review of this pull request");
  });
});

describe("A head that nobody has read for its branch yet", () => {
  it("The head is not passed by its check for another branch while its own review runs", async () => {
    const { github, review, shown } = twoPulls();
    const first = await openCheckRun(github, { ...github.state }, "event#7@main");
    await first.conclude(cancelledConclusion("the pull request was closed"));
    Object.assign(github.state, { baseRef: "release" });
    await review(github.state, green);
    Object.assign(github.state, { baseRef: "main" });
    const check = await openCheckRun(github, github.state, "event#7@main");
    expect(shown()).toMatchObject({
      shows: "in_progress",
      title: "Waiting for another review of this pull request",
    });
    await check.conclude(red);
    expect(shown().shows).toBe("failure");
  });

  it("The head is not passed by another skipped one when its check run is taken up again", async () => {
    const { github, alice, mallory, skip, shown } = twoPulls();
    const first = await openCheckRun(github, alice, eventOf(alice));
    await first.conclude(cancelledConclusion("the pull request was closed"));
    Object.assign(alice, { state: "closed" });
    await skip(mallory);
    expect(shown().shows).toBe("skipped");
    Object.assign(alice, { state: "open" });
    await openCheckRun(github, alice, eventOf(alice));
    expect(shown()).toMatchObject({ shows: "in_progress", title: "Waiting for the review of #7" });
  });
});

describe("Two workers that settle one commit", () => {
  it("The state that the later worker saw stays, although the other one writes after it", async () => {
    const { github, alice, mallory, review, skip, shown } = twoPulls();
    await review(alice, red);
    await skip(mallory);
    Object.assign(alice, { state: "closed" });
    // A worker has read that #7 is closed, and its write arrives when #7 was opened again and dealt with.
    let isLate = true;
    github.meanwhile = (call) => {
      if (call !== "updateCheckRun" || !isLate) return;
      isLate = false;
      Object.assign(alice, { state: "open" });
    };
    await settleChecks(github, head, mallory);
    expect(isLate).toBe(false);
    expect(shown().shows).toBe("failure");
  });
});

describe("A check run that shows the conclusion of another pull request", () => {
  it("The check run keeps its own words and conclusion, however often it changes", async () => {
    const { github, alice, mallory, review } = twoPulls();
    await review(mallory, green);
    for (const update of [red, green, red, green]) await review(alice, update, `comment:${Math.random()}`);
    for (const [number] of github.otherPulls) expect(number).toBe(8);
    const [own] = await github.checkRuns(head);
    expect(own).toMatchObject({ conclusion: "success", title: "No problems found" });
    expect(own?.summary?.startsWith("All read.\n\n<!-- hunkwise:check v2 ")).toBe(true);
    expect(parseMarker(own?.summary ?? "")).toMatchObject({ pull: 8, own: { conclusion: "success" } });
  });
});

describe("Any acts of several pull requests with one head", () => {
  type Act = {
    pull: number;
    act: "red" | "green" | "skip" | "close" | "reopen" | "leave" | "return";
    /** In the check run of the pull request's event, whichever is there. */
    isAgain: boolean;
  };
  const acts: fc.Arbitrary<Act[]> = fc.array(
    fc.record({
      pull: fc.constantFrom(7, 8, 9),
      act: fc.constantFrom("red", "green", "skip", "close", "reopen", "leave", "return"),
      isAgain: fc.boolean(),
    }),
    { maxLength: 14 },
  );

  it("The newest check run never passes while an open one's newest review is red", async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (sequence) => {
        const { github, mallory, skip, shown } = twoPulls();
        github.otherPulls.set(9, { ...mallory, number: 9 });
        const last = new Map<number, string>();
        for (const [at, { pull: number, act, isAgain }] of sequence.entries()) {
          const pull = number === 7 ? github.state : (github.otherPulls.get(number) as PullState);
          if (act === "close" || act === "reopen") pull.state = act === "close" ? "closed" : "open";
          else if (act === "leave" || act === "return")
            pull.headSha = act === "leave" ? "c".repeat(40) : head;
          else if (pull.state === "closed" || pull.headSha !== head) continue;
          else if (act === "skip") await skip(pull);
          else {
            const trigger = isAgain ? eventOf(pull) : `comment:${at}`;
            const check = await openCheckRun(github, pull, trigger, true);
            await check.conclude(act === "red" ? red : green);
            last.set(number, act);
          }
          await settleChecks(github, head, pull);
          const present = [github.state, ...github.otherPulls.values()].filter(
            ({ state, headSha }) => state === "open" && headSha === head,
          );
          const isRed = present.some((one) => last.get(one.number) === "red");
          if (isRed) expect(shown().shows).toBe("failure");
          const isGreen =
            github.checks.length > 0 && present.every((one) => last.get(one.number) === "green");
          if (isGreen && present.length === 3) expect(shown().shows).not.toBe("failure");
        }
      }),
      { seed: 18, numRuns: process.env.HUNKWISE_LONG === "1" ? 5_000 : 150 },
    );
  });
});
