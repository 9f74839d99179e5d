import ignore from "ignore";

/** Characters of a path that is matched. No file system takes longer ones. */
const MAX_PATH = 4_096;
/** Steps that matching a path may take, some hundredths of a second. */
const MAX_STEPS = 10_000_000;
/** Characters that the library may remember of paths and their folders before it begins anew. */
const MAX_REMEMBERED = 16_000_000;

export interface PathMatch {
  matched: boolean;
  /** A negative pattern (`!src/vendor/ours/**`) took this very path back. */
  takenBack: boolean;
}

const noMatch: PathMatch = { matched: false, takenBack: false };

/**
 * Tests a path, relative to the repository root, against patterns in the gitignore dialect; case counts. A slash at its end makes it
 * a folder. Patterns and paths may be hostile: the library (`ignore`) takes steps in proportion to their lengths but for `**`, of
 * which each tries all folders of the path again. Paths that are too deep for the patterns are not matched.
 *
 * @param overlong whether paths match that are too long or too deep to be matched
 */
export function createPathMatcher(
  patterns: readonly string[],
  overlong = false,
): (path: string) => PathMatch {
  if (patterns.length === 0) return () => noMatch;
  const create = () => ignore({ ignorecase: false, allowRelativePaths: true }).add([...patterns]);
  const manyFolders = patterns.map((pattern) => pattern.split("**").length - 1);
  let library = create();
  let remembered = 0;
  return (path) => {
    if (path === "") return noMatch;
    const depth = path.split("/").length;
    const steps = manyFolders.reduce((sum, times) => sum + path.length * waysToChoose(times, depth), 0);
    if (path.length > MAX_PATH || steps > MAX_STEPS) return { matched: overlong, takenBack: false };
    remembered += path.length * depth;
    if (remembered > MAX_REMEMBERED) {
      library = create();
      remembered = path.length * depth;
    }
    const { ignored, unignored } = library.test(path);
    return { matched: ignored, takenBack: unignored };
  };
}

/** In how many ways so many `**` can each stand for some of the folders of a path. */
function waysToChoose(times: number, folders: number): number {
  let ways = 1;
  for (let at = 1; at <= times; at += 1) ways *= (folders + at) / at;
  return ways;
}
