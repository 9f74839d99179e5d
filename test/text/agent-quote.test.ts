import { describe, expect, it } from "vitest";
import { agentQuote, type QuotedFinding } from "../../src/text/agent-quote.ts";
import { byteLength } from "../../src/text/cut.ts";

const most = 8_000;
const lines = (size: number, word: string) =>
  `${word} `
    .repeat(9)
    .concat("\n")
    .repeat(Math.ceil(size / (9 * (word.length + 1) + 1)));
const finding: QuotedFinding = {
  ...{ path: "src/a.ts", lines: { first: 7, last: 7 }, removed: false, title: "It leaks" },
  ...{ explanation: "\n\nThe handle stays open.\n", code: "", suggestion: null },
};
/** The finding between the marks. */
function quoted(over: Partial<QuotedFinding>): string {
  const quote = agentQuote({ ...finding, ...over }, most);
  expect(byteLength(quote)).toBeLessThanOrEqual(most);
  return (
    /<untrusted id="\w+" source="finding of a code review">\n([\s\S]*)\n<\/untrusted/.exec(quote)?.[1] ?? ""
  );
}

describe("a finding for a coding agent", () => {
  it("has no part for code or a replacement that there is none of", () => {
    expect(quoted({})).toBe("File: src/a.ts\nLine: 7\nFinding: It leaks\n\nThe handle stays open.");
  });

  it("says of lines that the change removed where they were", () => {
    expect(quoted({ removed: true, lines: { first: 7, last: 8 }, code: "a\r\nb" })).toBe(
      "File: src/a.ts\nLines: 7-8 of the file before the change, which removed them\nFinding: It leaks\n\nThe handle stays open.\n\nCode:\n7| a\n8| b",
    );
  });

  const code = "return 1;\n".repeat(120).trimEnd();
  const explanation = lines(2_300, "because").trim();

  it.each<[string, Partial<QuotedFinding>]>([
    ["the title", { title: "x".repeat(10_000) }],
    ["the explanation", { explanation: lines(20_000, "because") }],
    ["the code", { code: "x();\n".repeat(3_000) }],
    ["the replacement", { suggestion: "x();\n".repeat(1_200) }],
  ])("gives up of %s what is too long, and nothing else for it", (_, over) => {
    const given = { code, explanation, ...over };
    const text = quoted(given);
    if (given.code === code) expect(text).toContain("\n126| return 1;");
    if (given.explanation === explanation) expect(text).toContain(`\n\n${explanation}\n\nCode:`);
    expect(text).not.toContain("Proposed replacement");
    expect(text.match(/\[cut here\]/g)?.length ?? 0).toBe(over.suggestion ? 0 : 1);
  });

  it("keeps a replacement of up to a third whole", () => {
    const suggestion = lines(2_400, "y");
    expect(quoted({ code, suggestion })).toContain(`Proposed replacement of these lines:\n${suggestion}`);
  });
});
