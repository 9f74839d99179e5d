import { rgPath } from "@vscode/ripgrep";
import { nameBytes } from "../names.ts";
import { ownerVariable } from "../orphans.ts";
import { runProcess } from "../run-process.ts";
import type { SearchQuery } from "../workspace.ts";
import { readGlob, readPathGlob } from "./rg-glob.ts";
import { folderOf } from "./search-target.ts";

const TIMEOUT_MS = 30_000;

/**
 * Those of the files that glob and type of a query mean, as ripgrep chooses them in a folder on the disk.
 *
 * @param start the folder below which is searched, "" for the root; what lies above it is not held against a file
 */
export async function selectFiles(
  paths: readonly string[],
  start: string,
  { filePattern, fileType }: Pick<SearchQuery, "filePattern" | "fileType">,
): Promise<readonly string[]> {
  const globbed = filePattern === undefined ? paths : matchingGlob(paths, start, filePattern);
  return fileType === undefined ? globbed : await ofType(globbed, fileType);
}

function matchingGlob(paths: readonly string[], start: string, pattern: string): readonly string[] {
  const glob = read(pattern);
  if (glob === null) return paths;
  const { isNegative, isFolder, program } = glob;
  if (!isNegative) return isFolder ? [] : paths.filter((path) => program.matches(nameBytes(path)));
  const closed = new Map<string, boolean>();
  const isClosed = (folder: string): boolean => {
    if (folder.length <= start.length) return false;
    const known = closed.get(folder) ?? (program.matches(nameBytes(folder)) || isClosed(folderOf(folder)));
    closed.set(folder, known);
    return known;
  };
  return paths.filter((path) => !isClosed(folderOf(path)) && (isFolder || !program.matches(nameBytes(path))));
}

/** What ripgrep refuses it refuses itself, in its own words, when it is sent the pattern. */
function read(pattern: string) {
  try {
    return readPathGlob(pattern);
  } catch {
    return null;
  }
}

/** Types are told by names alone. */
async function ofType(paths: readonly string[], type: string): Promise<readonly string[]> {
  const types = await knownTypes();
  const globs = (type === "all" ? [...types.values()].flat() : (types.get(type) ?? [])).map(readGlob);
  const isMeant = (name: Buffer) => globs.some((glob) => glob.matches(name));
  return paths.filter((path) => isMeant(nameBytes(path.slice(path.lastIndexOf("/") + 1))));
}

let types: Promise<ReadonlyMap<string, readonly string[]>> | undefined;

/** ripgrep's types with their globs for names. They come with the program, so they are asked for once. */
function knownTypes(): Promise<ReadonlyMap<string, readonly string[]>> {
  types ??= listTypes();
  types.catch(() => {
    types = undefined;
  });
  return types;
}

async function listTypes(): Promise<ReadonlyMap<string, readonly string[]>> {
  let listed = "";
  await runProcess({
    program: rgPath,
    args: ["--no-config", "--type-list"],
    cwd: "/",
    env: ownerVariable,
    timeoutMs: TIMEOUT_MS,
    onStdout: (chunk) => {
      listed += chunk.toString("utf8");
      return undefined;
    },
  });
  const entries = listed.split("\n").map((line) => line.split(": "));
  return new Map(entries.map(([name = "", globs = ""]) => [name, globs.split(", ")]));
}
