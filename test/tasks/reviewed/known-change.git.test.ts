import { beforeAll, describe, expect, it } from "vitest";
import { type ReviewedHunks, reviewedNow } from "../../../src/tasks/reviewed/known-change.ts";
import {
  allRead,
  contentHash,
  coverageWithout,
  knownIn,
  newIn,
  type ReadRound,
  readRounds,
} from "../review/followup/rounds.ts";

/** So many lines, none of which stands anywhere else. */
const lines = (name: string, count = 40) => Array.from({ length: count }, (_, at) => `${name} ${at}`);
const text = (all: readonly string[]) => all.map((line) => `${line}\n`).join("");
/** With lines replaced, by their place from 0; several in one string, nothing for null. */
const having = (all: readonly string[], changes: Record<number, string | null>) =>
  all.flatMap((line, at) => (at in changes ? (changes[at] ?? []) : line));

interface Scenario {
  /** Lines of the file before the change and after it, in the first round and in the second. */
  rounds: [base: readonly string[], head: readonly string[]][];
  /** How many hunks the rounds have; two each by default. */
  hunks?: [number, number];
  /** New hunks of the second round. */
  isNew: number[];
  /** Whether something that was read went. */
  lost?: boolean;
  /** Path of the file in the head of the second round, and in its base; as in the first by default. */
  head?: string;
  base?: string;
}

const rewritten = (name: string) => ({ 10: `${name} ten`, 25: `${name} twenty-five` });

const scenarios: Record<string, (name: string) => Scenario> = {
  "the same change": (name) => {
    const round: [string[], string[]] = [lines(name), having(lines(name), rewritten(name))];
    return { rounds: [round, round], isNew: [] };
  },
  "a rebase onto a base whose context has changed": (name) => {
    const moved = having(lines(name), { 8: `${name} eight`, 12: null, 23: `${name} a\n${name} b` });
    return {
      rounds: [
        [lines(name), having(lines(name), rewritten(name))],
        [
          moved,
          moved.map((line) =>
            line.replace(/ (10|25)$/, (_, at) => ` ${at === "10" ? "ten" : "twenty-five"}`),
          ),
        ],
      ],
      isNew: [],
    };
  },
  "a change that moved by 200 lines": (name) => {
    const above = lines(`${name} above`, 200);
    return {
      rounds: [
        [lines(name), having(lines(name), rewritten(name))],
        [
          [...above, ...lines(name)],
          [...above, ...having(lines(name), rewritten(name))],
        ],
      ],
      isNew: [],
    };
  },
  "the base merged in, with changes of its own in the same file": (name) => {
    const base = having(lines(name), { 2: `${name} two`, 36: null });
    return {
      rounds: [
        [lines(name), having(lines(name), rewritten(name))],
        [base, having(base, { 10: `${name} ten`, 25: `${name} twenty-five` })],
      ],
      isNew: [],
    };
  },
  "hunks that have become one": (name) => {
    const shorter = having(
      lines(name),
      Object.fromEntries(Array.from({ length: 12 }, (_, at) => [at + 12, null])),
    );
    return {
      rounds: [
        [lines(name), having(lines(name), rewritten(name))],
        [shorter, having(shorter, { 10: `${name} ten`, 13: `${name} twenty-five` })],
      ],
      hunks: [2, 1],
      isNew: [],
    };
  },
  "a hunk that was divided": (name) => {
    const longer = having(lines(name), { 12: text(lines(`${name} between`, 20)).trimEnd() }).flatMap((line) =>
      line.split("\n"),
    );
    return {
      rounds: [
        [lines(name), having(lines(name), { 10: `${name} ten`, 14: `${name} fourteen` })],
        [
          longer,
          longer.map((line) =>
            line === `${name} 10` ? `${name} ten` : line === `${name} 14` ? `${name} fourteen` : line,
          ),
        ],
      ],
      hunks: [1, 2],
      isNew: [],
    };
  },
  "another edit of a changed line": (name) => ({
    rounds: [
      [lines(name), having(lines(name), rewritten(name))],
      [lines(name), having(lines(name), { ...rewritten(name), 25: `${name}  twenty-five` })],
    ],
    isNew: [2],
    lost: true,
  }),
  "a changed line taken back": (name) => ({
    rounds: [
      [lines(name), having(lines(name), rewritten(name))],
      [lines(name), having(lines(name), { 10: `${name} ten` })],
    ],
    hunks: [2, 1],
    isNew: [1],
    lost: true,
  }),
  "a line more beside a change": (name) => ({
    rounds: [
      [lines(name), having(lines(name), rewritten(name))],
      [lines(name), having(lines(name), { ...rewritten(name), 10: `${name} ten\n${name} more` })],
    ],
    isNew: [1],
    lost: true,
  }),
  "a change beside one that was read, in its hunk": (name) => ({
    rounds: [
      [lines(name), having(lines(name), rewritten(name))],
      [lines(name), having(lines(name), { ...rewritten(name), 13: `${name} thirteen` })],
    ],
    isNew: [1],
  }),
  "the same added a second time elsewhere in the file": (name) => {
    const added = (places: number[]) =>
      having(lines(name), Object.fromEntries(places.map((at) => [at, `${name} ${at}\n${name} check()`])));
    return {
      rounds: [
        [lines(name), added([10])],
        [lines(name), added([10, 30])],
      ],
      hunks: [1, 2],
      isNew: [1, 2],
    };
  },
  "one of two equal changes taken back": (name) => {
    const added = (places: number[]) =>
      having(lines(name), Object.fromEntries(places.map((at) => [at, `${name} ${at}\n${name} check()`])));
    return {
      rounds: [
        [lines(name), added([10, 30])],
        [lines(name), added([30])],
      ],
      hunks: [2, 1],
      isNew: [1],
      lost: true,
    };
  },
  "a file that was renamed in between": (name) => {
    const round: [string[], string[]] = [lines(name), having(lines(name), rewritten(name))];
    return { rounds: [round, round], isNew: [], head: `${name}-renamed.txt`, base: `${name}.txt` };
  },
  "the same change made in another file": (name) => {
    const round: [string[], string[]] = [lines(name), having(lines(name), rewritten(name))];
    return { rounds: [round, round], isNew: [1, 2], head: `${name}-other.txt`, base: `${name}-other.txt` };
  },
  "the line feed taken from the end of an added line": (name) => {
    const added = [...lines(name), `${name} last`];
    return {
      rounds: [
        [lines(name), added],
        [lines(name), [...added.slice(0, -1), `${name} last\0`]],
      ],
      hunks: [1, 1],
      isNew: [1],
      lost: true,
    };
  },
};

const named = Object.entries(scenarios).map(([name, make], at) => ({
  name,
  file: `f${at}`,
  ...make(`f${at}`),
}));
const content = (all: readonly string[]) => text(all).replace("\0\n", "");
let rounds: ReadRound[];
/** Each scenario is a pull request of its own. */
function knownOf(file: string, maxChanges?: number): ReviewedHunks {
  const own = (round: ReadRound | undefined): ReadRound => ({
    ...(round as ReadRound),
    files: round?.files.filter(({ change }) => /^f\d+/.exec(change.path)?.[0] === file) ?? [],
  });
  return knownIn(own(rounds[1]), allRead(own(rounds[0]), maxChanges));
}
beforeAll(async () => {
  const round = (at: 0 | 1) => ({
    base: Object.fromEntries(
      named.map((one) => [(at === 1 && one.base) || `${one.file}.txt`, content(one.rounds[at]?.[0] ?? [])]),
    ),
    head: Object.fromEntries(
      named.map((one) => [(at === 1 && one.head) || `${one.file}.txt`, content(one.rounds[at]?.[1] ?? [])]),
    ),
  });
  rounds = await readRounds([round(0), round(1)]);
});

describe("new hunks after a round that read everything", () => {
  it.each(named)("New hunks after $name: $isNew", ({ file, head, isNew, hunks = [2, 2], lost = false }) => {
    const path = head ?? `${file}.txt`;
    const known = knownOf(file);
    const hunksOf = (round: number, of: string) =>
      rounds[round]?.files.find((one) => one.change.path === of)?.totalHunks;
    expect([hunksOf(0, `${file}.txt`), hunksOf(1, path)]).toEqual(hunks);
    expect(newIn(rounds[1] as ReadRound, known, path)).toEqual(isNew);
    expect(known.hasNew(path)).toBe(isNew.length > 0);
    if (head === undefined || head.includes("renamed")) expect(known.hasLost(path)).toBe(lost);
  });

  it("A line is known by its hunk", async () => {
    const index = named.findIndex(({ name }) => name === "another edit of a changed line");
    const path = `f${index}.txt`;
    const known = knownOf(`f${index}`);
    expect(await known.isKnownLine(path, "RIGHT", 11)).toBe(true);
    expect(await known.isKnownLine(path, "LEFT", 11)).toBe(true);
    expect(await known.isKnownLine(path, "RIGHT", 13)).toBe(true);
    expect(await known.isKnownLine(path, "RIGHT", 26)).toBe(false);
    expect(await known.isKnownLine(path, "RIGHT", 18)).toBe(false);
    expect(await known.isKnownLine("nowhere.txt", "RIGHT", 1)).toBe(false);
  });

  it("A file that lost a change is noticed", () => {
    const at = named.findIndex(({ name }) => name === "the same change made in another file");
    const known = knownOf(`f${at}`);
    expect(known.hasLost(`f${at}.txt`)).toBe(true);
    expect(known.hasLost("never-there.txt")).toBe(false);
  });

  it("Everything is new if nothing is remembered, or nothing was read", () => {
    const second = rounds[1] as ReadRound;
    for (const reviewed of [null, { unit: "change", hashes: [] }, { unit: "file", hashes: [] }] as const) {
      const none = knownIn(second, reviewed && { ...reviewed, hashes: [...reviewed.hashes] });
      for (const { change, totalHunks } of second.files) {
        expect(newIn(second, none, change.path)).toHaveLength(totalHunks);
        expect(none.hasLost(change.path)).toBe(false);
      }
    }
  });
});

describe("a change that was read and taken back", () => {
  const base = { "a.js": "check();\n", "b.js": "guard();\n" };
  const wide = (first: string) => ({ "a.js": first, "b.js": "wipe();\n" });

  it("A lost change makes the rest new if nothing else is new, because it may have made that harmless", async () => {
    const [first, second, third] = (await readRounds([
      { base, head: wide("checkMore();\n") },
      { base, head: wide("check();\n") },
      { base, head: wide("checkAll();\n") },
    ])) as [ReadRound, ReadRound, ReadRound];
    expect(newIn(second, knownIn(second, allRead(first)), "b.js")).toEqual([1]);
    expect(newIn(third, knownIn(third, allRead(first)), "b.js")).toEqual([]);
  });
});

describe("a file without new hunks that lost a change or is gone", () => {
  it.each(["a.js", "b.js"])("The rest of the change is new, whatever else is new: in %s", async (path) => {
    const base = { "a.js": "check();\n", "b.js": `guard();\n${"x();\n".repeat(9)}`, "c.js": "log();\n" };
    const head = { "a.js": "checkMore();\n", "b.js": "wipe();\n", "c.js": "logAll();\n" };
    const more = { ...base, ...head, "b.js": `wipe();\n${"x();\n".repeat(9)}more();\n` };
    const [first, second] = (await readRounds([
      { base, head: more },
      {
        base,
        head: {
          ...more,
          "c.js": "logNone();\n",
          [path]: path === "a.js" ? base["a.js"] : more["b.js"].slice(0, -8),
        },
      },
    ])) as [ReadRound, ReadRound];
    const known = knownIn(second, allRead(first));
    expect(newIn(second, known, "b.js")).toEqual(path === "a.js" ? [1, 2] : [1]);
    expect(newIn(second, known, "c.js")).toEqual([1]);
  });
});

describe("a file of which every reviewed change is gone", () => {
  const base = {
    "a.js": "check();\n",
    "b.js": "guard();\n",
    "package-lock.json": '{ "lockfileVersion": 2, "packages": {}, "dependencies": {} }\n',
  };
  const harmless = { ...base, "a.js": "checkMore();\n", "b.js": "wipe();\n" };
  const second: Record<string, Record<string, string>> = {
    "is only renamed": {
      "a2.js": base["a.js"],
      "b.js": harmless["b.js"],
      "package-lock.json": '{ "lockfileVersion": 2, "packages": {}, "dependencies": {} }\n',
    },
    "leaves a file that nobody reads": {
      ...harmless,
      "a.js": base["a.js"],
      "package-lock.json": '{ "lockfileVersion": 3, "packages": {} }\n',
    },
  };

  it.each(Object.entries(second))("The rest of the change is new, even if the file %s", async (_, head) => {
    const [first, after] = (await readRounds([
      { base, head: { ...harmless, "package-lock.json": head["package-lock.json"] ?? "" } },
      { base, head },
    ])) as [ReadRound, ReadRound];
    expect(newIn(after, knownIn(after, allRead(first)), "b.js")).toEqual([1]);
  });
});

describe("an unread change that is taken back", () => {
  it("A lost unread change makes what was read beside it new", async () => {
    const base = { "a.js": "check();\n", "b.js": "guard();\n" };
    const [first, second] = (await readRounds([
      { base, head: { "a.js": "checkMore();\n", "b.js": "wipe();\n" } },
      { base, head: { "a.js": "check();\n", "b.js": "wipe();\n" } },
    ])) as [ReadRound, ReadRound];
    const partial = reviewedNow(first.files, coverageWithout({ "a.js": [1] }), contentHash);
    expect(newIn(first, knownIn(first, partial), "a.js")).toEqual([1]);
    expect(newIn(first, knownIn(first, partial), "b.js")).toEqual([]);
    expect(newIn(second, knownIn(second, partial), "b.js")).toEqual([1]);
  });
});

describe("new hunks if whole files are remembered", () => {
  it.each(named)(
    "All hunks of a file are new or none, after $name",
    ({ file, head, isNew, lost = false }) => {
      const path = head ?? `${file}.txt`;
      const second = rounds[1] as ReadRound;
      const whole = knownOf(file, 0);
      const total = second.files.find((one) => one.change.path === path)?.totalHunks ?? 0;
      const isSame = isNew.length === 0 && !lost;
      expect(newIn(second, whole, path)).toHaveLength(isSame ? 0 : total);
    },
  );
});
