import { isExample, isTestFile } from "../code/test-file.ts";
import { reasonByName } from "../diff/skipped-names.ts";

/** The kind of a file for a reader of the code, the most wanted first. */
export const fileKinds = ["product", "test", "prose", "foreign"] as const;
export type RankedKind = (typeof fileKinds)[number];

/** By name only: tests and their data; documentation and examples; vendored, generated or locked files; and the rest. */
export function fileKindOf(path: string): RankedKind {
  if (reasonByName(path) !== null) return "foreign";
  if (isTestFile(path)) return "test";
  return isExample(path) ? "prose" : "product";
}

/** Smaller ranks come first. */
export const kindRank = (path: string): number => fileKinds.indexOf(fileKindOf(path));
