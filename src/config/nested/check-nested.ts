import { AppError } from "../../errors.ts";
import { wholeFile } from "../config-problem.ts";
import { defaultRepoConfig } from "../repo-config.ts";
import { folderOf, misplacedReason, requireFew } from "./load-nested.ts";
import { type FileProblem, mergeNested } from "./merge-nested.ts";
import { parseNestedConfig } from "./nested-config.ts";

/** Everything that is wrong with nested files, given by path. Never throws. */
export function checkNested(texts: ReadonlyMap<string, string>): FileProblem[] {
  const read = [...texts].map(([path, text]) => ({ path, parsed: parseNestedConfig(text) }));
  const own = read.flatMap(({ path, parsed }) => {
    const misplaced = misplacedReason(path, texts);
    return [...(misplaced ? [misplaced] : []), ...parsed.problems].map((problem) => ({
      file: path,
      ...problem,
    }));
  });
  const files = read.map(({ path, parsed: { config } }) => ({ path, folder: folderOf(path), config }));
  try {
    requireFew(files.length);
    return [...own, ...mergeNested(defaultRepoConfig, files).problems];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [...own, { file: files[0]?.path ?? "", ...wholeFile(`is one of too many: ${error.message}`) }];
  }
}
