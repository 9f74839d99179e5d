import ignore from "ignore";

export interface PathMatch {
  matched: boolean;
  /** A negative pattern (`!src/vendor/ours/**`) took this very path back. */
  takenBack: boolean;
}

/** Tests a path, relative to the repository root, against patterns in the gitignore dialect; case counts. */
export function createPathMatcher(patterns: readonly string[]): (path: string) => PathMatch {
  if (patterns.length === 0) return () => ({ matched: false, takenBack: false });
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(patterns);
  return (path) => {
    const { ignored, unignored } = rules.test(path);
    return { matched: ignored, takenBack: unignored };
  };
}
