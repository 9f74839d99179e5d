import { AppError } from "../../errors.ts";
import { type ConfigProblem, wholeFile } from "../config-problem.ts";
import type { EffectiveConfig, RepoConfig } from "../repo-config.ts";
import type { NestedConfig } from "./nested-config.ts";
import { rebasePattern } from "./rebase-pattern.ts";

/** A nested file that was read. */
export interface NestedFile {
  path: string;
  /** Its folder, without a slash at the end. */
  folder: string;
  config: NestedConfig;
}

/** A problem, and the file in which it is. */
export interface FileProblem extends ConfigProblem {
  file: string;
}

export interface MergedConfig {
  config: EffectiveConfig;
  problems: FileProblem[];
}

/** Each path is held against each pattern, and a model reads each instruction. */
const most = { patterns: 2_000, instructionCharacters: 64_000 };

/**
 * Joins nested files to the configuration of the repository. Lists add up, folders before those in them: a later pattern in
 * `ignore` may take a file back. Private paths only ever add, and an exception is one from its own file's list alone. Of
 * severities the nearest counts.
 *
 * @throws AppError `config_invalid` where there are more private paths than can be held against each file
 */
export function mergeNested(root: RepoConfig, files: readonly NestedFile[]): MergedConfig {
  if (files.length === 0) return { config: root, problems: [] };
  const sorted = files.toSorted((a, b) => (a.folder < b.folder ? -1 : Number(a.folder > b.folder)));
  const problems: FileProblem[] = [];
  const ignore = [...root.paths.ignore, ...ignoredIn(sorted, problems)];
  const instructions = [...root.instructions, ...instructionsIn(sorted, problems)];
  const severities = sorted.flatMap(({ folder, config: { minimum_severity } }) =>
    minimum_severity === undefined ? [] : [{ folder, minimum_severity }],
  );
  const config: EffectiveConfig = {
    ...root,
    paths: { ignore, private: [...root.paths.private, ...privateIn(sorted)] },
    instructions,
    ...(severities.length > 0 && { severity_by_path: severities }),
  };
  return { config, problems };
}

const rebased = (patterns: readonly string[], folder: string) =>
  patterns.flatMap((pattern) => rebasePattern(pattern, folder) ?? []);

/**
 * Patterns alone may follow one another. A list with exceptions begins with a comment, behind which the matcher of private
 * paths begins anew: its exceptions then hold for no other list.
 */
function privateIn(files: readonly NestedFile[]): string[] {
  const lists = files.map(({ path, folder, config }) => ({
    ...{ path, patterns: rebased(config.paths.private, folder) },
  }));
  const count = lists.reduce((sum, { patterns }) => sum + patterns.length, 0);
  if (count > most.patterns) {
    throw new AppError(
      "config_invalid",
      `The nested configuration files list ${count} private paths, and more than ${most.patterns} are not held against each file`,
      { remedy: "Name folders instead of files." },
    );
  }
  const hasException = (patterns: readonly string[]) => patterns.some((pattern) => pattern.startsWith("!"));
  const plain = lists.filter(({ patterns }) => patterns.length > 0 && !hasException(patterns));
  const others = lists.filter(({ patterns }) => hasException(patterns));
  return [
    ...plain.flatMap(({ patterns }) => patterns),
    ...others.flatMap(({ path, patterns }) => [`# ${oneLine(path)}`, ...patterns]),
  ];
}

function ignoredIn(files: readonly NestedFile[], problems: FileProblem[]): string[] {
  const patterns: string[] = [];
  for (const { path, folder, config } of files) {
    const more = rebased(config.paths.ignore, folder);
    if (patterns.length + more.length <= most.patterns) patterns.push(...more);
    else problems.push(tooMuch(path, "paths.ignore", `${most.patterns} patterns`));
  }
  return patterns;
}

function instructionsIn(files: readonly NestedFile[], problems: FileProblem[]): RepoConfig["instructions"] {
  const kept: RepoConfig["instructions"] = [];
  let characters = 0;
  for (const { path, folder, config } of files) {
    const more = config.instructions.flatMap((one) => {
      const pattern = rebasePattern(one.path, folder);
      return pattern === null ? [] : [{ path: pattern, text: one.text }];
    });
    const size = more.reduce((sum, one) => sum + one.path.length + one.text.length, 0);
    if (characters + size <= most.instructionCharacters) {
      characters += size;
      kept.push(...more);
    } else problems.push(tooMuch(path, "instructions", `${most.instructionCharacters} characters`));
  }
  return kept;
}

function tooMuch(file: string, key: string, limit: string): FileProblem {
  const { message } = wholeFile(`does not count: all nested files together may have ${limit}`);
  return { file, line: null, key, message };
}

/** A line feed in a folder's name would end the comment. */
const oneLine = (path: string) => (/[\r\n]/.test(path) ? JSON.stringify(path) : path);
