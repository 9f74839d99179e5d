import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isComplete } from "../../../../src/tasks/shapes/review-result.ts";
import type { ScriptedTurn } from "../../../support/scripted.ts";
import {
  createRounds,
  finding,
  type RoundOptions,
  type Rounds,
  reports,
  round,
} from "../followup/later-round.ts";

let rounds: Rounds;
beforeAll(() => {
  rounds = createRounds();
});
afterAll(() => rounds?.dispose());

const title = "The total subtracts each price instead of adding it";
const call = (name: string, args: object | string): ScriptedTurn => ({
  toolCalls: [{ name, arguments: args as never }],
});

/** A review whose first turn is this one; the model then ends it. */
async function reviewed(first: ScriptedTurn, options: Partial<RoundOptions> = {}) {
  let turns = 0;
  const review = () => (turns++ === 0 ? first : reports());
  return round(rounds, { head: "first", effort: "low", script: { review }, ...options });
}
describe("a report that is not repeated", () => {
  const broken = finding({ quote: "for (const price of prices) sum -= cost;" });

  it("A lost report makes the review partial, and is part of the result", async () => {
    const { result } = await reviewed(call("report_finding", broken));
    expect(result).toMatchObject({
      ...{ stop_reason: "finished", findings: [] },
      unplaced: { texts: [expect.stringMatching(/^medium, cart\.ts:3: The total subtracts/)], total: 1 },
    });
    expect(isComplete(result)).toBe(false);
  });

  it("The file of a lost report is read again, and counts as read once the report is dismissed", async () => {
    const { result, ledger } = await reviewed(call("report_finding", broken));
    const { hashes } = result.unplaced;
    expect(hashes.length).toBeGreaterThan(0);
    expect(ledger.reviewed.hashes.filter((hash) => hashes.includes(hash))).toEqual([]);

    const again = await round(rounds, { head: "first", effort: "low", reviewed: ledger.reviewed });
    expect(again.asked("review")[0]?.messages.at(-1)?.content).toContain("cart.ts");
    const all = { ...ledger.reviewed, hashes: [...ledger.reviewed.hashes, ...hashes] };
    const later = await round(rounds, { head: "first", effort: "low", reviewed: all });
    expect(later.asked("review")).toEqual([]);
    expect(isComplete(later.result)).toBe(true);
  });

  it("All files of a unit are read again if a lost report names none of them", async () => {
    const { result, ledger } = await reviewed(call("report_finding", { ...broken, path: "nowhere.ts" }));
    expect(result.unplaced.total).toBe(1);
    const again = await round(rounds, { head: "first", effort: "low", reviewed: ledger.reviewed });
    expect(again.result.ledger?.known_hunks).toBe(0);
  });

  it("A report that a later one repeats is not lost", async () => {
    const turns = [call("report_finding", broken), reports(finding())];
    const { result } = await reviewed({}, { script: { review: () => turns.shift() ?? reports() } });
    expect(result.unplaced.total).toBe(0);
    expect(result.findings.map((one) => one.finding.title)).toEqual([title]);
    expect(isComplete(result)).toBe(true);
  });

  it("The result shows five lost reports, and the number of the others", async () => {
    const many = Array.from({ length: 8 }, (_, at) =>
      finding({ title: `${title} ${at}`, quote: "none", line: at + 1 }),
    );
    const { result } = await reviewed({
      toolCalls: many.map((one) => ({ name: "report_finding", arguments: one })),
    });
    expect(result.unplaced).toMatchObject({ total: 8, texts: { length: 5 } });
  });
});

describe("a report with random damage", () => {
  const keys = Object.keys(finding());
  const values = fc.oneof(
    fc.constantFrom("", "none", "L3", "3", "0.9", "[]", "{}", "high", null, true, -1, 3.5),
    fc.jsonValue(),
  );
  const sound = JSON.stringify(finding());
  /** Another form of the arguments. */
  const damage: fc.Arbitrary<(args: Record<string, unknown>) => unknown> = fc.oneof(
    fc.constantFrom(...keys).map(
      (key) =>
        ({ [key]: _, ...rest }: Record<string, unknown>) =>
          rest,
    ),
    fc.tuple(fc.constantFrom(...keys), values).map(([key, value]) => (args: object) => ({
      ...args,
      [key]: value,
    })),
    fc
      .tuple(fc.constantFrom(...keys), fc.string())
      .map(([key, name]) => ({ [key]: value, ...rest }: Record<string, unknown>) => ({
        ...rest,
        [name]: value,
      })),
    fc.dictionary(fc.string(), fc.jsonValue()).map((more) => (args: object) => ({ ...more, ...args })),
    fc.constantFrom("arguments", "input", "issue").map((name) => (args: object) => ({ [name]: args })),
    fc.nat({ max: sound.length }).map((end) => (args: object) => JSON.stringify(args).slice(0, end)),
    fc.nat({ max: sound.length }).map((at) => (args: object) => {
      const text = JSON.stringify(args);
      return `${text.slice(0, at)}${text.slice(at + 1)}`;
    }),
  );
  const name = fc.constantFrom("report_finding", "functions.report_finding", "report_finding<|x|>");
  const finishReason = fc.constantFrom("tool_calls" as const, "length" as const, "stop" as const);

  it("A damaged report is a finding, or the review says that a report was lost", async () => {
    const damages = fc.array(damage, { minLength: 1, maxLength: 2 });
    await fc.assert(
      fc.asyncProperty(damages, name, finishReason, async (all, tool, reason) => {
        let args: unknown = finding();
        for (const one of all) if (typeof args === "object") args = one(args as Record<string, unknown>);
        const first = { ...call(tool, args as object | string), finishReason: reason };
        const { result } = await reviewed(first);
        const found = result.findings.filter((one) => one.finding.source === "model").length;
        expect(found + result.unplaced.total).toBe(1);
        expect(isComplete(result)).toBe(found === 1);
      }),
      { numRuns: 120 },
    );
  });
});
