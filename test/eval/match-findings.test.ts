import { describe, expect, it } from "vitest";
import type { KnownIssue } from "../../scripts/eval/case-format.ts";
import type { Judge } from "../../scripts/eval/judge.ts";
import { isNear, type MatchInput, matchFindings } from "../../scripts/eval/match-findings.ts";
import { finding } from "./case-folder.ts";

const issue = (description: string, line = 100): KnownIssue => ({
  place: { file: "a.py", lines: [line], at: "head" },
  ...{ alternatives: [], severity: null, context: [] },
  description,
});

/** Says that a finding is an issue when its title begins with the words of the issue; "?" is an answer nobody can read. */
const byTitle: Judge["compare"] = async ({ description }, { title }) => {
  if (title === "?") return null;
  const confidence = title.endsWith("surely") ? 0.9 : 0.6;
  return { reasoning: "", match: title.startsWith(description), confidence };
};

function match(more: Partial<MatchInput>) {
  return matchFindings({ known: [], acceptable: [], findings: [], judge: byTitle, ...more });
}

const at = (line: number, title: string) => finding({ path: "a.py", line, title });

describe("a place", () => {
  const known = { ...issue("zero"), alternatives: [{ file: "b.py", line: 5 }] };
  const located = (path: string, line: number, start_line: number | null = null) =>
    finding({ path, line, start_line });

  it.each([
    ["ten lines above", located("a.py", 90), true],
    ["eleven lines above", located("a.py", 89), false],
    ["ten lines below", located("a.py", 110), true],
    ["eleven lines below", located("a.py", 111), false],
    ["a range that ends far below and begins near", located("a.py", 160, 109), true],
    ["a range around it", located("a.py", 300, 1), true],
    ["an alternative", located("b.py", 7), true],
    ["the same line of another file", located("c.py", 100), false],
    [
      "a further place of the finding",
      finding({
        path: "c.py",
        places: [{ path: "a.py", side: "RIGHT", line: 101, start_line: null, quote: "" }],
      }),
      true,
    ],
  ])("The judged distance is right for %s", (_, found, expected) =>
    expect(isNear(known, found)).toBe(expected),
  );
});

describe("a finding", () => {
  it("A finding on the issue's line about something else is no hit", async () => {
    const { known, findings } = await match({ known: [issue("zero")], findings: [at(100, "a typo")] });
    expect(known).toEqual([{ found: "missed", finding: null, confidence: null }]);
    expect(findings).toEqual(["other"]);
  });

  it("A finding that names the issue elsewhere is a marked hit", async () => {
    const { known, findings } = await match({ known: [issue("zero")], findings: [at(900, "zero")] });
    expect(known).toEqual([{ found: "elsewhere", finding: 0, confidence: 0.6 }]);
    expect(findings).toEqual(["hit"]);
  });

  it("A finding of an issue without a place is a hit anywhere", async () => {
    const unplaced = { ...issue("zero"), place: null };
    const { known, findings } = await match({ known: [unplaced], findings: [at(3, "zero"), at(9, "leak")] });
    expect(known).toEqual([{ found: "unplaced", finding: 0, confidence: 0.6 }]);
    expect(findings).toEqual(["hit", "other"]);
  });

  it("A second finding of an issue is a duplicate, and the one on its line is the hit", async () => {
    const reported = [at(900, "zero, surely"), at(103, "zero"), at(101, "zero, surely")];
    const { known, findings } = await match({ known: [issue("zero")], findings: reported });
    expect(known[0]).toMatchObject({ found: "near", finding: 2 });
    expect(findings).toEqual(["duplicate", "duplicate", "hit"]);
  });

  it("A finding of two issues leaves the second to another finding", async () => {
    const known = [issue("zero"), issue("zero", 104)];
    const one = await match({ known, findings: [at(100, "zero")] });
    expect(one.known.map(({ finding }) => finding)).toEqual([0, 0]);
    expect(one.findings).toEqual(["hit"]);
    const two = await match({ known, findings: [at(100, "zero"), at(104, "zero")] });
    expect(two.known.map(({ finding }) => finding)).toEqual([0, 1]);
    expect(two.findings).toEqual(["hit", "hit"]);
  });

  it("An acceptable finding counts neither way", async () => {
    const acceptable = [{ file: null, line: null, description: "typo" }];
    const { findings } = await match({ acceptable, findings: [at(1, "typo in a name"), at(1, "leak")] });
    expect(findings).toEqual(["acceptable", "other"]);
  });

  it("A finding without a readable judgement is no hit and is counted", async () => {
    const { known, findings, unjudged } = await match({ known: [issue("zero")], findings: [at(100, "?")] });
    expect({ found: known[0]?.found, findings, unjudged }).toEqual({
      found: "missed",
      findings: ["other"],
      unjudged: 1,
    });
  });

  it("A finding counts by its place alone without a judge", async () => {
    const acceptable = [
      { file: "a.py", line: 500, description: "typo" },
      { file: null, line: null, description: "leak" },
    ];
    const reported = [at(95, "anything"), at(501, "anything"), at(900, "leak")];
    const { known, findings } = await match({
      known: [issue("zero")],
      acceptable,
      findings: reported,
      judge: null,
    });
    expect(known[0]?.found).toBe("near");
    expect(findings).toEqual(["hit", "acceptable", "other"]);
  });
});
