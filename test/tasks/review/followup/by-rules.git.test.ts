import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/core/errors.ts";
import type { Finding } from "../../../../src/core/finding.ts";
import type { Reviewed } from "../../../../src/core/ledger/state.ts";
import { sampleFinding } from "../../../report/sample-result.ts";
import {
  comment,
  createRounds,
  finding,
  NAN,
  type RoundOptions,
  type Rounds,
  reports,
  resolves,
  round,
} from "./later-round.ts";

/*
 * What rules tell of earlier findings: a certain one is fixed when its analyzer does not find it, and by nobody else; what was
 * published unjudged is withdrawn when a model rejects it, or when people switch its rule off.
 */

let rounds: Rounds;
let reviewed: Reviewed;
beforeAll(async () => {
  rounds = createRounds();
  reviewed = (await round(rounds, { head: "first" })).ledger.reviewed;
});
afterAll(() => rounds?.dispose());

const nan = "ast-grep/js-compare-nan";
const aboutNan = comment({
  ...NAN,
  id: "f0f0f0f0f0f0",
  original_line: 1,
  symbol: null,
  code: null,
  source: nan,
  title: "Nothing is equal to NaN",
});
const aboutKey = comment({
  source: "secrets/github-token",
  category: "security",
  code: null,
  title: "A GitHub token is in this file",
});
const later = (head: RoundOptions["head"], options: Partial<RoundOptions> = {}) =>
  round(rounds, { head, reviewed, script: { recheck: () => resolves("fixed") }, ...options });

describe("an earlier certain finding", () => {
  it("A certain finding is fixed when its rule no longer matches, without a model", async () => {
    const { ledger, asked } = await later("fixed", { earlier: [aboutKey] });
    expect(ledger.resolutions).toEqual([
      { comment: 7, state: "fixed", reason: "The rule no longer matches." },
    ]);
    expect(asked("recheck")).toEqual([]);
  });

  it("A certain finding is fixed in the same way if no model can be asked", async () => {
    const state = { comment: 7, state: "fixed" };
    const offline = await later("fixed", { earlier: [aboutKey], offline: true });
    expect(offline.ledger.resolutions).toMatchObject([state]);
    const away = await later("fixed", {
      earlier: [aboutKey],
      script: { review: () => new AppError("model_failed", "away") },
    });
    expect(away.ledger.resolutions).toMatchObject([state]);
  });

  it("A certain finding stays open if its analyzer did not finish on the file", async () => {
    const failing = { name: "secrets", analyze: () => Promise.reject(new Error("no idea")) };
    const { ledger, asked } = await later("fixed", { earlier: [aboutKey], analyzers: [failing] });
    expect(ledger.resolutions).toEqual([]);
    expect(asked("recheck")).toEqual([]);
  });

  it("A comment without its rule is checked by a model", async () => {
    const { asked } = await later("fixed", { earlier: [{ ...aboutKey, source: null }] });
    expect(asked("recheck")).toHaveLength(1);
  });
});

describe("a rule match that was published unjudged", () => {
  it("A match is withdrawn with the reason when a model rejects it", async () => {
    const { ledger, result } = await round(rounds, { head: "first", earlier: [aboutNan] });
    expect(ledger.resolutions).toEqual([
      { comment: 7, state: "withdrawn", reason: "The code is right here." },
    ]);
    expect(result.dropped).toMatchObject([{ verdict: "rejected", rule: nan, path: NAN.path, line: 1 }]);
  });

  it("A match keeps its comment when a model confirms it", async () => {
    const same = { path: NAN.path, line: 1, quote: NAN.quote, severity: "high", category: "correctness" };
    const report = reports({
      ...same,
      title: "Nothing is equal to NaN",
      body: "So.",
      confidence: 1,
      candidates: ["c1"],
    });
    const { ledger, result } = await round(rounds, {
      head: "first",
      earlier: [aboutNan],
      script: { review: () => report },
    });
    expect(ledger.resolutions).toEqual([]);
    expect(ledger.repeats).toMatchObject([{ comment: 7 }]);
    expect(result.dropped).toEqual([]);
  });

  it("A match is withdrawn when a model reports it in its own words", async () => {
    const own = { path: NAN.path, line: 1, quote: NAN.quote, severity: "high", category: "error-handling" };
    const { ledger, result } = await round(rounds, {
      ...{ head: "first", earlier: [aboutNan] },
      script: {
        review: () => reports(finding({ ...own, title: "The helper is always false", candidates: ["c1"] })),
      },
    });
    expect(result.findings).toMatchObject([{ finding: { source: "model" } }]);
    expect(ledger.repeats).toEqual([]);
    expect(ledger.resolutions).toEqual([
      { comment: 7, state: "withdrawn", reason: "A model has since judged this match." },
    ]);
  });

  it("The next review with a model judges a match, although nothing has changed", async () => {
    const away = { review: () => new AppError("model_failed", "away") };
    const first = await round(rounds, { head: "first", script: away });
    expect(first.result.findings).toMatchObject([{ finding: { source: nan, verification: "not_judged" } }]);

    const second = await round(rounds, { head: "first", reviewed: first.ledger.reviewed });
    expect(second.result.findings).toEqual([]);
    expect(second.result.dropped).toMatchObject([{ verdict: "rejected", rule: nan }]);
  });

  it("A match is withdrawn when the base's configuration switches its rule off", async () => {
    const { ledger } = await round(rounds, {
      head: "first",
      earlier: [aboutNan],
      config: { rules: { [nan]: "off" } },
    });
    expect(ledger.resolutions).toEqual([
      {
        comment: 7,
        state: "withdrawn",
        reason: "The configuration of the base branch switches this rule off.",
      },
    ]);
  });

  it("A dismissed match counts as judged: it is not repeated, and the review is not partial", async () => {
    const { result, ledger } = await round(rounds, {
      ...{
        head: "first",
        earlier: [{ ...aboutNan, severity: "high", state: "dismissed" }],
        leavesCandidates: true,
      },
    });
    expect(ledger.repeats).toMatchObject([{ comment: 7 }]);
    expect(result.findings).toMatchObject([{ finding: { source: nan, verification: "unverified" } }]);
  });
});

describe("a certain finding without a comment", () => {
  const carried = (over: Partial<Finding>) => ({
    finding: sampleFinding({
      id: "cccccccccccc",
      path: "cart.ts",
      line: 3,
      quote: "",
      suggestion: null,
      ...over,
    }),
    ...{ standing: "listed" as const, reason: "a review has at most 3 comments on lines" },
  });

  it("The finding is settled when its rule no longer matches, and stays while that is unknown", async () => {
    const one = carried({ source: "secrets/github-token", severity: "critical" });
    const { ledger, asked } = await later("fixed", { carried: [one] });
    expect(ledger.settled).toMatchObject([{ path: "cart.ts", reason: "The rule no longer matches." }]);
    expect(asked("recheck")).toEqual([]);

    const failing = { name: "secrets", analyze: () => Promise.reject(new Error("no idea")) };
    const unknown = await later("fixed", { carried: [one], analyzers: [failing] });
    expect(unknown.ledger.carried).toMatchObject([{ finding: "cccccccccccc" }]);
  });
});
