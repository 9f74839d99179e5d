import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../../src/core/finding.ts";
import { annotatedFinding, renderAnnotation } from "../../../src/pull/publish/render-annotation.ts";
import { sampleFinding, samplePlace, sampleProof } from "../../report/sample-result.ts";

const of = (over: Partial<Finding> = {}) => renderAnnotation(sampleFinding(over));

describe("The annotation of a finding", () => {
  it("An annotation has severity, claim, replacement and how it was checked", () => {
    const evidence = [
      { path: "src/price.ts", start_line: 3, end_line: 5, note: "prices are numbers" },
      { path: "src/a.ts", start_line: 7, end_line: 7, note: "" },
    ];
    expect(of({ start_line: 4, evidence, verification: "confirmed" })).toEqual({
      path: "src/cart.ts",
      startLine: 4,
      endLine: 6,
      level: "failure",
      title: "High: The condition assigns instead of comparing",
      message: sampleFinding().body,
      details: `Replace lines 4 to 6 with:

    if (item.price === 0) continue;

How this was checked:
- src/price.ts:3-5: prices are numbers
- src/a.ts:7
- A second, skeptical look confirmed it; 95 % sure; category correctness.

Hunkwise finding f1`,
    });
  });

  it("An annotation names the other places without their code, and when it goes wrong", () => {
    const { details } = of({
      verification: "confirmed",
      verification_note: "the price\n is 1",
      places: [
        samplePlace({ side: "LEFT", start_line: 10 }),
        ...Array.from({ length: 11 }, (_, at) => samplePlace({ line: at + 1 })),
      ],
    });
    expect(details).toContain("\n\nThe same at:\n- src/order.ts:10-12 (removed)\n- src/order.ts:1\n");
    expect(details).toContain("\n- src/order.ts:9\n- and 2 more places\n\nHow this was checked:\n");
    expect(details).toContain("checked:\n- Fails when: the price is 1\n- A second, skeptical look");
    expect(details).not.toContain("CODE OF A PLACE");
  });

  it("An annotation begins with the doubt, and what stays open", () => {
    const { message, details } = of({ verification: "uncertain", verification_note: "who\n calls \u202eit" });
    expect(message).toBe(
      `Uncertain: a second look could neither confirm nor refute this. who calls \\u{202E}it\n\n${sampleFinding().body}`,
    );
    expect(details).not.toContain("who calls");
  });

  it.each([
    ["critical", "failure"],
    ["high", "failure"],
    ["medium", "warning"],
    ["low", "notice"],
  ] as const)("An annotation of %s severity is a %s", (severity, level) => {
    expect(of({ severity }).level).toBe(level);
  });

  it("An annotation shows hidden characters, links nothing, and escapes nothing", () => {
    const { title, message } = of({
      title: "a*b* <b>\u202e`x`\nnext",
      body: "See https://evil.test/x and www.evil.test\r\n\u200bhidden @octocat <!-- c -->\u0007",
    });
    expect(title).toBe("High: a*b* <b>\\u{202E}`x` next");
    expect(message).toBe(
      "See https:/\u200b/evil.test/x and www\u200b.evil.test\n\\u{200B}hidden @octocat <!-- c -->\\u{7}",
    );
  });

  it("An annotation has a message even if the finding has no text", () => {
    expect(of({ body: " \n", title: "Only this" }).message).toBe("High: Only this");
  });

  it("An annotation fits into GitHub's limits, and names its finding, whatever it contains", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.constantFrom("é".repeat(90_000), "x\n".repeat(60_000), "\u202e".repeat(30_000), ""),
    );
    const evidence = fc.array(
      fc.record({ path: text, start_line: fc.constant(2), end_line: fc.constant(3), note: text }),
      { maxLength: 20 },
    );
    const suggestion = fc.option(text);
    const places = fc.array(text.map((path) => samplePlace({ path })));
    const look = fc.record({
      verification: fc.constantFrom("confirmed" as const, "uncertain" as const, "unverified" as const),
      ...{ verification_note: text, places },
    });
    fc.assert(
      fc.property(text, text, suggestion, evidence, look, (title, body, suggestion, evidence, look) => {
        const annotation = of({ id: "0123abcd", title, body, suggestion, evidence, ...look });
        expect([...annotation.title].length).toBeLessThanOrEqual(255);
        expect(annotation.title).not.toContain("\n");
        for (const part of [annotation.message, annotation.details]) {
          expect(Buffer.byteLength(part)).toBeLessThanOrEqual(60_000);
          expect(part.isWellFormed()).toBe(true);
          expect(part).not.toMatch(/:\/\/|[[\p{Cf}\p{Cc}]--[\n\t\u200b]]/v);
        }
        expect(annotation.message).not.toBe("");
        expect(annotatedFinding(annotation.details)).toBe("0123abcd");
      }),
    );
  });
});

describe("The details of an annotation", () => {
  it.each(["", "Hunkwise finding", "Hunkwise finding x\nmore", "see Hunkwise finding x", "x"])(
    "The details %j are of no finding",
    (details) => {
      expect(annotatedFinding(details)).toBeUndefined();
    },
  );
});

describe("The annotation of a finding with a test", () => {
  it("An annotation begins with what the test shows, without the test", () => {
    const { message, details } = of({
      proof: sampleProof({ before: "it is 2", now: "see https://evil.test" }),
    });
    expect(message).toBe(
      `Regression shown by a test. Before: it is 2. Now: see https:/\u200b/evil.test.\n\n${sampleFinding().body}`,
    );
    expect(details).toBe(of().details);
  });

  it("An annotation says in its details what shows nothing", () => {
    const missed = of({ proof: { kind: "not_shown", reason: "it passes at the head" } });
    expect(missed.message).toBe(of().message);
    expect(missed.details).toContain("\n- Not shown by a test: it passes at the head.\n");
    const passing = of({ proof: sampleProof({ kind: "ran_right", now: "it returns 0" }) });
    expect(passing.message).toBe(of().message);
    expect(passing.details).toContain("\n- A test that was written for this finding passes: it returns 0.\n");
  });
});
