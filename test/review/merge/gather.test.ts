import { describe, expect, it } from "vitest";
import { createUniqueIds } from "../../../src/review/fingerprint.ts";
import { gather } from "../../../src/review/merge/gather.ts";
import { asOne } from "../../../src/review/merge/join.ts";
import { sampleFinding as finding } from "../../reporters/sample-result.ts";

/** As they are reported where nothing is looked at again. */
const gathered = (loops: Parameters<typeof gather>[0]) => gather(loops, createUniqueIds()).map(asOne);

describe("the findings of several loops", () => {
  it("are one where two loops found the same at one place", () => {
    const all = gathered([[finding()], [finding({ confidence: 0.99 })]]);
    expect(all).toMatchObject([{ confidence: 0.99, places: [] }]);
  });

  it("are one with three places where three loops report the same problem in their files", () => {
    const loops = ["a", "b", "c"].map((name) => [finding({ path: `src/${name}.ts` })]);
    const all = gathered(loops);
    expect(all).toHaveLength(1);
    expect(all[0]?.places.map(({ path }) => path)).toEqual(["src/b.ts", "src/c.ts"]);
  });

  it("keep ids of their own where equal code has different faults", () => {
    const all = gathered([[finding()], [finding({ title: "Another fault" })]]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(2);
  });

  it("have the same ids whichever loop found them", () => {
    const [one, other] = [
      finding({ id: "aaaaaaaaaaaa", path: "src/a.ts", title: "A" }),
      finding({ id: "bbbbbbbbbbbb", path: "src/b.ts", title: "B" }),
    ];
    const ids = (loops: (typeof one)[][]) =>
      gathered(loops)
        .map(({ path, id }) => [path, id])
        .sort();
    expect(ids([[one], [other]])).toEqual(ids([[other, one]]));
  });
});
