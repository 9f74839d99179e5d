import type { Definition } from "./source.ts";

/** Computes what is asked for once. */
export function once<T>(compute: () => T): () => T {
  let known: { value: T } | undefined;
  return () => {
    known ??= { value: compute() };
    return known.value;
  };
}

/** What lies on lines from `start` to `end`, in order. */
export const within = <T extends { line: number }>(all: readonly T[], start: number, end: number): T[] =>
  all.filter(({ line }) => line >= start && line <= end).sort((a, b) => a.line - b.line);

/** The definitions that a line lies in, outermost first, where they come in the order of their nesting. */
export const definitionsAt = (definitions: readonly Definition[], line: number): Definition[] =>
  definitions.filter((one) => one.docStart <= line && line <= one.end);

/** Texts that something could be documented by, each once: 3 to 60 characters with a letter. */
export function tellingLiterals(texts: readonly string[]): string[] {
  const trimmed = new Set(texts.map((text) => text.trim()));
  return [...trimmed].filter((text) => text.length >= 3 && text.length <= 60 && /\p{L}/u.test(text));
}
