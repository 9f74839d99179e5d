import { describe, expect, it } from "vitest";
import { byteLength } from "../../src/core/text/cut.ts";
import { promptBlock, type QuotedFinding } from "../../src/report/prompt.ts";

const most = 8_000;
const lines = (size: number, word: string) =>
  `${word} `
    .repeat(9)
    .concat("\n")
    .repeat(Math.ceil(size / (9 * (word.length + 1) + 1)));
const finding: QuotedFinding = {
  ...{ path: "src/a.ts", lines: "line 7", title: "It leaks", rule: null },
  ...{ explanation: "The handle stays open.", code: "", suggestion: null, test: null },
};
/** The finding between the marks. */
function quoted(over: Partial<QuotedFinding>): string {
  const quote = promptBlock({ ...finding, ...over }, most);
  expect(byteLength(quote)).toBeLessThanOrEqual(most);
  return (
    /<untrusted id="\w+" source="finding of a code review">\n([\s\S]*)\n<\/untrusted/.exec(quote)?.[1] ?? ""
  );
}

describe("A finding quoted for a coding agent", () => {
  it("The block has no part for missing code or a missing replacement", () => {
    expect(quoted({})).toBe("File: src/a.ts\nPlace: line 7\nFinding: It leaks\n\nThe handle stays open.");
  });

  it("The block names the rule, and says why a secret's code is missing", () => {
    expect(quoted({ rule: "secrets/aws-secret-access-key", code: null })).toBe(
      "File: src/a.ts\nPlace: line 7\nFinding: It leaks\nRule: secrets/aws-secret-access-key\n\nThe handle stays open.\n\nThe code is not shown, because it contains a secret.",
    );
  });

  const code = "return 1;\n".repeat(120).trimEnd();
  const explanation = lines(2_300, "because").trim();

  it.each<[string, Partial<QuotedFinding>]>([
    ["the title", { title: "x".repeat(10_000) }],
    ["the explanation", { explanation: lines(20_000, "because") }],
    ["the code", { code: "x();\n".repeat(3_000) }],
    ["the replacement", { suggestion: "x();\n".repeat(1_200) }],
  ])("The block cuts of %s what is too long, and nothing else", (_, over) => {
    const given = { code, explanation, ...over };
    const text = quoted(given);
    if (given.code === code) expect(text.split("return 1;")).toHaveLength(121);
    if (given.explanation === explanation) expect(text).toContain(`\n\n${explanation}\n\nCode:`);
    expect(text).not.toContain("Proposed replacement");
    expect(text.match(/\[cut here\]/g)?.length ?? 0).toBe(over.suggestion ? 0 : 1);
  });

  it("The block keeps a replacement of up to a third whole", () => {
    const suggestion = lines(2_400, "y");
    expect(quoted({ code, suggestion })).toContain(
      `Proposed replacement of exactly these lines:\n${suggestion}`,
    );
  });
});
