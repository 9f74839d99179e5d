import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Hunk, NO_NEWLINE, signs } from "../../../src/repo/diff/file-diff.ts";
import { reviewedNow } from "../../../src/tasks/reviewed/known-change.ts";
import {
  contentHash,
  coverageWithout,
  knownIn,
  newIn,
  type ReadRound,
  readRounds,
} from "../review/followup/rounds.ts";

const long = process.env.HUNKWISE_LONG === "1";

/** Few words, so that equal changes are common. */
const line = fc.constantFrom("a", "é\r");
/** Edits by the line of the base that they stand at: whether it goes, and what comes before it. */
const edits = (most: number) =>
  fc.array(
    fc.record({
      at: fc.nat(60),
      goes: fc.nat(3).map((one) => one === 0),
      insert: fc.array(line, { maxLength: 2 }),
    }),
    {
      maxLength: most,
    },
  );
type Edits = typeof edits extends (most: number) => fc.Arbitrary<infer T> ? T : never;

const file = fc.record({
  size: fc.integer({ min: 1, max: 60 }),
  ofTopic: edits(6),
  /** In the second round, on both sides. */
  ofBase: edits(2),
  /** In the second round, by the topic alone. */
  more: edits(2),
  endsInLineFeed: fc.boolean(),
  /** Of each of the first round's hunks whether it was read. */
  isRead: fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }),
});
type File = typeof file extends fc.Arbitrary<infer T> ? T : never;

/** Lines that stand nowhere else, edited. */
function textOf({ size, endsInLineFeed }: File, ...all: Edits[]): string {
  const lines = Array.from({ length: size }, (_, at) => {
    const here = all.flat().filter((one) => one.at % size === at);
    return [
      ...here.flatMap(({ insert }) => insert),
      ...(here.some(({ goes }) => goes) ? [] : [`line ${at}`]),
    ];
  }).flat();
  return lines.join("\n") + (endsInLineFeed && lines.length > 0 ? "\n" : "");
}

function roundsOf(files: readonly File[]) {
  const texts = (of: (one: File) => string) =>
    Object.fromEntries(files.map((one, at) => [`f${at}.txt`, of(one)]));
  return [
    { base: texts((one) => textOf(one)), head: texts((one) => textOf(one, one.ofTopic)) },
    {
      base: texts((one) => textOf(one, one.ofBase)),
      head: texts((one) => textOf(one, one.ofBase, one.ofTopic, one.more)),
    },
  ];
}

/** The runs of changed lines of a hunk as text, the slow way: over the parsed diff. */
function changesOf({ lines }: Hunk): string[] {
  const runs: string[] = [];
  lines.forEach((one, at) => {
    if (one.kind === "context") return;
    const before = lines[at - 1];
    if (before === undefined || before.kind === "context") runs.push("");
    const end = one.noNewline ? `${NO_NEWLINE}\n` : "";
    runs[runs.length - 1] += `${signs[one.kind]}${one.text}\n${end}`;
  });
  return runs;
}

const often = (all: readonly string[], one: string) => all.filter((other) => other === one).length;

async function hunksOf({ files, diffs }: ReadRound, path: string): Promise<string[][]> {
  const found = files.find(({ change }) => change.path === path);
  return found ? (await diffs.fileDiff(found.change, 3)).hunks.map(changesOf) : [];
}

describe("new hunks by an independent comparison", () => {
  it("The new hunks are those that a comparison of all lines finds", async () => {
    let [isNew, isKnown] = [0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(file, { minLength: 40, maxLength: 60 }), async (files) => {
        const [first, second] = (await readRounds(roundsOf(files))) as [ReadRound, ReadRound];
        const unread: Record<string, number[]> = {};
        const read = new Map<string, string[]>();
        const missed = new Map<string, string[]>();
        for (const [at, { isRead }] of files.entries()) {
          const path = `f${at}.txt`;
          const hunks = await hunksOf(first, path);
          const left = hunks.flatMap((_, hunk) => (isRead[hunk] === false ? [hunk + 1] : []));
          unread[path] = left;
          read.set(
            path,
            hunks.flatMap((changes, hunk) => (left.includes(hunk + 1) ? [] : changes)),
          );
          missed.set(
            path,
            left.flatMap((hunk) => hunks[hunk - 1] ?? []),
          );
        }
        for (const [path, seen] of read) {
          // Each file is a pull request of its own.
          const own = ({ files }: ReadRound) => files.filter(({ change }) => change.path === path);
          const reviewed = reviewedNow(own(first), coverageWithout(unread), contentHash);
          const known = knownIn({ ...second, files: own(second) }, reviewed);
          const hunks = await hunksOf(second, path);
          const now = hunks.flat();
          const expected = hunks.flatMap((changes, hunk) =>
            changes.every((one) => often(now, one) <= often(seen, one)) ? [] : [hunk + 1],
          );
          // What nobody read may have made the rest harmless, too.
          const isLost = [seen, missed.get(path) ?? []].some((all) =>
            all.some((one) => often(all, one) > often(now, one)),
          );
          // Nothing shows what went: all of the file is new.
          const all = hunks.map((_, hunk) => hunk + 1);
          expect(newIn(second, known, path)).toEqual(isLost && expected.length === 0 ? all : expected);
          expect(known.hasLost(path)).toBe(isLost);
          isNew += expected.length;
          isKnown += hunks.length - expected.length;
        }
      }),
      long ? { numRuns: 60 } : { numRuns: 3, seed: 20_261_122, endOnFailure: true },
    );
    expect(Math.min(isNew, isKnown)).toBeGreaterThan(30);
  }, 600_000);
});
