import { type BlockLine, blockLines } from "./block-lines.ts";
import type { Lexis } from "./lexis.ts";
import { type Overlay, oldIndexOf } from "./overlay.ts";

/** A line of a version of the file, and where it stands; lines that both versions have are named alike. */
interface Placed {
  line: BlockLine;
  /** Of the innermost block around that both versions have. */
  home: string;
  /** Of the block around; null when only this version has it. */
  block: string | null;
}

/** The margin of the file, which is nobody's block. */
const margin = "margin";

/**
 * Why what a suggestion keeps would not stand where it stood, in a language where indentation or headings make blocks. Code
 * that falls out of its block, or that a new block swallows, still parses: it does something else.
 */
export function movedBlocks(overlay: Overlay, lexis: Lexis): string | null {
  const oldIndex = oldIndexOf(overlay);
  const newIndex = new Map<number, number>();
  const after = blockLines(overlay.after, lexis);
  for (const { at } of after) {
    const old = oldIndex(at);
    if (old !== undefined) newIndex.set(old, at);
  }
  const before = blockLines(overlay.before, lexis);
  const old = place("old", before, (at) => (newIndex.has(at) ? at : undefined));
  const now = place("new", after, oldIndex);
  return strayLine(overlay, old, now) ?? movedLine(overlay, old, now) ?? emptiedBlock(old, now);
}

function place(
  version: "old" | "new",
  lines: readonly BlockLine[],
  nameOf: (at: number) => number | undefined,
): Map<string, Placed> {
  const named = ({ at, part }: BlockLine) => {
    const name = nameOf(at);
    return name === undefined ? null : `${name}.${part}`;
  };
  const homes = new Map<BlockLine | null, string>([[null, margin]]);
  const placed = new Map<string, Placed>();
  for (const line of lines) {
    const { parent } = line;
    const block = parent === null ? margin : named(parent);
    const home = block ?? homes.get(parent) ?? margin;
    homes.set(line, home);
    placed.set(named(line) ?? `${version} ${line.at}.${line.part}`, { line, home, block });
  }
  return placed;
}

const isWithin = ({ at }: BlockLine, start: number, end: number) => at >= start && at < end;

/** A line that the suggestion adds belongs to one of the blocks that it replaces lines of. */
function strayLine(overlay: Overlay, old: Map<string, Placed>, now: Map<string, Placed>): string | null {
  const { start, oldEnd, newEnd } = overlay;
  const homes = new Set<string>();
  for (const { line, home } of old.values()) if (isWithin(line, start, oldEnd)) homes.add(home);
  // Comments and blank lines belong to no block; what stands around them does.
  if (homes.size === 0)
    for (const { line, home } of old.values())
      if (isWithin(line, start - 1, oldEnd + 1)) homes.add(home).add(`${line.at}.${line.part}`);
  for (const [name, { line, home }] of now) {
    if (!isWithin(line, start, newEnd) || old.has(name) || line.part === 1) continue;
    if (homes.size > 0 && !homes.has(home))
      return "it puts code into another block than the lines it replaces";
  }
  return null;
}

/** A line that stays belongs to the block it belonged to, or to a new one in it if the suggestion holds both. */
function movedLine(overlay: Overlay, old: Map<string, Placed>, now: Map<string, Placed>): string | null {
  const successors = new Map<BlockLine | null, string>();
  const predecessors = new Map<BlockLine | null, string>();
  for (const [name, { line, home, block }] of now) {
    const was = old.get(name);
    if (!was) continue;
    const isBehind = line.at >= overlay.newEnd;
    const stays = home === was.home && (!isBehind || (block === null) === (was.block === null));
    if (!stays) return "code that stays would belong to another block";
    // Of a block whose head is replaced all goes to the same place, and a new block takes from one place.
    const isTorn = was.block === null && !isSame(successors, was.line.parent, placeOf(line.parent));
    const isMixed = block === null && !isSame(predecessors, line.parent, placeOf(was.line.parent));
    if (isTorn || isMixed) return "a block would lose some of its lines, or get some of another one";
  }
  return null;
}

const placeOf = (line: BlockLine | null) => (line === null ? margin : `${line.at}.${line.part}`);

/** Whether a value is the same as the first one for its key, which it becomes if there is none. */
function isSame<Key>(values: Map<Key, string>, key: Key, value: string): boolean {
  const first = values.get(key) ?? value;
  values.set(key, first);
  return first === value;
}

/** What heads a block has something in it afterwards too. */
function emptiedBlock(old: Map<string, Placed>, now: Map<string, Placed>): string | null {
  const heads = (all: Map<string, Placed>) => new Set([...all.values()].map(({ line }) => line.parent));
  const oldHeads = heads(old);
  const newHeads = heads(now);
  for (const [name, { line }] of now) {
    const was = old.get(name);
    if (was && oldHeads.has(was.line) && !newHeads.has(line)) return "a block would be left empty";
  }
  return null;
}
