import { isExample, isTestFile } from "../code/test-file.ts";
import { reasonByName } from "../diff/skipped-names.ts";

/** What a file is to somebody who reads the code, in the order in which they want it. */
export const fileKinds = ["product", "test", "prose", "foreign"] as const;
export type FileKind = (typeof fileKinds)[number];

/** By the name alone: tests and their data, documentation and examples, what is vendored, generated or locked, and the rest. */
export function fileKindOf(path: string): FileKind {
  if (reasonByName(path) !== null) return "foreign";
  if (isTestFile(path)) return "test";
  return isExample(path) ? "prose" : "product";
}

/** Smaller stands first. */
export const kindRank = (path: string): number => fileKinds.indexOf(fileKindOf(path));
