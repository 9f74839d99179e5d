import { describe, expect, it } from "vitest";
import { parseSource } from "../../../src/repo/code/parse.ts";
import type { Source } from "../../../src/repo/code/source.ts";
import { samples } from "./samples.ts";

interface Sample {
  source: Source;
  /** All ranges of up to eight lines, from any line. */
  ranges: { start: number; end: number }[];
  /** Line 1 to the last one. */
  last: number;
  /** Every word of the text. */
  words: string[];
}

async function read(path: string, text: string): Promise<Sample> {
  const source = await parseSource(path, text);
  if (!source) throw new Error(`${path} was refused`);
  const last = text.split("\n").length;
  const ranges = Array.from({ length: last }, (_, at) =>
    [0, 1, 7].map((more) => ({ start: at + 1, end: at + 1 + more })),
  );
  // In some languages the dollar belongs to the name, in others it does not.
  const words = [
    ...new Set([/[\p{L}_$][\p{L}\p{N}_$]*/gu, /[\p{L}\p{N}_]+/gu].flatMap((one) => text.match(one) ?? [])),
  ];
  return { source, ranges: ranges.flat(), last, words };
}

const isOn =
  ({ start, end }: { start: number; end: number }) =>
  ({ line }: { line: number }) =>
    line >= start && line <= end;

describe.each(samples.map(({ path, text }) => [path, text] as const))("some lines of %s", (path, text) => {
  it("Some lines have the calls that the whole file has on them", async () => {
    const { source, ranges, last } = await read(path, text);
    const all = source.calls(1, last);
    for (const range of ranges) expect(source.calls(range.start, range.end)).toEqual(all.filter(isOn(range)));
  });

  it("Some lines have the references that the whole file has on them", async () => {
    const { source, ranges, words } = await read(path, text);
    const names = new Set(words);
    const all = source.references(names);
    for (const range of ranges) expect(source.references(names, range)).toEqual(all.filter(isOn(range)));
  });

  it("Some lines read the same names, asked for together or one by one", async () => {
    const { source, ranges, words } = await read(path, text);
    for (const { start, end } of ranges.filter((_, at) => at % 9 === 0)) {
      const all = [...source.readNames(start, end)].sort();
      const single = words.flatMap((word) => [...source.readNames(start, end, new Set([word]))]);
      expect(single.sort()).toEqual(all);
    }
  });

  it("Each call on some lines has its receiver", async () => {
    const { source, last, words } = await read(path, text);
    const called = source.calls(1, last).map(({ name, line, receiver }) => `${line} ${name} ${receiver}`);
    const references = source.references(new Set(words)).filter(({ receiver }) => receiver !== undefined);
    for (const { name, line, receiver } of references)
      expect(called).toContain(`${line} ${name} ${receiver}`);
  });
});
