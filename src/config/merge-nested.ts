import type { ConfigProblem } from "./parse-config.ts";
import type { EffectiveConfig, NestedConfig, RepoConfig } from "./repo-config.ts";

/** A problem, and the file in which it is. */
export interface FileProblem extends ConfigProblem {
  file: string;
}

/** A nested file that was read. */
export interface NestedFile {
  path: string;
  /** Its folder, without a slash at the end. */
  folder: string;
  config: NestedConfig;
}

export interface MergedConfig {
  config: EffectiveConfig;
  /** Files that take all of them together beyond a limit: without them `config` is not what was meant. */
  problems: FileProblem[];
}

/** Of all nested files together: each path is held against each pattern, and a model reads each instruction. */
const most = { patterns: 2_000, instructionCharacters: 64_000 };

/**
 * Joins nested files to the configuration of the repository. Lists add up, folders before those in them: a later pattern in
 * `ignore` may take a file back. Private paths only ever add, and an exception applies only to its own file's list. Of
 * severities the nearest counts.
 */
export function mergeNested(root: RepoConfig, files: readonly NestedFile[]): MergedConfig {
  if (files.length === 0) return { config: root, problems: [] };
  const sorted = files.toSorted((a, b) => (a.folder < b.folder ? -1 : Number(a.folder > b.folder)));
  const ignored = sorted.map(({ folder, config }) => rebased(config.paths.ignore, folder));
  const kept = sorted.map(({ folder, config }) => rebased(config.paths.private, folder));
  const asked = sorted.map(({ folder, config }) =>
    config.instructions.flatMap(({ path, text }) => {
      const pattern = rebasePattern(path, folder);
      return pattern === null ? [] : [{ path: pattern, text }];
    }),
  );
  const severities = sorted.flatMap(({ folder, config: { minimum_severity } }) =>
    minimum_severity === undefined ? [] : [{ folder, minimum_severity }],
  );
  const patterns = (list: readonly string[]) => list.length;
  const characters = (list: RepoConfig["instructions"]) =>
    list.reduce((sum, { path, text }) => sum + path.length + text.length, 0);
  const config: EffectiveConfig = {
    ...root,
    paths: {
      ignore: [...root.paths.ignore, ...ignored.flat()],
      private: [...root.paths.private, ...privateIn(sorted, kept)],
    },
    instructions: [...root.instructions, ...asked.flat()],
    ...(severities.length > 0 && { severity_by_path: severities }),
  };
  const problems = [
    ...beyond(sorted, "paths.ignore", ignored.map(patterns), most.patterns, "patterns"),
    ...beyond(sorted, "paths.private", kept.map(patterns), most.patterns, "patterns"),
    ...beyond(sorted, "instructions", asked.map(characters), most.instructionCharacters, "characters"),
  ];
  return { config, problems };
}

/** The first file that goes beyond a limit, if there is one. */
function beyond(
  files: readonly NestedFile[],
  key: string,
  sizes: readonly number[],
  limit: number,
  unit: string,
): FileProblem[] {
  let sum = 0;
  const at = sizes.findIndex((size) => {
    sum += size;
    return sum > limit;
  });
  const file = files[at]?.path;
  if (file === undefined) return [];
  return [{ file, line: null, key, message: `goes beyond the ${limit} ${unit} of all files in folders` }];
}

const rebased = (patterns: readonly string[], folder: string) =>
  patterns.flatMap((pattern) => rebasePattern(pattern, folder) ?? []);

/**
 * Lists without exceptions may follow one another. A list with exceptions begins with a comment, at which the matcher of private
 * paths begins anew: its exceptions then apply to no other list.
 */
function privateIn(files: readonly NestedFile[], lists: readonly (readonly string[])[]): string[] {
  const hasException = (patterns: readonly string[]) => patterns.some((pattern) => pattern.startsWith("!"));
  const plain = lists.filter((patterns) => !hasException(patterns)).flat();
  const others = lists.flatMap((patterns, at) =>
    hasException(patterns) ? [`# ${oneLine(files[at]?.path ?? "")}`, ...patterns] : [],
  );
  return [...plain, ...others];
}

/** A line feed in a folder's name would end the comment. */
const oneLine = (path: string) => (/[\r\n]/.test(path) ? JSON.stringify(path) : path);

/**
 * A gitignore pattern that means at the root of the repository what it means in a file of `folder` ("" is the root itself); null
 * for a line that is no pattern. As in gitignore, a pattern without a slash, or with one only at its end, matches at any depth.
 */
export function rebasePattern(pattern: string, folder: string): string | null {
  const isException = pattern.startsWith("!");
  const bare = isException ? pattern.slice(1) : pattern;
  if (isBlank(bare) || (!isException && bare.startsWith("#"))) return null;
  const inner = bare.replace(/^\//, "");
  // "/" alone matches nothing, and would match the whole folder behind its name.
  if (isBlank(inner)) return null;
  const isAnchored = bare.trimEnd().slice(0, -1).includes("/");
  const place = folder === "" ? "/" : `/${escapeFolder(folder)}/`;
  return `${isException ? "!" : ""}${place}${isAnchored ? "" : "**/"}${inner}`;
}

const isBlank = (pattern: string) => /^ *$/.test(pattern);

/** A folder's name means itself, whatever signs of patterns it holds. */
const escapeFolder = (folder: string) => folder.replaceAll(/[\\*?[\]]/g, "\\$&");
