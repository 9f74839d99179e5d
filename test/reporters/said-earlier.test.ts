import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EarlierComment, pairWithEarlier } from "../../src/reporters/said-earlier.ts";
import { fingerprint } from "../../src/review/fingerprint.ts";
import { sampleFinding } from "./sample-result.ts";

const found = (id: string, line: number) => sampleFinding({ id, line });
const said = (id: string, line: number | null): EarlierComment => ({
  id,
  severity: "high",
  comment: { id: line ?? 0, body: "", path: "a.ts", side: "RIGHT", line, outdated: line === null, url: "" },
});

describe("what an earlier comment says already", () => {
  it("is the finding with its fingerprint, wherever the line has moved to", () => {
    const [here, other] = [found("aaa", 90), found("bbb", 12)];
    const comment = said("aaa", 12);

    expect([...pairWithEarlier([other, here], [comment])]).toEqual([[here, comment]]);
  });

  it("is of equal pieces of code the one that it stands on, whichever was reported first", () => {
    const [first, second] = [found("aaa", 12), found("aaa-2", 53)];
    const comment = said("aaa", 53);

    expect([...pairWithEarlier([first, second], [comment])]).toEqual([[second, comment]]);
  });

  it("is said by a comment whose code has changed only where no other says it", () => {
    const [moved, there] = [said("aaa", null), said("aaa", 12)];

    expect([...pairWithEarlier([found("aaa", 12)], [moved, there]).values()]).toEqual([there]);
    expect([...pairWithEarlier([found("aaa", 12)], [moved]).values()]).toEqual([moved]);
  });

  it("is a problem at several places by any of them, whichever is the first in this review", () => {
    const place = { path: "src/b.ts", side: "RIGHT", line: 3, start_line: null, quote: "x <= y" } as const;
    const finding = { ...found("aaa", 90), places: [place] };
    const comment = said(fingerprint({ ...place, category: finding.category }), 3);

    expect([...pairWithEarlier([finding], [comment])]).toEqual([[finding, comment]]);
    expect(pairWithEarlier([{ ...finding, places: [] }], [comment]).size).toBe(0);
    // Another finding of its own has the better claim.
    const own = { ...found(comment.id, 3), path: "src/b.ts" };
    expect([...pairWithEarlier([finding, own], [comment])]).toEqual([[own, comment]]);
  });

  it("is never said by two, and no finding goes without as long as a comment with its fingerprint is left", () => {
    const id = fc.constantFrom("aaa", "aaa-2", "aaa-3", "bbb");
    const line = fc.integer({ min: 1, max: 9 });
    const findings = fc.array(
      fc.tuple(id, line).map(([one, at]) => found(one, at)),
      { maxLength: 6 },
    );
    const comments = fc.array(
      fc.tuple(id, fc.option(line)).map(([one, at]) => said(one, at)),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(findings, comments, (all, earlier) => {
        const pairs = pairWithEarlier(all, earlier);

        expect(new Set(pairs.values()).size).toBe(pairs.size);
        for (const start of ["aaa", "bbb"]) {
          const wanted = all.filter((one) => one.id.startsWith(start));
          const there = earlier.filter((one) => one.id.startsWith(start));
          expect(wanted.filter((one) => pairs.has(one))).toHaveLength(Math.min(wanted.length, there.length));
        }
      }),
    );
  });
});
