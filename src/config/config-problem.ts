import type { LineCounter } from "yaml";

/** Something in a configuration file that does not hold. */
export interface ConfigProblem {
  /** 1-indexed; null when it concerns the whole file. */
  line: number | null;
  /** Dotted: `review.drafts`; null when it concerns the whole file. */
  key: string | null;
  message: string;
}

/** A problem with the whole file. */
export const wholeFile = (message: string): ConfigProblem => ({ line: null, key: null, message });

/** A problem with what stands at an offset. */
export function problemAt(
  offset: number,
  lines: LineCounter,
  key: string | null,
  message: string,
): ConfigProblem {
  return { line: lines.linePos(offset).line, key, message };
}

/** A path as it is written in a problem: `instructions[0].text`. */
export function dotted(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}
