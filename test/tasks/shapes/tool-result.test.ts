import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { severities, worstFirst } from "../../../src/core/finding.ts";
import { fairShare, ToolResult } from "../../../src/tasks/shapes/tool-result.ts";

const result = (over: Partial<ToolResult>): ToolResult =>
  ToolResult.parse({
    ...{ tool: "lint", rule: "R1", severity: "low", path: "a.js", line: 1, endLine: 1, message: "" },
    ...over,
  });
const many = (count: number, over: Partial<ToolResult>) => Array.from({ length: count }, () => result(over));
const share = (all: readonly ToolResult[], most: number) => fairShare(all, most, (one) => one);

describe("fairShare", () => {
  it("Each file keeps its share, however severe the results of another are", () => {
    const loud = Array.from({ length: 50 }, (_, at) =>
      result({ file: 0, severity: "critical", tool: `made-up-${at}` }),
    );
    const taken = share([...loud, ...many(60, { file: 1, severity: "low" })], 50);
    expect(taken.filter(({ file }) => file === 0)).toHaveLength(25);
    expect(taken.filter(({ file }) => file === 1)).toHaveLength(25);
    expect(taken.slice(0, 25).every(({ severity }) => severity === "critical")).toBe(true);
  });

  it("Places that one file does not need go to the others", () => {
    const taken = share([...many(3, { file: 0 }), ...many(60, { file: 1 })], 50);
    expect(taken.filter(({ file }) => file === 0)).toHaveLength(3);
    expect(taken).toHaveLength(50);
  });

  it("The worst results of each file are taken, worst first", () => {
    const anyResult = fc.record({ file: fc.nat(3), severity: fc.constantFrom(...severities) }).map(result);
    fc.assert(
      fc.property(fc.array(anyResult, { maxLength: 60 }), fc.nat(40), (all, most) => {
        const taken = share(all, most);
        expect(taken).toHaveLength(Math.min(most, all.length));
        expect(taken).toEqual(taken.toSorted(worstFirst));
        const left = all.filter((one) => !taken.includes(one));
        for (const one of left)
          for (const other of taken.filter(({ file }) => file === one.file))
            expect(worstFirst(other, one)).toBeLessThanOrEqual(0);
      }),
    );
  });
});
