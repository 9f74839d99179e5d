import { setImmediate } from "node:timers/promises";
import { AppError, type ErrorCode } from "../errors.ts";
import {
  type ConfigProblem,
  parseNestedConfig,
  parseRepoConfig,
  tooLarge,
  wholeFile,
} from "./parse-config.ts";
import {
  defaultRepoConfig,
  type EffectiveConfig,
  isNestedName,
  type NestedConfig,
  nestedNames,
  type RepoConfig,
  rootPaths,
} from "./repo-config.ts";

/** A problem, and the file in which it is. */
export interface FileProblem extends ConfigProblem {
  file: string;
}

/** A nested file that was read. */
interface NestedFile {
  path: string;
  /** Its folder, without a slash at the end. */
  folder: string;
  config: NestedConfig;
}

interface MergedConfig {
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

/** Escapes a folder's name, so that it matches only itself. */
const escapeFolder = (folder: string) => folder.replaceAll(/[\\*?[\]]/g, "\\$&");

/** Gives a file's text, undefined if there is none. Bound to one repository and one ref. */
type ReadFile = (path: string) => Promise<string | undefined>;

interface LoadedRepoConfig {
  config: RepoConfig;
  /** The file that counts; null if there is none and the defaults hold. */
  path: string | null;
  /** Whether it is the organisation's. */
  inherited: boolean;
}

/**
 * Loads the configuration of a repository. `read` must be bound to the BASE ref: the head belongs to the author of the pull
 * request. `readOrganization` reads the default branch of the organisation's `.github` repository and is asked if the
 * repository has no file of its own. Rejects as the readers reject, because then nobody knows which paths are private.
 * @throws AppError `config_invalid` for a file that does not parse or validate, and for an organisation's file that cannot be read.
 */
export async function loadRepoConfig(read: ReadFile, readOrganization?: ReadFile): Promise<LoadedRepoConfig> {
  for (const path of rootPaths) {
    const text = await read(path).catch((error: unknown) => refuseUnread(path, error));
    if (text === undefined) continue;
    const parsed = parseRepoConfig(text);
    if (parsed.ok) return { config: parsed.config, path, inherited: false };
    throw refusal(parsed.problems.map((problem) => ({ file: path, ...problem })));
  }
  for (const path of readOrganization ? rootPaths : []) {
    const text = await readOrganization?.(path).catch((error: unknown) => refuseUnreadable(path, error));
    if (text === undefined) continue;
    const parsed = parseRepoConfig(text);
    if (parsed.ok) return { config: parsed.config, path, inherited: true };
    const lines = [...new Set(parsed.problems.flatMap(({ line }) => line ?? []))];
    throw organizationRefusal(
      path,
      `is not valid${lines.length > 0 ? ` (in line ${lines.join(", ")})` : ""}`,
    );
  }
  return { config: defaultRepoConfig, path: null, inherited: false };
}

/** Refuses a file that is there and cannot be a configuration: it may keep anything private. */
function refuseUnread(file: string, error: unknown): never {
  const code = error instanceof AppError ? error.code : null;
  if (code === "too_large") throw refusal([{ file, ...tooLarge }]);
  if (code === "github_invalid") return refuseIrregular(file);
  throw error;
}

/** What stays as it is however often the organisation's file is asked for. */
const lasting: ReadonlySet<ErrorCode> = new Set(["github_forbidden", "github_invalid", "too_large"]);

function refuseUnreadable(path: string, error: unknown): never {
  throw error instanceof AppError && lasting.has(error.code)
    ? organizationRefusal(path, "cannot be read", error)
    : error;
}

/** Readers may lack access to the organisation's repository: the message names only lines of the file. */
const organizationRefusal = (path: string, why: string, cause?: unknown) =>
  new AppError("config_invalid", `The configuration cannot be used: the organisation's ${path} ${why}`, {
    remedy:
      "Correct it in the organisation's repository `.github`, where `hunkwise config check` names what is wrong; until then no model reads anything.",
    cause,
  });

/** Problems that one line names. */
const named = 5;

/** Why a configuration is refused: what is wrong, by file, line and key, and what to do. */
function refusal(problems: readonly FileProblem[]): AppError {
  const lines = problems.slice(0, named).map(problemLine);
  const more = problems.length > named ? [`${problems.length - named} more`] : [];
  return new AppError(
    "config_invalid",
    `The configuration cannot be used: ${[...lines, ...more].join("; ")}`,
    {
      remedy:
        "Correct it on the base branch; until then no model reads anything, and `hunkwise config check` names all that is wrong.",
    },
  );
}

/** "FILE:3: review.drafts must be true or false", as editors and terminals jump to it. */
export function problemLine({ file, line, key, message }: FileProblem): string {
  return `${shown(file)}${line === null ? "" : `:${line}`}: ${key === null ? "" : `${key} `}${message}`;
}

/** On one line, for any folder name. */
const shown = (path: string) => (/\p{Cc}/u.test(path) ? JSON.stringify(path) : path);

/** Refuses a file of a local checkout that is no regular one: the target of a link need not be of this revision. */
export const refuseIrregular = (file: string): never => {
  throw refusal([{ file, ...wholeFile(notRegular) }]);
};

const notRegular = "is not a regular file";

/** The part of a workspace through which configuration files of the base are read. */
interface ConfigTree {
  tree(ref: "base"): Promise<ReadonlyMap<string, { mode: string; oid: string }>>;
  readBlob(oid: string): Promise<ConfigBlob>;
}

interface ConfigBlob {
  text: string;
  encoding: "utf8" | "latin1";
}

/** As GitHub's contents API gives a file: of bytes that are no UTF-8 it leaves U+FFFD, which the parser refuses. */
export const configText = ({ text, encoding }: ConfigBlob): string => (encoding === "utf8" ? text : "\ufffd");

/** More nested files are not read. */
export const mostFiles = 200;

/**
 * Joins the nested files of the base to the configuration of the repository.
 *
 * @throws AppError `config_invalid` if anything is wrong with one of them
 */
export async function withNested(root: RepoConfig, workspace: ConfigTree): Promise<EffectiveConfig> {
  const tree = await workspace.tree("base");
  const paths = [...tree.keys()].filter(isNestedName);
  const texts = new Map<string, string | null>();
  for (const path of paths.slice(0, mostFiles + 1)) {
    const { mode = "", oid = "" } = tree.get(path) ?? {};
    const reading = mode.startsWith("100") ? workspace.readBlob(oid) : null;
    const blob = await reading?.catch((error: unknown) => refuseUnread(path, error));
    texts.set(path, blob ? configText(blob) : null);
  }
  const { config, problems } = await joinNested(root, texts);
  if (problems.length > 0) throw refusal(problems);
  return config;
}

/** All problems of nested files, given by path; null means that it is no regular file. */
export const checkNested = async (texts: ReadonlyMap<string, string | null>): Promise<FileProblem[]> =>
  (await joinNested(defaultRepoConfig, texts)).problems;

async function joinNested(
  root: RepoConfig,
  texts: ReadonlyMap<string, string | null>,
): Promise<{ config: EffectiveConfig; problems: FileProblem[] }> {
  const [first = ""] = texts.keys();
  if (texts.size > mostFiles) {
    const message = `is one of more than ${mostFiles} files in folders; join those of neighbouring folders in the folder above`;
    return { config: root, problems: [{ file: first, ...wholeFile(message) }] };
  }
  const files: NestedFile[] = [];
  const problems: FileProblem[] = [];
  for (const [path, text] of texts) {
    const add = (found: readonly ConfigProblem[]) =>
      problems.push(...found.map((problem) => ({ file: path, ...problem })));
    const misplaced = whyMisplaced(path, texts);
    if (misplaced !== undefined) add([misplaced]);
    const parsed = text === null ? null : parseNestedConfig(text);
    if (parsed === null) add([wholeFile(notRegular)]);
    else if (parsed.ok) files.push({ path, folder: folderOf(path), config: parsed.config });
    else add(parsed.problems);
    // Each may take a while to parse, and there are other reviews.
    await setImmediate();
  }
  const merged = mergeNested(root, files);
  return { config: merged.config, problems: [...problems, ...merged.problems] };
}

/** The folder of a file, "" for the root. */
const folderOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** Why a nested file may not be where it is; undefined if it may. */
export function whyMisplaced(
  path: string,
  all: Pick<ReadonlyMap<string, unknown>, "has">,
): ConfigProblem | undefined {
  const folder = folderOf(path);
  const [first] = nestedNames;
  if (folder === "") return wholeFile(`is out of place: at the root, ${rootPaths[0]} is the file`);
  const isSecond = path !== `${folder}/${first}` && all.has(`${folder}/${first}`);
  return isSecond ? wholeFile(`is out of place beside ${first}: a folder has one file`) : undefined;
}
