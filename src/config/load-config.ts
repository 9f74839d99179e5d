import { setImmediate } from "node:timers/promises";
import { AppError, type ErrorCode } from "../errors.ts";
import { type FileProblem, mergeNested, type NestedFile } from "./merge-nested.ts";
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
  nestedNames,
  type RepoConfig,
  rootPaths,
} from "./repo-config.ts";

/** Gives a file's text, undefined if there is none. Bound to one repository and one ref. */
export type ReadFile = (path: string) => Promise<string | undefined>;

export interface LoadedRepoConfig {
  config: RepoConfig;
  /** The file that counts; null if there is none and the defaults hold. */
  path: string | null;
  /** Whether it is the organisation's. */
  inherited: boolean;
}

/**
 * Loads the configuration of a repository. `read` must be bound to the BASE ref: the head belongs to whoever opened the pull
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

/** Whoever sees this may not be one who may read the organisation's repository: only lines of the file are told. */
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

/** On one line, whatever a folder is called. */
const shown = (path: string) => (/\p{Cc}/u.test(path) ? JSON.stringify(path) : path);

/** Refuses a file of a local checkout that is no regular one: the target of a link need not be of this revision. */
export const refuseIrregular = (file: string): never => {
  throw refusal([{ file, ...wholeFile(notRegular) }]);
};

const notRegular = "is not a regular file";

/** The part of a workspace through which configuration files of the base are read. */
export interface ConfigTree {
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

/** Everything that is wrong with nested files, given by path; null stands for what is no regular file. */
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
