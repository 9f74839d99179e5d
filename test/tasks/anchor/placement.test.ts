import { describe, expect, it } from "vitest";
import { RuleDefinition } from "../../../src/config/named-rules.ts";
import { placeFinding, placeFindings } from "../../../src/tasks/anchor/placement.ts";
import { sampleFinding } from "../../report/sample-result.ts";
import { reviewInput } from "../../support/review-input.ts";
import { anchorFile } from "./anchor-file.ts";

const finding = sampleFinding({ path: "a.ts", line: 12, quote: "x", body: "b", suggestion: "y" });

/** Hunk 1 shows lines 10 to 14, hunk 2 lines 20 to 24. */
const file = anchorFile("a.ts", { RIGHT: [], LEFT: [] }, (_side, line) =>
  line >= 10 && line <= 14 ? 1 : line >= 20 && line <= 24 ? 2 : undefined,
);

describe("placeFinding", () => {
  it("A line of a hunk is placed inline", () => {
    expect(placeFinding(finding, file)).toEqual({ finding, placement: { kind: "inline" } });
  });

  it("A range within one hunk is kept", () => {
    const range = { ...finding, start_line: 10 };

    expect(placeFinding(range, file).finding).toEqual(range);
  });

  it("A range that leaves its hunk is clipped, and its suggestion becomes prose", () => {
    const placed = placeFinding({ ...finding, line: 22, start_line: 13 }, file);

    expect(placed.finding).toMatchObject({ line: 22, start_line: 20, suggestion: null });
    expect(placed.finding.body).toContain("```\ny\n```");
  });

  it("A range of which one line is left becomes a single line", () => {
    expect(placeFinding({ ...finding, line: 20, start_line: 15 }, file).finding.start_line).toBeNull();
  });

  it("A line outside every hunk is placed on the file", () => {
    expect(placeFinding({ ...finding, line: 17 }, file).placement).toEqual({
      kind: "file",
      reason: "the line is outside the diff",
    });
  });

  it("A finding whose diff GitHub hides is placed on the file, with the reason", () => {
    const hidden = { ...file, hidden: "GitHub shows no diff of it", hunkAt: () => undefined };

    expect(placeFinding(finding, hidden)).toMatchObject({
      finding: { suggestion: null },
      placement: { kind: "file", reason: "GitHub shows no diff of it" },
    });
  });

  it("A range of one line becomes a single line, with its suggestion", () => {
    const placed = placeFinding({ ...finding, start_line: 12 }, file);

    expect(placed.finding).toMatchObject({ line: 12, start_line: null, suggestion: "y" });
  });

  it("A finding on an unchanged file is placed in the summary", () => {
    expect(placeFinding(finding, { ...file, inChange: false }).placement.kind).toBe("summary");
  });

  it("A finding on removed lines has no suggestion", () => {
    const left = placeFinding({ ...finding, side: "LEFT" }, file);

    expect(left.finding.suggestion).toBeNull();
    expect(left.placement.kind).toBe("inline");
  });

  it("The fence of proposed code is longer than any fence inside", () => {
    const placed = placeFinding({ ...finding, side: "LEFT", suggestion: "```js\na\n```" }, file);

    expect(placed.finding.body).toContain("````\n```js\na\n```\n````");
  });
});

describe("a mild finding of a rule", () => {
  const rules = (blocking: boolean) => ({
    "no-raw-sql": RuleDefinition.parse({ what: "No raw SQL.", blocking }),
  });
  const { config } = reviewInput({ config: { minimum_severity: "medium", comment_severity: "high" } });
  const place = (blocking: boolean) =>
    placeFindings(
      [{ ...finding, severity: "low", rule: "no-raw-sql" }],
      { ...config, rules: rules(blocking) },
      async () => file,
    );

  it("A mild finding of a blocking rule gets a comment on its line", async () => {
    expect(await place(true)).toMatchObject([{ placement: { kind: "inline" } }]);
    expect(await place(false)).toEqual([]);
  });
});
