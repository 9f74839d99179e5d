import { describe, expect, it } from "vitest";
import { gather } from "../../../src/review/merge/gather.ts";
import { sampleFinding as finding } from "../../reporters/sample-result.ts";

const sameName = (path: string) => path;

describe("the findings of several loops", () => {
  it("are one where two loops found the same at one place", () => {
    const all = gather([[finding()], [finding({ confidence: 0.99 })]], sameName);
    expect(all).toMatchObject([{ confidence: 0.99, places: [] }]);
  });

  it("are one with three places where three loops report the same problem in their files", () => {
    const loops = ["a", "b", "c"].map((name) => [finding({ path: `src/${name}.ts` })]);
    const all = gather(loops, sameName);
    expect(all).toHaveLength(1);
    expect(all[0]?.places.map(({ path }) => path)).toEqual(["src/b.ts", "src/c.ts"]);
  });

  it("keep ids of their own where equal code has different faults", () => {
    const all = gather([[finding()], [finding({ title: "Another fault" })]], sameName);
    expect(new Set(all.map(({ id }) => id)).size).toBe(2);
  });

  it("have the same ids whichever loop found them", () => {
    const [one, other] = [
      finding({ path: "src/a.ts", title: "A" }),
      finding({ path: "src/b.ts", title: "B" }),
    ];
    const ids = (loops: (typeof one)[][]) =>
      gather(loops, sameName)
        .map(({ path, id }) => [path, id])
        .sort();
    expect(ids([[one], [other]])).toEqual(ids([[other, one]]));
  });
});
