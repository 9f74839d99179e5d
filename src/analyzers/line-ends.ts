import { firstIndex } from "../code/tree.ts";

/** The place of every line feed, to look lines up in without reading the text again. */
export function lineEnds(text: string): number[] {
  const ends: number[] = [];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) ends.push(at);
  return ends;
}

/** The 1-indexed line of a place in the text. */
export function lineAt(ends: readonly number[], place: number): number {
  return firstIndex(ends, (end) => end >= place) + 1;
}
