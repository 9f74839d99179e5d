import { describe, expect, it } from "vitest";
import { formatMarker, type Marker } from "../../../src/core/ledger/marker.ts";
import { emptyState } from "../../../src/core/ledger/state.ts";
import { doublesAmong } from "../../../src/pull/publish/existing.ts";

const key = { head: "h", trigger: "event#7@main" };
const finding: Marker = {
  ...{ kind: "finding", id: "f1", severity: "high", category: null, symbol: null, code: null, files: [] },
  source: "model",
  ...key,
};
const text = (id: number, marker: Marker | null) => ({
  id,
  body: marker === null ? "The same words." : `Words of number ${id}\n\n${formatMarker(marker)}`,
});

describe("Two texts of ours with one marker", () => {
  it.each<[string, Marker, Marker]>([
    ["a review", { kind: "review", ...key }, { kind: "review", ...key, head: "i" }],
    ["a finding", finding, { ...finding, trigger: "comment:5" }],
    ["another finding", finding, { ...finding, id: "f2" }],
    [
      "a word that it is fixed",
      { kind: "fixed", comment: 1, head: "h" },
      { kind: "fixed", comment: 2, head: "h" },
    ],
    [
      "a dismissal",
      { kind: "dismissed", comment: 1, by: "ann" },
      { kind: "dismissed", comment: 1, by: "bob" },
    ],
    ["an answer", { kind: "answer", comment: 1 }, { kind: "answer", comment: 2 }],
  ])("The later text is a double: %s", (_, marker, other) => {
    const texts = [text(9, marker), text(3, other), text(7, marker), text(8, other)];
    expect(doublesAmong(texts).map(({ id }) => id)).toEqual([8, 9]);
  });

  it("Texts with different markers are no doubles, except summaries", () => {
    const summary = (head: string): Marker => ({ kind: "summary", ...key, head, state: emptyState });
    expect(doublesAmong([text(1, finding), text(2, { kind: "review", ...key })])).toEqual([]);
    // A pull request has one, whatever it speaks of.
    expect(doublesAmong([text(2, summary("i")), text(1, summary("h"))])).toMatchObject([{ id: 2 }]);
  });

  it("Texts without a marker are no doubles", () => {
    expect(doublesAmong([text(1, null), text(2, null)])).toEqual([]);
  });
});
