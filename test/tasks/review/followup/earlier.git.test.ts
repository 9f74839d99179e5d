import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Finding } from "../../../../src/core/finding.ts";
import type { CarriedFinding, Reviewed } from "../../../../src/core/ledger/state.ts";
import { sampleFinding } from "../../../report/sample-result.ts";
import {
  COUNT,
  comment,
  createRounds,
  finding,
  NAN,
  type RoundOptions,
  type Rounds,
  reports,
  resolves,
  round,
  TOTAL,
} from "./later-round.ts";

let rounds: Rounds;
let reviewed: Reviewed;
beforeAll(async () => {
  rounds = createRounds();
  reviewed = (await round(rounds, { head: "first" })).ledger.reviewed;
});
afterAll(() => rounds?.dispose());

const later = (head: RoundOptions["head"], options: Partial<RoundOptions> = {}) =>
  round(rounds, { head, reviewed, ...options });

const carried = (
  standing: CarriedFinding["standing"],
  over: Partial<Finding> = {},
  reason = "a review has at most 3 comments on lines",
): CarriedFinding => ({
  finding: sampleFinding({
    ...{ id: "cccccccccccc", path: "cart.ts", symbol: "total", ...TOTAL, suggestion: null },
    ...{ title: "The total subtracts each price instead of adding it", severity: "medium", ...over },
  }),
  ...{ standing, reason },
});

describe("a finding without a comment", () => {
  it("The finding keeps its standing, on the current line of its code", async () => {
    const { result, ledger, asked } = await later("moved", { carried: [carried("listed")] });

    expect(result.findings).toMatchObject([{ finding: { id: "cccccccccccc", line: 43 } }]);
    expect(ledger.carried).toEqual([
      {
        finding: "cccccccccccc",
        standing: "listed",
        reason: "a review has at most 3 comments on lines",
      },
    ]);
    expect(asked("recheck").concat(asked("verify"))).toEqual([]);
  });

  it("The finding stays listed after a canceled review", async () => {
    const script = { review: () => reports(finding()) };
    const { result } = await later("elsewhere", { carried: [carried("unpublished")], script });

    expect(result.findings).toHaveLength(1);
    expect(result.dropped).toEqual([]);
  });

  it("The finding has the worse of its old and its new severity", async () => {
    const severityAfter = async (severity: string) => {
      const script = { review: () => reports(finding({ severity })) };
      const { result } = await round(rounds, { head: "first", carried: [carried("listed")], script });
      return result.findings.map((one) => one.finding.severity);
    };

    expect(await severityAfter("critical")).toEqual(["critical"]);
    expect(await severityAfter("low")).toEqual(["medium"]);
  });

  it("The finding is checked once when its code is gone, and not while its file stays as it is", async () => {
    const before = await later("fixed", { carried: [carried("listed")] });
    const [one] = before.result.findings;
    const [{ standing, reason } = { standing: "listed", reason: "" } as const] = before.ledger.carried;
    const next = await round(rounds, {
      ...{ head: "fixed", reviewed: before.ledger.reviewed },
      carried: one ? [{ finding: one.finding, standing, reason }] : [],
    });

    expect(before.asked("recheck")).toHaveLength(1);
    expect(next.result.findings).toHaveLength(1);
    expect(next.asked("recheck")).toEqual([]);
  });

  it("The finding is settled when its code is gone and a check says that it is fixed", async () => {
    const { result, ledger } = await later("fixed", {
      carried: [carried("annotated")],
      script: { recheck: () => resolves("fixed", "It adds now.") },
    });

    expect(result.findings).toEqual([]);
    expect(ledger.carried).toEqual([]);
    expect(ledger.settled).toEqual([
      {
        path: "cart.ts",
        title: "The total subtracts each price instead of adding it",
        reason: "It adds now.",
      },
    ]);
  });

  it("The finding stays listed if the check does not show that", async () => {
    const { result, ledger } = await later("fixed", { carried: [carried("annotated")] });

    expect(result.findings).toHaveLength(1);
    expect(ledger.carried).toMatchObject([
      { standing: "listed", reason: "the code that it was about has changed" },
    ]);
    expect(ledger.settled).toEqual([]);
  });

  it("The finding replaces a repetition, and no other finding has its id", async () => {
    const review = () => reports(finding(), finding({ ...COUNT, title: "One is not counted" }));
    const again = await round(rounds, {
      ...{ head: "first", script: { review } },
      carried: [carried("listed"), carried("listed")],
    });
    const ids = again.result.findings.map((one) => one.finding.id);
    const own = again.result.findings[1]?.finding.id ?? "";
    const taken = await round(rounds, {
      ...{ head: "first", script: { review } },
      carried: [carried("listed", { id: own })],
    });

    expect(ids).toHaveLength(2);
    expect(ids[0]).toBe("cccccccccccc");
    expect(taken.result.findings.map((one) => one.finding.id).toSorted()).toEqual([own, `${own}-2`]);
  });

  it("The finding is new if the run finds it in code that took the place of its own", async () => {
    const quote = "  for (const price of prices) sum += 1 * price;";
    const { result, ledger, asked } = await later("fixed", {
      carried: [carried("listed")],
      script: { review: () => reports(finding({ quote })) },
    });

    expect(result.findings).toMatchObject([{ finding: { quote, verification: "confirmed" } }]);
    expect([...ledger.carried, ...ledger.settled, ...asked("recheck")]).toEqual([]);
  });
});

describe("the findings of a canceled review", () => {
  it("A finding of a canceled review is verified and reported, although its code was read", async () => {
    const { result, ledger, asked } = await later("elsewhere", { carried: [carried("unpublished")] });

    expect(result.findings).toMatchObject([{ finding: { line: 3, verification: "confirmed" } }]);
    expect(result.dropped).toEqual([]);
    expect(ledger.carried).toEqual([]);
    expect(asked("verify")).toHaveLength(1);
  });

  it("Such a finding is reported once if this review finds it too, and not if its code is gone", async () => {
    const script = { review: () => reports(finding()) };
    const both = await round(rounds, { head: "first", carried: [carried("unpublished")], script });
    const gone = await later("fixed", { carried: [carried("unpublished")] });

    expect(both.result.findings).toHaveLength(1);
    expect(gone.result.findings).toEqual([]);
  });
});

describe("a later review without a model", () => {
  it("Carried findings stay, whatever became of their code", async () => {
    const options = { carried: [carried("listed"), carried("unpublished", COUNT)], offline: true };
    const [stands, gone] = [await later("elsewhere", options), await later("left", options)];

    expect(stands.ledger.carried).toMatchObject([{ reason: "a review has at most 3 comments on lines" }]);
    expect(gone.ledger.carried).toMatchObject([{ reason: "the code that it was about has changed" }]);
    expect(stands.result.findings.map((one) => one.finding.line)).toContain(COUNT.line);
    expect(gone.ledger.settled).toEqual([]);
  });

  it("Rules raise nothing in code that was read, unless a comment reports it", async () => {
    const fresh = await round(rounds, { head: "first", offline: true });
    const old = await later("elsewhere", { offline: true });
    const [{ finding: found } = { finding: sampleFinding() }] = fresh.result.findings;
    const said = comment({ ...NAN, id: found.id, symbol: found.symbol, code: null, title: "Never true" });
    const told = await later("elsewhere", { offline: true, earlier: [said] });

    expect(found).toMatchObject(NAN);
    expect(old.result.findings).toEqual([]);
    expect(old.result.dropped).toMatchObject([{ path: NAN.path, verdict: "read_before" }]);
    expect(told.ledger.repeats).toEqual([{ finding: found.id, comment: 7 }]);
    expect(told.result.findings).toHaveLength(1);
  });
});
