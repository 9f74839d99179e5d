import ignore from "ignore";

/** Matching takes time that grows steeply with a path's depth and a pattern's `**`; nobody's code lies deeper than this. */
const MAX_DEPTH = 50;
/** For patterns that come from a model: what is matched within milliseconds at the greatest depth. */
export const MAX_DOUBLE_STARS = 3;

export interface PathMatch {
  matched: boolean;
  /** A negative pattern (`!src/vendor/ours/**`) took this very path back. */
  takenBack: boolean;
}

const isTooDeep = (path: string) => path.split("/", MAX_DEPTH + 2).length > MAX_DEPTH + 1;

/**
 * Tests a path, relative to the repository root, against patterns in the gitignore dialect; case counts.
 *
 * @param deep the answer for paths that are too deep to be matched in reasonable time
 */
export function createPathMatcher(patterns: readonly string[], deep = false): (path: string) => PathMatch {
  if (patterns.length === 0) return () => ({ matched: false, takenBack: false });
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(patterns);
  return (path) => {
    if (isTooDeep(path)) return { matched: deep, takenBack: false };
    const { ignored, unignored } = rules.test(path);
    return { matched: ignored, takenBack: unignored };
  };
}
