import type { Masks, ScannedText } from "../secrets/masks.ts";

/** A part of a file that gets a vector of its own. Lines are 1-indexed and inclusive. */
export interface Chunk {
  startLine: number;
  endLine: number;
  text: string;
}

/** About 500 tokens: what the smallest models take, and few enough to mean one thing. */
const MAX_CHARACTERS = 1_800;
const MAX_LINES = 60;
/** From this share of a full chunk on, it ends in front of a line that begins something new. */
const ENOUGH = 0.4;
/** Of one file; what comes behind them is found by words only. */
const MAX_CHUNKS = 80;
/** A longer line tells no more. */
const MAX_LINE = 400;

/** The parts of a file that may be sent out: without its secrets, and without those that another file gave away. */
export function chunksToSend(text: ScannedText, masks: Masks): Chunk[] {
  const clean = masks.forPeople(masks.mask(text));
  return chunksOf(clean.split("\n"));
}

/** Consecutive parts, divided where something new begins: at a line without indentation, behind an empty one at best. */
function chunksOf(lines: readonly string[]): Chunk[] {
  const chunks: Chunk[] = [];
  let start = 0;
  let size = 0;
  for (const [at, line] of lines.entries()) {
    const length = Math.min(line.length, MAX_LINE) + 1;
    const full = Math.max(size / MAX_CHARACTERS, (at - start) / MAX_LINES);
    const isOver = size + length > MAX_CHARACTERS || at - start >= MAX_LINES;
    if (at > start && (isOver || (full >= ENOUGH && beginsAnew(lines, at)))) {
      put(chunks, lines, start, at);
      start = at;
      size = 0;
    }
    size += length;
  }
  put(chunks, lines, start, lines.length);
  return chunks.slice(0, MAX_CHUNKS);
}

const beginsAnew = (lines: readonly string[], at: number): boolean =>
  /^[\p{L}_@#/<]/u.test(lines[at] ?? "") && (lines[at - 1] ?? "").trim() === "";

/** Blank lines around it tell nothing, and of a part without a letter there is nothing to find. */
function put(chunks: Chunk[], lines: readonly string[], from: number, to: number): void {
  const isBlank = (at: number) => (lines[at] ?? "").trim() === "";
  let [first, last] = [from, to - 1];
  while (first < last && isBlank(first)) first++;
  while (last > first && isBlank(last)) last--;
  const text = lines
    .slice(first, last + 1)
    .map((line) => line.slice(0, MAX_LINE))
    .join("\n");
  if (/\p{L}{2}/u.test(text)) chunks.push({ startLine: first + 1, endLine: last + 1, text });
}
