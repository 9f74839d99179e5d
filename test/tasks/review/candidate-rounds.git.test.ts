import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunEntry, UnitEntry } from "../../../src/agent/record/trajectory.ts";
import { emptyState } from "../../../src/core/ledger/state.ts";
import { historyOf } from "../../../src/server/jobs/prompt-context.ts";
import type { Analyzer, Diagnostic } from "../../../src/tasks/rules/analyzers/analyzer.ts";
import type { ReviewResult } from "../../../src/tasks/shapes/review-result.ts";
import type { ScriptedTurn } from "../../support/scripted.ts";
import {
  COUNT,
  createRounds,
  finding,
  type RoundOptions,
  type Rounds,
  reports,
  round,
} from "./followup/later-round.ts";

/*
 * Likely matches over several reviews of one pull request: what one of them did not get an answer to, the next one asks again.
 */

let rounds: Rounds;
beforeAll(() => {
  rounds = createRounds();
});
afterAll(() => rounds?.dispose());

/** Rules match these lines. */
const matching = (places: readonly (readonly [path: string, line: number, rule?: string])[]): Analyzer => ({
  name: "test",
  analyze: async (file) =>
    places
      .filter(([path]) => path === file.path)
      .map(
        ([path, line, rule = "rule"]): Diagnostic => ({
          ...{ path, line, start_line: null, category: "correctness", suggestion: null },
          severity: rule === "mild" ? "low" : "medium",
          ...{ title: "A rule matches this line", body: "It does.", source: `test/${rule}` },
        }),
      ),
});

/** Where the matches of a result ended, as "r4 not judged". */
const endsOf = ({ findings, dropped }: ReviewResult) => [
  ...findings.flatMap(({ finding: one }) =>
    [one, ...one.places].map(({ path, line }) => `${path}:${line} ${one.verification}`),
  ),
  ...dropped.map(({ path, line, verdict }) => `${path}:${line} ${verdict}`),
];

const once = (first: ScriptedTurn) => {
  let n = 0;
  return () => (n++ === 0 ? first : { content: "" });
};

describe("rule matches in later rounds", () => {
  it("A report in code that was read before is not raised, and answers no rule match", async () => {
    const first = await round(rounds, { head: "first", analyzers: [] });
    const { result } = await round(rounds, {
      ...{ head: "beside", reviewed: first.ledger.reviewed, analyzers: [matching([["cart.ts", 4]])] },
      ...{ leavesCandidates: true, effort: "low" },
      script: {
        review: once(reports(finding({ ...COUNT, title: "It counts one too few", candidates: ["c1"] }))),
      },
    });
    expect(endsOf(result)).toContain("cart.ts:4 not_judged");
  });

  /** One rule matches more often than a prompt has room for, on lines that are all read. */
  const tooMany = Array.from({ length: 61 }, (_, at) => ["cart.ts", 3, `s${at}`] as const);

  it("A match without room in the prompt is asked about again after a canceled review", async () => {
    const analyzers = [matching(tooMany)];
    const entries: RunEntry[] = [];
    const trajectory = { append: async (entry: RunEntry) => void entries.push(entry) };
    const options: RoundOptions = { head: "first", analyzers };
    await round(rounds, { ...options, trajectory });

    const recorded = entries.filter((entry): entry is UnitEntry => entry.kind === "unit");
    const { reviewed } = historyOf({
      ...{ key: "", state: emptyState, mode: "new", recorded, head: "another", privatePaths: [] },
    });
    const next = await round(rounds, { ...options, reviewed });
    expect(endsOf(next.result)).toHaveLength(tooMany.length);
  });

  it("All files of a group without room are asked about again, not only the first", async () => {
    const grouped = [
      ["cart.ts", 3, "mild"],
      ["nan.js", 1, "mild"],
    ] as const;
    const first = await round(rounds, {
      head: "first",
      analyzers: [matching([...tooMany.slice(1), ...grouped])],
    });
    expect(first.result.findings).toMatchObject([
      { finding: { path: "cart.ts", places: [{ path: "nan.js" }] } },
    ]);

    const { reviewed } = first.ledger;
    const { result } = await round(rounds, { head: "first", reviewed, analyzers: [matching(grouped)] });
    expect(endsOf(result)).toEqual(["cart.ts:3 rejected", "nan.js:1 rejected"]);
  });
});
