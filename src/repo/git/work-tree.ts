import { copyFile, readdir, readFile, stat, utimes } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { splitRecords } from "../../core/text/decode.ts";
import type { LocalRepository } from "./repository.ts";
import { type Git, runGit } from "./run-git.ts";
import { createScratchRepository } from "./scratch.ts";

/** A copy of a work tree's index in a scratch repository, so that git writes nothing to the user's. */
export interface CopiedIndex {
  git: Git;
  source: LocalRepository;
  workTree: string;
  indexDir: string;
  config: [string, string][];
}

/** Where the configuration of the person at this machine is; it names what they ignore everywhere. */
export interface UserHome {
  /** HOME */
  home: string;
  /** XDG_CONFIG_HOME, or its default. */
  configHome: string;
}

interface CopyOptions {
  /** A folder that does not exist yet. */
  indexDir: string;
  /** The checked out commit; null if there is none. */
  headSha: string | null;
  /** Files are ignored and stored as by this user's own git. */
  user: UserHome | null;
}

/** Copies the index of a work tree; a missing one is empty. Null if there is no work tree. */
export async function copyIndex(
  git: Git,
  source: LocalRepository,
  { indexDir, headSha, user }: CopyOptions,
): Promise<CopiedIndex | null> {
  const { workTree } = source;
  if (workTree === null) return null;
  const indexStats = await stat(source.indexFile).catch(() => undefined);
  await createScratchRepository(indexDir, source, { headSha, attributes: false });
  const copy = { git, source, workTree, indexDir, config: await harmlessConfig(git, source, user) };
  if (indexStats === undefined) return copy;
  const shared = (await readdir(source.gitDir)).filter((name) => name.startsWith("sharedindex."));
  await Promise.all([
    copyFile(source.indexFile, join(indexDir, "index")),
    ...shared.map((name) => copyFile(join(source.gitDir, name), join(indexDir, name))),
  ]);
  // git trusts an entry only if it is older than the index; rounding down makes it check twice, never too rarely.
  const seconds = Math.floor(indexStats.mtimeMs / 1000);
  await utimes(join(indexDir, "index"), seconds, seconds);
  return copy;
}

/** Keys that decide how files are compared, what is ignored, and which bytes are stored. */
const keys = String.raw`^core\.(filemode|autocrlf|eol|ignorecase|excludesfile|attributesfile)$`;
/** Whether configuration may contain one of them with a value that is not git's default. */
const mayMatter = /autocrlf|eol|ignorecase|sfile|include|filemode(?!\s*=\s*true\s*$)/im;

/** The settings of a repository that cannot run anything, from the weakest to the strongest file; also the user's. */
async function harmlessConfig(
  git: Git,
  { commonDir, gitDir }: LocalRepository,
  user: UserHome | null,
): Promise<[string, string][]> {
  const global = user ? [join(user.configHome, "git", "config"), join(user.home, ".gitconfig")] : [];
  const files = [...global, join(commonDir, "config"), join(gitDir, "config.worktree")];
  const texts = await Promise.all(files.map((file) => readFile(file, "latin1").catch(() => "")));
  const read = async (file: string, at: number) => {
    if (texts[at] === "") return [];
    // Where the user has such a file, the home exists; there git expands `~` in the files that it includes.
    const isGlobal = at < global.length;
    const { stdout } = await runGit({
      git: { ...git, emptyHome: isGlobal && user ? user.home : git.emptyHome },
      gitDir,
      what: "read the configuration",
      expectedExits: [0, 1, 128],
      args: ["config", "--file", file, ...(isGlobal ? ["--includes"] : []), "-z", "--get-regexp", keys],
    });
    return splitRecords(stdout);
  };
  // The repository's default overrides what the user has set.
  const isNeeded = texts.some((text) => mayMatter.test(text));
  const records = isNeeded ? (await Promise.all(files.map(read))).flat() : [];
  const config: [string, string][] = user
    ? [
        ["core.excludesfile", join(user.configHome, "git", "ignore")],
        ["core.attributesfile", join(user.configHome, "git", "attributes")],
      ]
    : [];
  for (const record of records) {
    // "KEY<line feed>VALUE"; a key without a value is true.
    const [key = "", ...lines] = record.toString("utf8").split("\n");
    const value = (lines.length === 0 ? "true" : lines.join("\n")).replace(
      /^~(?=\/)/,
      () => user?.home ?? "~",
    );
    if (key.endsWith("sfile") ? isAbsolute(value) : /^[a-z]+$/i.test(value)) config.push([key, value]);
  }
  return config;
}

export interface OnIndex {
  /** In the folder of the index; default: the copy. */
  indexFile?: string;
  input?: Buffer;
  signal?: AbortSignal | undefined;
}

/** Runs git with a copied index, or in its folder alone. */
export async function onIndex(
  { git, indexDir, ...more }: Pick<CopiedIndex, "git" | "indexDir" | "config"> & { workTree?: string },
  what: string,
  args: readonly string[],
  { indexFile = "index", ...asked }: OnIndex = {},
): Promise<Buffer> {
  const { workTree, config } = more;
  const place = { git, gitDir: indexDir, workTree, config, indexFile: join(indexDir, indexFile) };
  return (await runGit({ ...place, ...asked, what, args, timeoutMs: TIMEOUT_MS })).stdout;
}

const TIMEOUT_MS = 600_000;

/** A record "H 160000 OID 0<tab>PATH" of a listing, after a NUL. */
const submodule = /\0H 160000 [0-9a-f]+ 0\t([^\0]+)/g;

/** The names of all submodules of an index. */
export async function submodulesIn(index: CopiedIndex, signal?: AbortSignal): Promise<Buffer[]> {
  const listed = await onIndex(index, "list the index", ["ls-files", "-z", "-t", "--stage"], { signal });
  const found = `\0${listed.toString("latin1")}`.matchAll(submodule);
  return [...found].map(([, name = ""]) => Buffer.from(name, "latin1"));
}
