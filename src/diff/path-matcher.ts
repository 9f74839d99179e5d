import { ANY_NAMES, type Glob, matchesName, readGlob } from "./glob.ts";

/**
 * Characters of a path that is matched. No file system takes longer ones, and matching takes as many steps as the product of
 * the lengths of path and patterns.
 */
const MAX_PATH = 4_096;

export interface PathMatch {
  matched: boolean;
  /** A negative pattern (`!src/vendor/ours/**`) took this very path back. */
  takenBack: boolean;
}

interface Rule {
  isNegative: boolean;
  /** Matches folders alone: the pattern ends with a slash. */
  isFolder: boolean;
  /** Matches at any depth: the pattern has no other slash. */
  isName: boolean;
  glob: Glob;
}

/** A rule, and the parts of its glob that may stand for the next name of a path. */
interface Candidate {
  rule: Rule;
  parts: readonly number[];
}

/** A folder on the way down a path. */
interface Folder {
  name: string;
  matched: boolean;
  /** What may match something in it, in the order of the patterns. */
  candidates: readonly Candidate[];
}

/**
 * Tests a path, relative to the repository root, against patterns in the gitignore dialect, as git does; case counts. A slash
 * at its end makes it a folder. Patterns and paths may be hostile: nothing here is tried twice.
 *
 * @param overlong the answer for paths of more than 4,096 characters
 */
export function createPathMatcher(
  patterns: readonly string[],
  overlong = false,
): (path: string) => PathMatch {
  const candidates = patterns
    .map(readRule)
    .filter((rule) => rule !== null)
    .map((rule) => ({ rule, parts: reachable(rule.glob, 0) }));
  if (candidates.length === 0) return () => ({ matched: false, takenBack: false });
  const root: Folder = { name: "", matched: false, candidates };
  /** Those of the path before: most paths come in the order of their folders. */
  const known: Folder[] = [];
  return (path) => {
    if (path.length > MAX_PATH) return { matched: overlong, takenBack: false };
    const isFolder = path.endsWith("/");
    const names = path.slice(0, isFolder ? -1 : undefined).split("/");
    const name = names.pop() ?? "";
    const folder = descend(root, names, known);
    if (folder.matched) return { matched: true, takenBack: false };
    const rule = lastHit(folder.candidates, name, isFolder);
    return { matched: rule?.isNegative === false, takenBack: rule?.isNegative === true };
  };
}

function readRule(pattern: string): Rule | null {
  const isNegative = pattern.startsWith("!");
  const body = withoutEnd(isNegative ? pattern.slice(1) : pattern);
  if (body === "" || (!isNegative && body.startsWith("#"))) return null;
  const isFolder = body.endsWith("/");
  const inner = isFolder ? body.slice(0, -1) : body;
  const glob = inner === "" ? null : readGlob(inner.startsWith("/") ? inner.slice(1) : inner);
  return glob && { isNegative, isFolder, isName: !inner.includes("/"), glob };
}

/** A pattern without white space at its end, but for a space behind a backslash. */
function withoutEnd(pattern: string): string {
  let end = pattern.length;
  while (end > 0 && " \r\n".includes(pattern.charAt(end - 1))) end -= 1;
  let backslashes = 0;
  while (pattern[end - 1 - backslashes] === "\\") backslashes += 1;
  return pattern.slice(0, backslashes % 2 === 1 && pattern[end] === " " ? end + 1 : end);
}

/** Goes down from the root; what lies in a folder that is matched is matched, whatever else is said of it. */
function descend(root: Folder, names: readonly string[], known: Folder[]): Folder {
  let folder = root;
  for (const [depth, name] of names.entries()) {
    if (known[depth]?.name !== name) {
      known.length = depth;
      known.push(enter(folder, name));
    }
    folder = known[depth] ?? folder;
    if (folder.matched) break;
  }
  return folder;
}

function enter({ candidates }: Folder, name: string): Folder {
  const within: Candidate[] = [];
  for (const candidate of candidates) {
    if (candidate.rule.isName) within.push(candidate);
    else {
      const parts = partsBehind(candidate, name);
      if (parts.length > 0) within.push({ rule: candidate.rule, parts });
    }
  }
  const matched = lastHit(candidates, name, true)?.isNegative === false;
  return { name, matched, candidates: within };
}

/** The last rule that matches the name decides. */
function lastHit(candidates: readonly Candidate[], name: string, isFolder: boolean): Rule | undefined {
  return candidates.findLast(
    ({ rule, parts }) =>
      (isFolder || !rule.isFolder) && isLast(rule, parts) && isPart(rule.glob.at(-1), name),
  )?.rule;
}

const isLast = ({ glob }: Rule, parts: readonly number[]) => parts.at(-1) === glob.length - 1;

const isPart = (part: Glob[number] | undefined, name: string) =>
  part === ANY_NAMES || (part !== undefined && matchesName(part, name));

/** The parts that may stand for what follows the name. */
function partsBehind({ rule: { glob }, parts }: Candidate, name: string): readonly number[] {
  const behind = new Set<number>();
  for (const part of parts) {
    if (glob[part] === ANY_NAMES) for (const next of reachable(glob, part)) behind.add(next);
    else if (part < glob.length - 1 && isPart(glob[part], name))
      for (const next of reachable(glob, part + 1)) behind.add(next);
  }
  return behind.size === 0 ? none : [...behind];
}

const none: readonly number[] = [];

/** `**` stands for no name too, but at the end of a pattern: `a/**` is not `a`. */
function reachable(glob: Glob, part: number): readonly number[] {
  return glob[part] === ANY_NAMES && part < glob.length - 1 ? [part, part + 1] : [part];
}
