import { describe, expect, it } from "vitest";
import type { FileDiff } from "../../../../src/repo/diff/file-diff.ts";
import type { ChangedFile } from "../../../../src/repo/diff-source.ts";
import { createDiffSource } from "../../../../src/repo/diff-source.ts";
import { reviewedNow } from "../../../../src/tasks/reviewed/known-change.ts";
import { withSurroundings } from "../../../../src/tasks/reviewed/surroundings.ts";
import { openRepository } from "../../../agent/tools/context.ts";
import { GitRepo } from "../../../support/git-repo.ts";
import { seeded } from "../../../support/seeded.ts";
import { contentHash, coverageWithout, knownIn } from "./rounds.ts";

/*
 * A search for two heads of which the second one does something else and is skipped as read. Programs are built of few words, so
 * that equal lines are common, and the second head is made of the first one by the edits of somebody who wants to hide something:
 * moves, copies, and what turns code on and off. Where each line stands is known from how the program was built.
 */

const isLong = process.env.HUNKWISE_LONG === "1";
const searchMs = 60 * 60 * 1000;
const pairsAtOnce = 120;

type Random = () => number;
const pick = <T>(all: readonly T[], random: Random): T => all[Math.floor(random() * all.length)] as T;
const below = (limit: number, random: Random) => Math.floor(random() * limit);

const words = ["check()", "wipe()", "log()", "stop()"];
type Kind = "function" | "method" | "class" | "if" | "comment" | "text";
type Part = string | Block;
interface Block {
  kind: Kind;
  name: string;
  parts: Part[];
}

/** A line, and all that it stands in: kinds and names, and the whole text of a function. */
interface Placed {
  text: string;
  place: string;
}

interface Language {
  ending: string;
  line(word: string): string;
  opening(block: Block): string[];
  closing(block: Block): string[];
  isIndented: boolean;
}

const languages: Record<string, Language> = {
  javascript: {
    ending: "js",
    line: (word) => `${word};`,
    opening: ({ kind, name }) =>
      ({
        function: [`function ${name}() {`],
        method: [`${name}() {`],
        class: [`class ${name} {`],
        if: [`if (${name}) {`],
        comment: ["/*"],
        text: [`const ${name} = \``],
      })[kind],
    closing: ({ kind }) =>
      ({ function: ["}"], method: ["}"], class: ["}"], if: ["}"], comment: ["*/"], text: ["`;"] })[kind],
    isIndented: false,
  },
  python: {
    ending: "py",
    line: (word) => word,
    opening: ({ kind, name }) =>
      ({
        function: [`def ${name}():`],
        method: [`def ${name}(self):`],
        class: [`class ${name}:`],
        if: [`if ${name}:`],
        comment: ['"""'],
        text: [`${name} = """`],
      })[kind],
    closing: ({ kind }) => (kind === "comment" || kind === "text" ? ['"""'] : ["    pass"]),
    isIndented: true,
  },
};

function render(parts: readonly Part[], of: Language, place = "", indent = ""): Placed[] {
  return parts.flatMap((part) => {
    if (typeof part === "string") return [{ text: indent + of.line(part), place }];
    const isRaw = part.kind === "comment" || part.kind === "text";
    const inner = of.isIndented && !isRaw ? `${indent}    ` : indent;
    const all = (within: string) => [
      ...of.opening(part).map((text) => ({ text: indent + text, place: within })),
      ...render(part.parts, of, within, inner),
      ...of.closing(part).map((text) => ({ text: indent + text, place: within })),
    ];
    const isFunction = part.kind === "function" || part.kind === "method";
    const text = isFunction
      ? all("")
          .map((line) => line.text)
          .join("\n")
      : "";
    // A comment's text does not say its name.
    const name = part.kind === "comment" ? "" : part.name;
    return all(`${place}/${part.kind} ${name} ${text}`);
  });
}

const kindsIn = (kind: Kind | "file"): Kind[] =>
  ({
    file: ["function", "function", "class", "if", "comment", "text"] as Kind[],
    class: ["method" as const],
    function: ["if" as const, "comment" as const],
    method: ["if" as const],
    if: ["if" as const, "function" as const],
    comment: [],
    text: [],
  })[kind];

function grow(kind: Kind | "file", depth: number, random: Random): Part[] {
  return Array.from({ length: 1 + below(kind === "file" ? 7 : 5, random) }, (): Part => {
    const kinds = kindsIn(kind);
    const nests = kinds.length > 0 && depth > 0 && (kind === "class" || random() < 0.5);
    return nests
      ? block(pick(kinds, random), depth, random)
      : kind === "class"
        ? block("method", 0, random)
        : pick(words, random);
  });
}

const block = (kind: Kind, depth: number, random: Random): Block => ({
  kind,
  name: kind === "if" ? pick(["on", "off"], random) : pick(["f", "g"], random),
  parts: grow(kind, depth - 1, random),
});

type Holder = { kind: Kind | "file"; parts: Part[] };
const holders = (file: Holder): Holder[] => [
  file,
  ...file.parts.flatMap((part) => (typeof part === "string" ? [] : holders(part))),
];

/** Edits in place; each leaves a program. */
const edits: ((file: Holder, random: Random) => void)[] = [
  // A line comes.
  (file, random) => {
    const holder = pick(
      holders(file).filter(({ kind }) => kind !== "class"),
      random,
    );
    holder.parts.splice(below(holder.parts.length + 1, random), 0, pick(words, random));
  },
  // A part goes.
  (file, random) => {
    const { parts } = pick(holders(file), random);
    if (parts.length > 1) parts.splice(below(parts.length, random), 1);
  },
  // A part moves, also to another place of its kind.
  (file, random) => {
    const from = pick(holders(file), random);
    const at = below(from.parts.length, random);
    const part = from.parts[at];
    if (part === undefined || from.parts.length < 2) return;
    from.parts.splice(at, 1);
    const targets = holders(file).filter(({ kind }) =>
      typeof part === "string" ? kind !== "class" : kindsIn(kind).includes(part.kind),
    );
    const to = pick(targets.length > 0 ? targets : [from], random);
    to.parts.splice(below(to.parts.length + 1, random), 0, part);
  },
  // A part is there twice.
  (file, random) => {
    const { parts } = pick(holders(file), random);
    const part = pick(parts, random);
    if (part !== undefined) parts.splice(below(parts.length + 1, random), 0, structuredClone(part));
  },
  // What it stands in turns parts off, or does not any more.
  (file, random) => {
    const { parts } = file;
    const at = below(parts.length, random);
    const part = parts[at];
    if (typeof part === "object" && (part.kind === "if" || part.kind === "comment")) {
      parts.splice(at, 1, ...part.parts);
      return;
    }
    const taken = parts.splice(at, 1 + below(2, random));
    const isFlat = taken.every((one) => typeof one === "string");
    parts.splice(at, 0, { kind: isFlat && random() < 0.5 ? "comment" : "if", name: "off", parts: taken });
  },
  // A condition, or a name.
  (file, random) => {
    const named = holders(file).filter((one): one is Block => one.kind !== "file");
    const one = named.length > 0 ? pick(named, random) : undefined;
    if (one) one.name = one.kind === "if" ? (one.name === "on" ? "off" : "on") : one.name === "f" ? "g" : "f";
  },
];

function edited(file: Holder, random: Random, most: number): Holder {
  const copy = structuredClone(file);
  for (let left = 1 + below(most, random); left > 0; left--) pick(edits, random)(copy, random);
  return copy;
}

interface Pair {
  base: Placed[];
  first: Placed[];
  second: Placed[];
}

function pairOf(of: Language, random: Random): Pair {
  const base: Holder = { kind: "file", parts: grow("file", 3, random) };
  const first = edited(base, random, 4);
  const second = random() < 0.5 ? edited(first, random, 3) : edited(base, random, 4);
  const [a, b, c] = [base, first, second].map(({ parts }) => render(parts, of));
  return { base: a ?? [], first: b ?? [], second: c ?? [] };
}

const textOf = (lines: readonly Placed[]) => lines.map(({ text }) => `${text}\n`).join("");

interface Looked {
  files: ChangedFile[];
  diffs: Map<string, FileDiff>;
}

/** Both heads of many pairs at once, as the reviews of them see them. */
async function lookAt(pairs: readonly Pair[], ending: string): Promise<[Looked, Looked]> {
  using repo = GitRepo.create();
  const filesOf = (state: keyof Pair) =>
    new Map(pairs.map((pair, at) => [`f${at}.${ending}`, textOf(pair[state])]));
  repo.importCommits([
    { branch: "base", parents: [], files: filesOf("base") },
    { branch: "first", parents: ["base"], files: filesOf("first") },
    { branch: "second", parents: ["base"], files: filesOf("second") },
  ]);
  const look = async (head: string): Promise<Looked> => {
    await using opened = await openRepository(repo, { base: "base", head });
    const { workspace } = opened;
    const source = createDiffSource(workspace, { ignore: [], private: [] });
    const files = await withSurroundings(await source.files(), { workspace, diffs: source });
    const diffs = new Map<string, FileDiff>();
    for (const { change } of files) diffs.set(change.path, await source.fileDiff(change, 3));
    return { files, diffs };
  };
  return [await look("first"), await look("second")];
}

/** What a pair shows that must not be; empty if it is sound. */
function faultOf(pair: Pair, path: string, [first, second]: readonly [Looked, Looked]): string {
  const file = second.files.find(({ change }) => change.path === path);
  if (!file) return "";
  // Each pair is a pull request of its own.
  const read = reviewedNow(
    first.files.filter(({ change }) => change.path === path),
    coverageWithout(),
    contentHash,
  );
  const diff = second.diffs.get(path);
  const known = knownIn({ files: [file], diffs: { fileDiff: async () => diff } as never }, read).known(path);
  const [one, other] = [textOf(pair.first), textOf(pair.second)];
  if (known.size === file.totalHunks && one !== other) return "all of another program is skipped";
  const placed = new Set(pair.first.map(({ text, place }) => JSON.stringify([text, place])));
  for (const hunk of known) {
    const { newStart = 1, lines = [] } = diff?.hunks[hunk - 1] ?? {};
    let at = newStart - 1;
    for (const { kind } of lines) {
      const line = kind === "removed" ? undefined : pair.second[at++];
      if (kind === "added" && line && !placed.has(JSON.stringify([line.text, line.place])))
        return `hunk ${hunk} is skipped, and its line '${line.text}' was read nowhere in ${line.place}`;
    }
  }
  return "";
}

interface Searched {
  pairs: number;
  /** With hunks that were skipped as read. */
  skipping: number;
}

async function search(name: string, seed: number): Promise<Searched> {
  const of = languages[name] as Language;
  const random = seeded(seed);
  const pairs = Array.from({ length: pairsAtOnce }, () => pairOf(of, random));
  const looked = await lookAt(pairs, of.ending);
  for (const [at, pair] of pairs.entries()) {
    const fault = faultOf(pair, `f${at}.${of.ending}`, looked);
    const [base, first, second] = [pair.base, pair.first, pair.second].map(textOf);
    expect(
      fault,
      `seed ${seed}, pair ${at}\n--- base\n${base}\n--- first\n${first}\n--- second\n${second}`,
    ).toBe("");
  }
  const skipping = pairs.filter((_, at) => skips(`f${at}.${of.ending}`, looked)).length;
  return { pairs: pairs.length, skipping };
}

function skips(path: string, [first, second]: readonly [Looked, Looked]): boolean {
  const hashes = (looked: Looked) =>
    looked.files.filter(({ change }) => change.path === path).flatMap(({ changes }) => changes.flat());
  const before = new Set(hashes(first));
  return hashes(second).some((hash) => before.has(hash));
}

describe.each(Object.keys(languages))("two heads of an author, in %s", (name) => {
  it(
    "Of two different programs the second one is never skipped as read",
    async () => {
      const until = Date.now() + (isLong ? searchMs / 2 : 0);
      const found: Searched = { pairs: 0, skipping: 0 };
      let seed = isLong ? Date.now() % 2 ** 31 : 7;
      do {
        const { pairs, skipping } = await search(name, seed++);
        found.pairs += pairs;
        found.skipping += skipping;
      } while (Date.now() < until);
      // A search that never comes near is none.
      expect(found.skipping).toBeGreaterThan(found.pairs / 50);
      console.info(
        `${name}: ${found.pairs} pairs of heads, ${found.skipping} with runs that were read before`,
      );
    },
    2 * searchMs,
  );
});
