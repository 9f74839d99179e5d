import { setImmediate } from "node:timers/promises";
import { AppError, type ErrorCode } from "../core/errors.ts";
import { type GivenFiles, joinPolicy } from "./join-policy.ts";
import {
  type ConfigProblem,
  type Given,
  type ParseOptions,
  parseNestedConfig,
  parseRepoConfig,
  tooLarge,
  wholeFile,
} from "./parse-config.ts";
import {
  defaultRepoConfig,
  type EffectiveConfig,
  isConfigName,
  isEnforced,
  isNearName,
  isNestedName,
  type NestedConfig,
  nestedNames,
  type RepoConfig,
  rootPaths,
} from "./repo-config.ts";

export interface FileProblem extends ConfigProblem {
  file: string;
}

interface NestedFile {
  path: string;
  /** Its folder, without a slash at the end. */
  folder: string;
  config: NestedConfig;
}

/** Limits for all nested files together: each path is matched against each pattern, and a model reads each instruction. */
const most = { patterns: 2_000, instructionCharacters: 64_000 };

/**
 * Merges nested files into the configuration of the repository. Lists are concatenated, parent folders first. An exception of private paths
 * applies only to its own file's list. For severities the nearest file counts. What the organization enforces stays, except that private paths
 * are added.
 * @returns for each limit, the first file with which all files together exceed it; if there are any, do not use `config`
 */
export function mergeNested(root: EffectiveConfig, files: readonly NestedFile[]) {
  if (files.length === 0) return { config: root, problems: [] };
  const sorted = files.toSorted((a, b) => (a.folder < b.folder ? -1 : Number(a.folder > b.folder)));
  const unlessEnforced = <Item>(key: string, items: readonly Item[]) =>
    isEnforced(root, key) ? [] : [...items];
  const ignored = sorted.map(({ folder, config }) => rebased(config.paths.ignore, folder));
  const kept = sorted.map(({ folder, config }) => rebased(config.paths.private, folder));
  const asked = sorted.map(({ folder, config }) =>
    config.instructions.flatMap(({ path, text }) => {
      const pattern = rebasePattern(path, folder);
      return pattern === null ? [] : [{ path: pattern, text }];
    }),
  );
  const severities = unlessEnforced("minimum_severity", sorted).flatMap(
    ({ folder, config: { minimum_severity } }) =>
      minimum_severity === undefined ? [] : [{ folder, minimum_severity }],
  );
  const config: EffectiveConfig = {
    ...root,
    paths: {
      ignore: [...root.paths.ignore, ...unlessEnforced("paths.ignore", ignored.flat())],
      private: [...root.paths.private, ...privateIn(sorted, kept)],
    },
    instructions: [...root.instructions, ...unlessEnforced("instructions", asked.flat())],
    ...(severities.length > 0 && { severity_by_path: severities }),
  };
  const beyond = (key: string, sizes: readonly number[], limit: number, unit: string): FileProblem[] => {
    let sum = 0;
    const file = sorted.find((_, at) => {
      sum += sizes[at] ?? 0;
      return sum > limit;
    });
    const message = `exceeds the limit of ${limit} ${unit} for all files in folders together`;
    return file ? [{ file: file.path, line: null, key, message }] : [];
  };
  const lengths = (lists: readonly (readonly string[])[]) => lists.map(({ length }) => length);
  const characters = asked.map((list) =>
    list.reduce((sum, { path, text }) => sum + path.length + text.length, 0),
  );
  const problems = [
    ...beyond("paths.ignore", lengths(ignored), most.patterns, "patterns"),
    ...beyond("paths.private", lengths(kept), most.patterns, "patterns"),
    ...beyond("instructions", characters, most.instructionCharacters, "characters"),
  ];
  return { config, problems };
}

const rebased = (patterns: readonly string[], folder: string) =>
  patterns.flatMap((pattern) => rebasePattern(pattern, folder) ?? []);

/** A list with exceptions begins with a comment, at which the matcher of private paths starts over: its exceptions apply to no other list. */
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
 * A gitignore pattern of a file in `folder` ("" is the root) as one at the root; null for a line that is no pattern. As in gitignore, a
 * pattern without a slash, or with one only at its end, matches at any depth.
 */
export function rebasePattern(pattern: string, folder: string): string | null {
  const isException = pattern.startsWith("!");
  const bare = isException ? pattern.slice(1) : pattern;
  if (isBlank(bare) || (!isException && bare.startsWith("#"))) return null;
  const inner = bare.replace(/^\//, "");
  // A single "/" matches nothing, but after the folder's name it would match the whole folder.
  if (isBlank(inner)) return null;
  const isAnchored = bare.trimEnd().slice(0, -1).includes("/");
  const place = folder === "" ? "/" : `/${folder.replaceAll(/[\\*?[\]]/g, "\\$&")}/`;
  return `${isException ? "!" : ""}${place}${isAnchored ? "" : "**/"}${inner}`;
}

const isBlank = (pattern: string) => /^ *$/.test(pattern);

/** Returns a file's text, undefined if there is none. Bound to one repository and one ref. */
type ReadFile = (path: string) => Promise<string | undefined>;

export interface LoadedRepoConfig {
  config: EffectiveConfig;
  /** The repository's file, or the organization's if that is used instead of one; null if there is neither. */
  path: string | null;
  /** Whether the organization's file is used instead of one of the repository. */
  inherited: boolean;
  /** The files that are in use. Both, and joined, if the organization has a policy. */
  given: GivenFiles;
}

interface LoadOptions {
  /** Reads the default branch of the organization's repository `.github`. */
  readOrganization?: ReadFile;
  /** Whether a policy must be found: a repository that the token cannot reach looks like one that does not exist. */
  requiresPolicy?: boolean | undefined;
}

/**
 * `read` must be bound to the BASE ref: the head belongs to the author. The organization's file is joined if it has a `policy`, and otherwise
 * counts only if the repository has none. Rejects if a reader rejects, because private paths are then unknown.
 * @throws AppError `config_invalid` for an invalid file, and for an organization's file that cannot be read
 */
export async function loadRepoConfig(
  read: ReadFile,
  { readOrganization, requiresPolicy = false }: LoadOptions = {},
): Promise<LoadedRepoConfig> {
  const own = await ownFile(read);
  const above = readOrganization && (await organizationFile(readOrganization, own !== null, requiresPolicy));
  if (above?.config.policy !== undefined) {
    const given = { organization: above.given, repository: own?.given ?? {} };
    return { config: joinPolicy(given), path: own?.path ?? null, inherited: false, given };
  }
  if (requiresPolicy) throw policyMissing(above?.path ?? null);
  const used = own ?? above ?? null;
  const given = { organization: (own === null && above?.given) || {}, repository: own?.given ?? {} };
  if (used === null) return { config: defaultRepoConfig, path: null, inherited: false, given };
  return { config: withoutPolicy(used.config), path: used.path, inherited: own === null, given };
}

interface RepoFile {
  path: string;
  config: RepoConfig;
  given: Given;
}

async function ownFile(read: ReadFile): Promise<RepoFile | null> {
  for (const path of rootPaths) {
    const text = await read(path).catch((error: unknown) => refuseUnread(path, error));
    if (text === undefined) continue;
    const parsed = parseRepoConfig(text);
    if (parsed.ok) return { path, ...parsed };
    throw refusal(parsed.problems.map((problem) => ({ file: path, ...problem })));
  }
  return null;
}

/** The organization's file. An invalid one is ignored if the repository has its own and it cannot contain a policy. */
async function organizationFile(
  read: ReadFile,
  hasOwn: boolean,
  requiresPolicy: boolean,
): Promise<RepoFile | null> {
  for (const path of rootPaths) {
    const text = await read(path).catch((error: unknown) => refuseUnreadable(path, error));
    if (text === undefined) continue;
    const parsed = parseRepoConfig(text);
    if (parsed.ok) return { path, ...parsed };
    if (hasOwn && !requiresPolicy && !text.includes("policy")) return null;
    const lines = [...new Set(parsed.problems.flatMap(({ line }) => line ?? []))];
    throw organizationRefusal(
      path,
      `is not valid${lines.length > 0 ? ` (in line ${lines.join(", ")})` : ""}`,
    );
  }
  return null;
}

/** A policy has an effect only if it is in the organization's file. */
function withoutPolicy({ policy, ...config }: RepoConfig): RepoConfig {
  return config;
}

const policyMissing = (path: string | null) =>
  new AppError(
    "config_invalid",
    `The configuration cannot be used: a policy of the organization is required, and ${path === null ? `its repository \`.github\` or the file ${rootPaths[0]} there does not exist or cannot be read` : `its ${path} has no \`policy\``}`,
    {
      remedy:
        "Let Hunkwise read the organization's repository `.github`: install the App there, or give the Action the input organization-token. Until then, no model reads anything.",
    },
  );

/** Refuses an existing file that cannot be a configuration: it may be meant to keep anything private. */
function refuseUnread(file: string, error: unknown): never {
  const code = error instanceof AppError ? error.code : null;
  if (code === "too_large") throw refusal([{ file, ...tooLarge }]);
  if (code === "github_invalid") return refuseIrregular(file);
  throw error;
}

/** Errors that do not change when the organization's file is requested again. */
const lasting: ReadonlySet<ErrorCode> = new Set(["github_forbidden", "github_invalid", "too_large"]);

function refuseUnreadable(path: string, error: unknown): never {
  throw error instanceof AppError && lasting.has(error.code)
    ? organizationRefusal(path, "cannot be read", error)
    : error;
}

/** Readers may lack access to the organization's repository: the message names only lines of the file. */
const organizationRefusal = (path: string, why: string, cause?: unknown) =>
  new AppError("config_invalid", `The configuration cannot be used: the organization's ${path} ${why}`, {
    remedy:
      "Correct it in the organization's repository `.github`, where `hunkwise config check` lists the problems. Until then, no model reads anything.",
    cause,
  });

/** A file that the person who starts a review names instead of the repository's. Throws `config_invalid` if it is not valid. */
export function parseGivenConfig(file: string, text: string): RepoConfig {
  const parsed = parseRepoConfig(text);
  if (parsed.ok) return withoutPolicy(parsed.config);
  throw refusal(
    parsed.problems.map((problem) => ({ file, ...problem })),
    "Correct it; `hunkwise config check FILE` lists all problems.",
  );
}

/** Maximum number of problems in one line. */
const named = 5;

const onBase =
  "Correct it on the base branch; `hunkwise config check` lists all problems. Until then, no model reads anything.";

function refusal(problems: readonly FileProblem[], remedy = onBase): AppError {
  const lines = problems.slice(0, named).map(problemLine);
  const more = problems.length > named ? [`${problems.length - named} more`] : [];
  return new AppError(
    "config_invalid",
    `The configuration cannot be used: ${[...lines, ...more].join("; ")}`,
    { remedy },
  );
}

/** "FILE:3: review.drafts must be true or false", a format that editors and terminals link. */
export function problemLine({ file, line, key, message }: FileProblem): string {
  // On one line, for any folder name.
  const shown = /\p{Cc}/u.test(file) ? JSON.stringify(file) : file;
  return `${shown}${line === null ? "" : `:${line}`}: ${key === null ? "" : `${key} `}${message}`;
}

/** Refuses a file of a local checkout that is not a regular file: the target of a link may be of another revision. */
export const refuseIrregular = (file: string): never => {
  throw refusal([{ file, ...wholeFile(notRegular) }]);
};

const notRegular = "is not a regular file";

/** The part of a workspace that reads configuration files of the base. */
interface ConfigTree {
  tree(ref: "base"): Promise<ReadonlyMap<string, { mode: string; oid: string }>>;
  readBlob(oid: string): Promise<ConfigBlob>;
}

interface ConfigBlob {
  text: string;
  encoding: "utf8" | "latin1";
}

/** The same form as from GitHub's contents API: bytes that are not UTF-8 become U+FFFD, which the parser refuses. */
export const configText = ({ text, encoding }: ConfigBlob): string => (encoding === "utf8" ? text : "\ufffd");

/** Maximum number of nested files, and of all files with such names, to read. */
const mostFiles = 200;
export const mostListed = mostFiles + 20;

/**
 * Merges the nested files of the base into the configuration. Throws `config_invalid` if any of them has a problem.
 * @param isRelevant by default also paths at which people may believe that a configuration is read
 */
export async function withNested(
  root: EffectiveConfig,
  workspace: ConfigTree,
  isRelevant = isConfigName,
): Promise<EffectiveConfig> {
  const tree = await workspace.tree("base");
  const spare = new Set(sparesIn(tree));
  const paths = [...tree.keys()].filter((path) => isRelevant(path) && !spare.has(path));
  const texts = new Map<string, string | null>();
  for (const path of paths.slice(0, mostListed)) {
    const { mode = "", oid = "" } = tree.get(path) ?? {};
    const reading = mode.startsWith("100") ? workspace.readBlob(oid) : null;
    const blob = await reading?.catch((error: unknown) => refuseUnread(path, error));
    texts.set(path, blob ? configText(blob) : null);
  }
  const { config, problems } = await joinNested(root, texts);
  if (problems.length > 0) throw refusal(problems);
  return config;
}

/** Files near the name of the configuration where that exists: nothing that they may say is missed, so a review only warns. */
export const sparesIn = (tree: ReadonlyMap<string, unknown>): string[] =>
  tree.has(rootPaths[0])
    ? [...tree.keys()].filter((path) => isNearName(path) && /^(?:\.github\/)?[^/]+$/i.test(path))
    : [];

/** All problems of nested files, passed by path; null means that it is not a regular file. */
export const checkNested = async (texts: ReadonlyMap<string, string | null>): Promise<FileProblem[]> =>
  (await joinNested(defaultRepoConfig, texts, { isStrict: true })).problems;

async function joinNested(
  root: EffectiveConfig,
  texts: ReadonlyMap<string, string | null>,
  options?: ParseOptions,
): Promise<{ config: EffectiveConfig; problems: FileProblem[] }> {
  const [first = "", ...others] = [...texts.keys()].filter(isNestedName);
  if (others.length >= mostFiles) {
    const message = `is one of more than ${mostFiles} files in folders; combine files of neighboring folders into one in their parent folder`;
    return { config: root, problems: [{ file: first, ...wholeFile(message) }] };
  }
  const files: NestedFile[] = [];
  const problems: FileProblem[] = [];
  for (const [path, text] of texts) {
    const add = (found: readonly ConfigProblem[]) =>
      problems.push(...found.map((problem) => ({ file: path, ...problem })));
    const misplaced = whyMisplaced(path, texts);
    if (misplaced !== undefined) add([misplaced]);
    if (!isNestedName(path) || isNearName(path)) continue;
    const parsed = text === null ? null : parseNestedConfig(text, options);
    if (parsed === null) add([wholeFile(notRegular)]);
    else if (parsed.ok) files.push({ path, folder: folderOf(path), config: parsed.config });
    else add(parsed.problems);
    // Parsing each file may take time, and other reviews are running.
    await setImmediate();
  }
  const merged = mergeNested(root, files);
  return { config: merged.config, problems: [...problems, ...merged.problems] };
}

/** The folder of a file, "" for the root. */
const folderOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** Why a configuration may not be at its path; undefined if it may. */
export function whyMisplaced(
  path: string,
  all: Pick<ReadonlyMap<string, unknown>, "has">,
): ConfigProblem | undefined {
  const folder = folderOf(path);
  const [first] = nestedNames;
  const [usual, other] = rootPaths;
  if (isNearName(path) || (path === other && all.has(usual))) {
    const meant = /^(?:\.github)?$/i.test(folder) ? usual : `${folder}/${first}`;
    return wholeFile(`is not read: the configuration is ${meant}; move it there, or rename or delete it`);
  }
  if (path === usual || path === other) return undefined;
  if (folder === "") return wholeFile(`is not allowed at the root; use ${rootPaths[0]} there`);
  const isSecond = path !== `${folder}/${first}` && all.has(`${folder}/${first}`);
  return isSecond
    ? wholeFile(`is not allowed next to ${first}: a folder may only have one of them`)
    : undefined;
}
