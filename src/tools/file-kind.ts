import { isExample, isTestFile } from "../analyzers/test-file.ts";
import { reasonByName } from "../diff/skipped-names.ts";

/** What a file is to a reader of the code, most wanted first. */
export const fileKinds = ["product", "test", "prose", "foreign"] as const;
export type FileKind = (typeof fileKinds)[number];

/** By name only: tests and their data, documentation and examples, what is vendored, generated or locked, and the rest. */
export function fileKindOf(path: string): FileKind {
  if (reasonByName(path) !== null) return "foreign";
  if (isTestFile(path)) return "test";
  return isExample(path) ? "prose" : "product";
}

/** Smaller comes first. */
export const kindRank = (path: string): number => fileKinds.indexOf(fileKindOf(path));
