import { describe, expect, it } from "vitest";
import { type AnchorFile, resolveAnchor } from "../../src/review/anchor.ts";

/** old lines 3 and 4 are removed, new line 3 is added; lines 1 to 6 of the new file and 1 to 7 of the old one are shown. */
const file: AnchorFile = {
  path: "src/a.ts",
  paths: ["src/a.ts"],
  inChange: true,
  lines: {
    RIGHT: ["one", "two", "added", "five", "twin", "seven", "far", "twin"],
    LEFT: ["one", "two", "guard()", "removed", "five", "twin", "seven", "far", "twin"],
  },
  hunkAt: (side, line) => (line <= (side === "RIGHT" ? 6 : 7) ? 1 : undefined),
  isRemoved: (line) => line === 3 || line === 4,
};

const at = (
  quote: string,
  line: number,
  side: "RIGHT" | "LEFT" = "RIGHT",
  start_line: number | null = null,
) => {
  const resolved = resolveAnchor(file, { quote, line, side, start_line });
  return resolved.ok ? resolved.anchor : resolved.reason;
};

describe("resolveAnchor", () => {
  it("keeps a place where quote and number agree", () => {
    expect(at("added", 3)).toEqual({ side: "RIGHT", line: 3, start_line: null, quote: "added", note: null });
  });

  it("lets the quote win over a wrong number, and says so", () => {
    expect(at("added", 40)).toMatchObject({ line: 3, note: expect.stringContaining("line 3, not 40") });
  });

  it("tells equal lines apart by the number", () => {
    expect(at("twin", 5)).toMatchObject({ line: 5 });
    expect(at("twin", 8)).toMatchObject({ line: 8 });
  });

  it("anchors a removed line on LEFT with its old number, also when RIGHT was given", () => {
    expect(at("guard()", 3)).toMatchObject({
      side: "LEFT",
      line: 3,
      note: expect.stringContaining("side LEFT"),
    });
    expect(at("guard()", 3, "LEFT")).toMatchObject({ side: "LEFT", line: 3, note: null });
  });

  it("anchors a line that both sides show on RIGHT", () => {
    expect(at("five", 5, "LEFT")).toMatchObject({ side: "RIGHT", line: 4 });
  });

  it("anchors several quoted lines at the last one", () => {
    expect(at("two\nadded", 3)).toMatchObject({ line: 3, start_line: null, quote: "added" });
  });

  it("moves a range along with its quote", () => {
    expect(at("five", 14, "RIGHT", 12)).toMatchObject({ start_line: 2, line: 4, quote: "two\nadded\nfive" });
  });

  it("takes a quote of a range's first line as its start", () => {
    expect(at("two", 4, "RIGHT", 2)).toMatchObject({ start_line: 2, line: 4 });
  });

  it("makes a range of one line a single line", () => {
    expect(at("added", 3, "RIGHT", 3)).toMatchObject({ start_line: null, line: 3 });
  });

  it("understands a quote copied with line number and sign", () => {
    expect(at("3 +added", 3)).toMatchObject({ line: 3 });
  });

  it("answers a quote that stands nowhere with the nearest lines", () => {
    expect(at("guard(x)", 3)).toContain("Nearest lines");
    expect(at("nothing like it", 3)).toContain("3| added");
  });

  it("refuses an empty quote", () => {
    expect(at("  \n", 3)).toContain("empty");
  });
});
