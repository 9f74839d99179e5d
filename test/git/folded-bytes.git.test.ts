import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { FoldedBytes } from "../../src/git/patches.ts";

const MEGABYTE = 1024 * 1024;

describe("bytes that are kept packed", () => {
  it("are given back as they were, in whatever order they are asked for", () => {
    const folded = new FoldedBytes(MEGABYTE);
    const pieces = Array.from({ length: 300 }, (_, at) => Buffer.from(`piece ${at} `.repeat(at * 5)));
    const kept = pieces.map((piece) => folded.keep(piece));
    for (const at of [299, 0, 150, 299, 1, 298]) expect(kept[at]?.()).toEqual(pieces[at]);
    for (const [at, give] of kept.entries()) expect(give()).toEqual(pieces[at]);
  });

  it("are refused when there is no more room, and those from before are still there", () => {
    const folded = new FoldedBytes(12_000);
    const kept = Array.from({ length: 20 }, (_, at) => folded.keep(Buffer.alloc(MEGABYTE, at)));
    const there = kept.filter((give) => give() !== undefined).length;
    expect(there).toBeGreaterThan(1);
    expect(there).toBeLessThan(20);
    expect(kept[0]?.()).toEqual(Buffer.alloc(MEGABYTE, 0));
  });

  it("take the memory of what they are packed into", async () => {
    setFlagsFromString("--expose-gc");
    const collectGarbage = runInNewContext("gc") as () => void;
    // What was collected is given back by a thread of its own.
    const used = async () => {
      for (let round = 0; round < 5; round++) {
        collectGarbage();
        await setTimeout(20);
      }
      return process.memoryUsage().arrayBuffers;
    };
    const before = await used();
    const folded = new FoldedBytes(MEGABYTE);
    const kept = Array.from({ length: 100 }, () => folded.keep(Buffer.alloc(MEGABYTE)));
    expect((await used()) - before).toBeLessThan(3 * MEGABYTE);
    expect(kept.at(-1)?.()?.length).toBe(MEGABYTE);
  });
});
