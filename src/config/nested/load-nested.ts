import { setImmediate } from "node:timers/promises";
import { AppError } from "../../errors.ts";
import { isNestedName, nestedNames } from "../config-files.ts";
import { type ConfigProblem, wholeFile } from "../config-problem.ts";
import type { RepoConfig } from "../repo-config.ts";
import { type FileProblem, type MergedConfig, mergeNested, type NestedFile } from "./merge-nested.ts";
import { parseNestedConfig } from "./nested-config.ts";

/** The part of a workspace through which configuration files of a revision are read. */
export interface ConfigTree<Ref extends string = "base"> {
  tree(ref: Ref): Promise<ReadonlyMap<string, { mode: string; oid: string }>>;
  readBlob(oid: string): Promise<{ text: string }>;
}

/** More are not read. */
export const mostFiles = 200;
const unknownPrivacy = "so nobody knows which paths are private";

/**
 * Joins the nested files of the base to the configuration of the repository.
 *
 * @throws AppError `config_invalid`, as soon as one of them may name private paths that cannot be told
 */
export async function withNested(root: RepoConfig, workspace: ConfigTree): Promise<MergedConfig> {
  const texts = await readNested(workspace, "base");
  const read: ReturnType<typeof readOne>[] = [];
  for (const [path, text] of texts) {
    read.push(readOne(path, text, texts));
    // Each may take a while to parse, and there are other reviews.
    await setImmediate();
  }
  const { config, problems } = mergeNested(root, read);
  return { config, problems: [...read.flatMap((one) => one.problems), ...problems] };
}

function readOne(
  path: string,
  text: string,
  all: ReadonlyMap<string, string>,
): NestedFile & { problems: FileProblem[] } {
  const { config, problems, unreadable } = parseNestedConfig(text);
  if (unreadable)
    throw new AppError("config_invalid", `${shown(path)} ${unreadable.reason}`, {
      remedy: unreadable.remedy,
    });
  const folder = folderOf(path);
  const misplaced = misplacedReason(path, all);
  if (misplaced !== undefined) {
    const privateAlone = { paths: { ignore: [], private: config.paths.private }, instructions: [] };
    return { path, folder, config: privateAlone, problems: [{ file: path, ...misplaced }] };
  }
  return { path, folder, config, problems: problems.map((problem) => ({ file: path, ...problem })) };
}

/** The folder of a file, "" for the root. */
export const folderOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** Why a file does not count where it stands, though what it lists as private does; undefined where it counts. */
export function misplacedReason(
  path: string,
  all: Pick<ReadonlyMap<string, unknown>, "has">,
): ConfigProblem | undefined {
  const folder = folderOf(path);
  if (folder === "")
    return wholeFile(`does not count at the root, but for its private paths: there, ${rootName} is the file`);
  const [first] = nestedNames;
  const isSecond = path !== `${folder}/${first}` && all.has(`${folder}/${first}`);
  return isSecond ? wholeFile(`does not count beside ${first}, but for its private paths`) : undefined;
}

const rootName = ".github/hunkwise.yml";
/** On one line, whatever a folder is called. */
const shown = (path: string) => (/\p{Cc}/u.test(path) ? JSON.stringify(path) : path);

/**
 * The texts of all nested files of a revision by path, those of the root too, in the order of the tree.
 *
 * @throws AppError `config_invalid` where one of them is no file, or there are too many
 */
export async function readNested<Ref extends string>(
  workspace: ConfigTree<Ref>,
  ref: Ref,
): Promise<Map<string, string>> {
  const tree = await workspace.tree(ref);
  const paths = [...tree.keys()].filter(isNestedName);
  requireFew(paths.length);
  const texts = new Map<string, string>();
  for (const path of paths) {
    const { mode = "", oid = "" } = tree.get(path) ?? {};
    texts.set(path, await textOf({ path, mode, oid }, workspace));
  }
  return texts;
}

/** @throws AppError `config_invalid` where there are more nested files than are read */
export function requireFew(count: number): void {
  if (count > mostFiles) {
    throw new AppError(
      "config_invalid",
      `There are more than ${mostFiles} nested configuration files (${nestedNames[0]}), ${unknownPrivacy}`,
      { remedy: "Join those of neighbouring folders in the folder above." },
    );
  }
}

async function textOf<Ref extends string>(
  { path, mode, oid }: { path: string; mode: string; oid: string },
  workspace: ConfigTree<Ref>,
): Promise<string> {
  // The target of a symbolic link need not be of this revision.
  if (!mode.startsWith("100")) {
    throw new AppError("config_invalid", `${shown(path)} is not a regular file, ${unknownPrivacy}`, {
      remedy: "Replace it by the file itself.",
    });
  }
  try {
    return (await workspace.readBlob(oid)).text;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "too_large") throw error;
    throw new AppError("config_invalid", `${shown(path)} is too large, ${unknownPrivacy}`, {
      remedy: "Shorten it to what a configuration needs.",
      cause: error,
    });
  }
}
