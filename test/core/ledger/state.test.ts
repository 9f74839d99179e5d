import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMarker } from "../../../src/core/ledger/marker.ts";
import { emptyState, fitState, type LedgerState, stateBytes } from "../../../src/core/ledger/state.ts";
import { anyState } from "../../pull/ledger/any-state.ts";
import { sampleFinding } from "../../report/sample-result.ts";

const ids = (count: number) => Array.from({ length: count }, (_, at) => `id${at}`);
const hashes = (count: number) => ids(count).map((id) => id.padEnd(15, "x"));
const reviewed = { unit: "change" as const, hashes: hashes(400) };
const carry = (title: string, body = "") => ({
  finding: sampleFinding({ id: title, title, body }),
  standing: "listed" as const,
  reason: "it is outside the diff",
});
/** How many bytes a state takes without what is named here. */
const bytes = (state: Partial<LedgerState>) => stateBytes({ ...emptyState, ...state });

describe("a state that has to fit", () => {
  it("A state that has to fit takes in a marker what it is said to take", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        const line = (one: LedgerState) =>
          formatMarker({ kind: "summary", head: "h", trigger: "t", state: one });
        const rest = Buffer.byteLength(line(emptyState)) - stateBytes(emptyState);
        expect(Buffer.byteLength(line(state))).toBe(rest + stateBytes(state));
      }),
      { numRuns: 40 },
    );
  });

  it("A state that fits, whatever it holds", () => {
    fc.assert(
      fc.property(anyState, fc.integer({ min: 400, max: 20_000 }), (state, most) => {
        const fit = fitState(state, most);

        expect(stateBytes(fit)).toBeLessThanOrEqual(most);
        expect(fit.paused).toEqual(state.paused);
        expect([null, state.reviewed]).toContainEqual(fit.reviewed);
        if (fit.reviewed !== null) expect(fit.carried).toEqual(state.carried);
        expect(fitState(fit, most)).toEqual(fit);
      }),
      { numRuns: 40 },
    );
  });

  it("A state that has to fit is left as it is where there is room", () => {
    const state = { ...emptyState, reviewed, posted: ids(600), carried: [carry("a")], summary: "Short." };
    expect(fitState(state, stateBytes(state))).toEqual(state);
  });

  it("A state that has to fit keeps 2,000 characters of a summary at most, and no half of one", () => {
    const summary = `${"x".repeat(1_999)}😀`;
    expect(fitState({ ...emptyState, summary }, 100_000).summary).toBe("x".repeat(1_999));
  });

  it("A state that has to fit gives up the end of the summary first", () => {
    const state = {
      ...emptyState,
      reviewed,
      posted: ids(600),
      carried: [carry("a")],
      summary: "x".repeat(1_000),
    };
    const fit = fitState(state, stateBytes(state) - 300);
    expect(fit).toEqual({ ...state, summary: "x".repeat(700) });
  });

  it("A state that has to fit forgets the oldest of more than 500 comments", () => {
    const state = {
      ...emptyState,
      reviewed,
      posted: ids(600),
      carried: [carry("a")],
      summary: "x".repeat(1_000),
    };
    const fit = fitState(state, bytes({ ...state, summary: "", posted: ids(600).slice(50) }));
    expect(fit).toEqual({ ...state, summary: "", posted: ids(600).slice(50) });
  });

  it("A state that has to fit forgets all that was read", () => {
    const state = { ...emptyState, reviewed, posted: ids(600), carried: [carry("a"), carry("b")] };
    const most = bytes({ ...state, posted: ids(600).slice(100) }) - 1;

    const fit = fitState(state, most);

    expect(fit.reviewed).toBeNull();
    expect(fit.carried).toEqual(state.carried);
    expect(fit.posted).toEqual(state.posted);
  });

  it("A state that has to fit forgets what was read where the hashes alone are too many", () => {
    const state = { ...emptyState, reviewed: { ...reviewed, hashes: hashes(3_000) }, summary: "Said." };
    expect(fitState(state, 34_000)).toEqual({ ...state, reviewed: null });
  });

  it("A state that has to fit keeps as much of the beginning of a summary as fits", () => {
    const state = { ...emptyState, summary: "😀".repeat(50) };
    for (const less of [1, 2, 3, 4, 5, 40]) {
      const { summary } = fitState(state, stateBytes(state) - less);
      expect(summary).toBe("😀".repeat(50 - Math.ceil(less / 4)));
    }
  });

  it("A state that has to fit forgets carried findings", () => {
    const one = (title: string, source: string, severity: "critical" | "high" | "low") => ({
      ...carry(title),
      finding: sampleFinding({
        ...{ id: title, title, source, severity, suggestion: null },
        body: "x".repeat(300),
      }),
    });
    const [mild, certain, bad, worst] = [
      one("mild", "model", "low"),
      one("certain", "secrets/github-token", "low"),
      one("bad", "model", "high"),
      one("worst", "model", "critical"),
    ];
    const carried = [mild, certain, bad, worst];
    // A comma is counted for each finding.
    const bytesOf = (some: typeof carried) => bytes({ carried: some }) + 1;
    const kept = (most: number) => fitState({ ...emptyState, carried }, most).carried;
    expect(kept(bytesOf(carried) - 1)).toEqual(carried);
    expect(kept(bytesOf([certain, bad, worst]))).toEqual([certain, bad, worst]);
    expect(kept(bytesOf([certain, worst]))).toEqual([certain, worst]);
    expect(kept(bytesOf([certain]))).toEqual([certain]);
  });

  it("A state that has to fit keeps a breach of a named rule before worse findings", () => {
    const finding = sampleFinding({ id: "breach", severity: "low", rule: "no-raw-sql" });
    const breach = { finding, standing: "listed" as const, reason: "r" };
    const worse = Array.from({ length: 5 }, (_, at) => ({
      ...breach,
      finding: sampleFinding({ id: `f${at}`, severity: "critical" }),
    }));
    // A comma is counted for each finding.
    const alone = stateBytes({ ...emptyState, carried: [breach] }) + 1;
    expect(fitState({ ...emptyState, carried: [...worse, breach] }, alone).carried).toEqual([breach]);
  });

  it("A state that has to fit forgets the oldest comments, and the oldest decisions last", () => {
    const decided = ids(30).map((by, comment) => ({ comment, how: "reply" as const, by, after: comment }));
    const state = { ...emptyState, posted: ids(300), decided };
    const least = fitState(state, bytes({ decided }) + 60);
    expect(least.decided).toEqual(decided);
    expect(least.posted.length).toBeGreaterThan(3);
    expect(least.posted).toEqual(ids(300).slice(-least.posted.length));
    const fewer = fitState(state, bytes({ decided: decided.slice(10) }));
    expect(fewer).toEqual({ ...emptyState, decided: decided.slice(10) });
  });

  it("A finding that is too long keeps the paths of five pieces of evidence", () => {
    const evidence = ids(9).map((path) => ({ path, start_line: 1, end_line: 1, note: "-".repeat(500) }));
    const long = { ...carry("long"), finding: sampleFinding({ evidence }) };
    const [kept] = fitState({ ...emptyState, carried: [long] }, 2_500).carried;
    expect(kept?.finding.evidence).toEqual(evidence.slice(0, 5).map((one) => ({ ...one, note: "" })));
  });

  it("A state that has to fit keeps of a finding that is too long what says where it is and how bad", () => {
    const long = carry("long", "x".repeat(9_000));
    const quoted = { ...carry("quoted"), finding: sampleFinding({ id: "quoted", quote: "-".repeat(9_000) }) };
    const fit = fitState({ ...emptyState, reviewed, carried: [long, quoted, carry("short")] }, 6_000);
    expect(fit).toMatchObject({
      reviewed: null,
      carried: [
        { finding: { id: "long", severity: long.finding.severity, quote: long.finding.quote } },
        { finding: { id: "quoted", quote: "" } },
        { finding: carry("short").finding },
      ],
    });
  });
});
