import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/core/finding.ts";
import { renderRdjson, renderRdjsonl } from "../../src/report/rdjson.ts";
import { liveIn } from "../support/markdown-oracle.ts";
import {
  appliedByFormat,
  appliedByGitHub,
  type RdSuggestion,
  rdDiagnostic,
  rdResult,
} from "../support/rdf-format.ts";
import { anyResult } from "./any-result.ts";
import { sampleFinding, samplePlace, sampleResult } from "./sample-result.ts";

const runs = process.env.HUNKWISE_LONG === "1" ? 5_000 : 300;
const ajv = new Ajv({ allErrors: true });
const [fitsResult, fitsDiagnostic] = [ajv.compile(rdResult), ajv.compile(rdDiagnostic)];

interface Diagnostic {
  message: string;
  severity: string;
  location: { path: string; range?: RdSuggestion["range"] };
  code: { value: string };
  suggestions?: RdSuggestion[];
  related_locations?: unknown[];
}

const resultOf = (...findings: Finding[]) =>
  sampleResult({ findings: findings.map((finding) => ({ finding, placement: { kind: "inline" } })) });
const linesOf = (text: string): Diagnostic[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
const diagnosticOf = (over: Partial<Finding>): Diagnostic =>
  JSON.parse(renderRdjson(resultOf(sampleFinding(over)))).diagnostics[0];

describe("The report for reviewdog", () => {
  it("The report fits the format, as a document and in lines, whatever was found", () => {
    fc.assert(
      fc.property(anyResult, (result) => {
        const document = JSON.parse(renderRdjson(result));
        expect(fitsResult(document), JSON.stringify(fitsResult.errors)).toBe(true);
        const lines = linesOf(renderRdjsonl(result));
        expect(lines.every((line) => fitsDiagnostic(line))).toBe(true);
        expect(lines).toEqual(document.diagnostics);
        expect(lines).toHaveLength(result.findings.length);
      }),
      { numRuns: runs },
    );
  });

  it("The report posts no live text", () => {
    fc.assert(
      fc.property(anyResult, (result) => {
        const messages = linesOf(renderRdjsonl(result)).map(({ message }) => message);
        expect(messages.flatMap(liveIn)).toEqual([]);
      }),
      { numRuns: runs },
    );
  });

  it("The report is an empty list without findings, and no line", () => {
    const result = sampleResult({ findings: [] });
    expect(JSON.parse(renderRdjson(result))).toEqual({ source: { name: "hunkwise" }, diagnostics: [] });
    expect(renderRdjsonl(result)).toBe("");
  });

  it("The report names severity, rule and lines, the worst finding first", () => {
    const mild = sampleFinding({ severity: "low", source: "ast-grep/py-eval", start_line: 4 });
    const lines = linesOf(renderRdjsonl(resultOf(mild, sampleFinding({ severity: "critical" }))));
    expect(lines.map(({ severity, code }) => [severity, code.value])).toEqual([
      ["ERROR", "model/correctness"],
      ["INFO", "ast-grep/py-eval"],
    ]);
    expect(lines[1]?.location).toEqual({
      path: "src/cart.ts",
      range: { start: { line: 4 }, end: { line: 6 } },
    });
    expect(diagnosticOf({ severity: "medium" }).severity).toBe("WARNING");
  });

  it("The report puts a removed line on the file, and says where it was", () => {
    const { location, message, suggestions } = diagnosticOf({ side: "LEFT", line: 12 });
    expect(location).toEqual({ path: "src/cart.ts" });
    expect(message).toContain("line 12 of the merge base");
    expect(suggestions).toBeUndefined();
  });

  it("The report relates the other places, and says first what is in doubt", () => {
    const { message, related_locations } = diagnosticOf({
      places: [samplePlace()],
      verification: "uncertain",
      verification_note: "who calls it",
    });
    expect(related_locations).toEqual([
      {
        message: "The same problem.",
        location: { path: "src/order.ts", range: { start: { line: 12 }, end: { line: 12 } } },
      },
    ]);
    expect(message).toMatch(/^\*\*The condition .*\*\*\n\n\*\*Uncertain: .*\*\* who calls it\n\n`item/);
  });

  it("The report keeps each line within what reviewdog reads, and drops the suggestion first", () => {
    const suggestion = "x = '\u00ad';\n".repeat(4_500);
    const quote = "\u00ad";
    const [line, ...others] = renderRdjsonl(resultOf(sampleFinding({ suggestion, quote })))
      .trimEnd()
      .split("\n");
    expect(others).toEqual([]);
    expect(Buffer.byteLength(line ?? "")).toBeLessThan(64 * 1024);
    expect(JSON.parse(line ?? "")).not.toHaveProperty("suggestions");
    const long = renderRdjsonl(resultOf(sampleFinding({ title: "t", body: "\u00ad".repeat(20_000) })));
    expect(Buffer.byteLength(long)).toBeLessThan(64 * 1024);
    expect(linesOf(long)[0]?.message).toMatch(/^\*\*t\*\*/);
  });
});

/** A file, lines of it, and what is to stand in their place: in the form in which a checked suggestion has it. */
const replacement = fc
  .record({
    texts: fc.array(fc.constantFrom("", "a", "  b = '😀é';", "}", "\t`c`", "```"), {
      minLength: 1,
      maxLength: 8,
    }),
    end: fc.constantFrom("\n", "\r\n"),
    endsWithLine: fc.boolean(),
    from: fc.nat(7),
    count: fc.integer({ min: 1, max: 4 }),
    now: fc.array(fc.constantFrom("", "x", "  y('😀');", "````"), { maxLength: 4 }),
  })
  // Of one line without an end, no one can tell the kind of its line ends.
  .filter(({ texts, endsWithLine }) => endsWithLine || (texts.length > 1 && texts.at(-1) !== ""))
  // Blank lines alone are refused as a suggestion.
  .filter(({ now }) => now.length === 0 || now.some((line) => line !== ""))
  .map(({ texts, end, endsWithLine, from, count, now }) => {
    const first = (from % texts.length) + 1;
    const last = Math.min(texts.length, first + count - 1);
    const file = texts.join(end) + (endsWithLine ? end : "");
    const isOpenEnd = last === texts.length && !endsWithLine;
    const returns = (at: number) => (end === "\r\n" && !(isOpenEnd && at === now.length - 1) ? "\r" : "");
    const suggestion = now.map((line, at) => line + returns(at)).join("\n");
    // The lines of the suggestion in the place of the others; the end of the file stays as it is.
    const after = [...texts.slice(0, first - 1), ...now, ...texts.slice(last)];
    const isDeletedEnd = isOpenEnd && now.length === 0;
    const wanted = after.length === 0 ? "" : after.join(end) + (endsWithLine || isDeletedEnd ? end : "");
    return { file, first, last, suggestion, wanted };
  });

describe("A suggestion for reviewdog", () => {
  it("A suggestion gives the same file by the format and through a comment on GitHub", () => {
    fc.assert(
      fc.property(replacement, ({ file, first, last, suggestion, wanted }) => {
        const lines = { line: last, start_line: first === last ? null : first };
        const { location, suggestions } = diagnosticOf({ ...lines, suggestion, quote: file });
        expect(suggestions).toHaveLength(1);
        const [one] = suggestions ?? [];
        expect(appliedByFormat(file, one!)).toBe(wanted);
        expect(appliedByGitHub(file, location.range!, one!)).toBe(wanted);
      }),
      { numRuns: 3 * runs },
    );
  });

  it.each([
    ["commands another bot", "// @dependabot merge", /left out: it contains text that another bot may/],
    ["holds what nobody sees", "a\u202eb", /left out: it contains invisible characters/],
  ])("A suggestion is left out if it %s, and the message says so", (_, suggestion, said) => {
    const { message, suggestions } = diagnosticOf({ suggestion });
    expect(suggestions).toBeUndefined();
    expect(message).toMatch(said);
  });
});
