import type { AnalyzedFile } from "./analyzer.ts";

export interface AddedLine {
  /** 1-indexed. */
  line: number;
  /** Without its line end, also when that is `\r\n`. */
  text: string;
}

/** The lines that the change added, in order, without those beyond the text's end. */
export function addedLinesOf(file: AnalyzedFile): AddedLine[] {
  return file.text
    .split("\n")
    .map((text, index) => ({ line: index + 1, text: text.replace(/\r$/, "") }))
    .filter((one) => file.addedLines.has(one.line));
}
