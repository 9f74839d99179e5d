import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMarker, parseMarker } from "../../../src/core/ledger/marker.ts";
import { emptyState } from "../../../src/core/ledger/state.ts";
import { createSeal } from "../../../src/pull/ledger/seal.ts";

const seal = createSeal("a key of sixteen characters");
const place = "pull request 7 of 1";
const fixed = formatMarker({ kind: "fixed", comment: 3, head: "b".repeat(40) });
const paused = { by: "ann", at: "2026-11-22T10:00:00Z" };
const summary = formatMarker({
  kind: "summary",
  head: "b",
  trigger: "event#7",
  state: { ...emptyState, paused },
});

describe("The seal of a marker", () => {
  it("A sealed text opens to the same text, whatever is above the marker", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.constantFrom(fixed, summary), (text, marker) => {
        const body = `${text}\n\n${marker}`;
        const closed = seal.close(body, place);
        expect(closed).not.toBe(body);
        expect(parseMarker(closed)).toBeUndefined();
        expect(seal.open(closed, place)).toBe(body);
      }),
    );
  });

  it("A text without a marker stays as it is", () => {
    for (const text of ["", "Hello\n", "<!-- a comment -->", "a\r\nb"]) {
      expect(seal.close(text, place)).toBe(text);
      expect(seal.open(text, place)).toBe(text);
    }
  });

  it("A marker without a MAC, with that of another key, place or marker, or with a change is refused", () => {
    const closed = seal.close(`Fixed.\n\n${fixed}`, place);
    const other = closed.replace('"comment":3', '"comment":4');
    const foreign = createSeal("another key of sixteen").close(`Fixed.\n\n${fixed}`, place);
    const changed = closed.replace(/[0-9a-f] -->$/, (end) => `${end[0] === "0" ? "1" : "0"} -->`);
    for (const text of [`Fixed.\n\n${fixed}`, other, foreign, changed, closed.toUpperCase()])
      expect(seal.open(text, place), text).not.toContain("hunkwise:fixed v");
    for (const elsewhere of ["pull request 8 of 1", "pull request 7 of 2", "check run x of 1", ""])
      expect(parseMarker(seal.open(closed, elsewhere))).toBeUndefined();
  });

  it("The seal names the time of its own texts only", () => {
    const early = createSeal("a key of sixteen characters", () => 1_000);
    const closed = early.close(`Fixed.\n\n${fixed}`, place);
    expect(seal.closedAt(closed, place)).toBe(1_000);
    const within = [closed.replace("\n<!--", "\nSee <!--"), `${closed} x`];
    for (const text of [closed.replace(" 1000.", " 2000."), `Fixed.\n\n${fixed}`, "", ...within])
      expect(seal.closedAt(text, place)).toBeNull();
    expect(seal.closedAt(closed, "pull request 8 of 1")).toBeNull();
  });

  it("A refused text has no last line that a reader could take for a marker, and every other line", () => {
    const like = [
      fixed,
      "<!--hunkwise:fixed",
      "<!-- \t hunkwise:",
      "  <!-- HUNKWISE:x -->",
      "\t<!-- hunkwise:",
    ];
    for (const line of like) {
      expect(seal.open(`Said. \n\n${line}\n`, place), line).toBe("Said.");
      expect(seal.open(`Said.\n${line}\n\n${fixed}`, place), line).toBe("Said.");
    }
    for (const text of [`See ${fixed}`, `${fixed}\nSaid.`]) expect(seal.open(text, place)).toBe(text);
  });

  it("A summary of somebody else becomes one that remembers nothing", () => {
    for (const text of [summary, createSeal("another key of sixteen").close(summary, place)])
      expect(parseMarker(seal.open(`Deployed.\n\n${text}`, place))).toEqual({
        ...{ kind: "summary", head: "", trigger: "", state: emptyState },
      });
  });

  it("No text of any shape opens to a marker that was not sealed", () => {
    const piece = fc.constantFrom(
      fixed,
      summary,
      " ",
      "\n",
      "<!-- hunkwise:",
      "-->",
      "0".repeat(64),
      " -->",
      "{}",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const marker = parseMarker(seal.open(pieces.join(""), place));
        expect(marker === undefined || (marker.kind === "summary" && marker.state.paused === null)).toBe(
          true,
        );
      }),
    );
  });
});
