import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { livenessOf, ownIdentity, type ProcessIdentity } from "../../core/process-identity.ts";
import { quotePath } from "./names.ts";
import type { Git } from "./run-git.ts";

const PREFIX = "hunkwise-range-";
const OWNER = "owner.json";
/** No range is in use for so long. */
const OLD_MS = 24 * 3_600_000;

/** Creates a folder for this process, and removes folders that killed processes left next to it. */
export async function makeTempFolder(parent: string): Promise<string> {
  const folder = await mkdtemp(join(parent, PREFIX));
  await writeFile(join(folder, OWNER), JSON.stringify(ownIdentity));
  await removeAbandoned(parent);
  return folder;
}

/** A git whose home is empty. Its temporary folder, which contains the home, is removed with it. */
export interface TempGit extends AsyncDisposable {
  git: Git;
  folder: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openTempGit(gitPath: string, parent = tmpdir()): Promise<TempGit> {
  const folder = await makeTempFolder(parent);
  const emptyHome = join(folder, "home");
  await mkdir(emptyHome);
  return { git: { gitPath, emptyHome }, folder, [Symbol.asyncDispose]: () => removeFolder(folder) };
}

/** Rejects if a git that has outlived its process still writes there. The owner's tag is removed last, so that the rest is found. */
export async function removeFolder(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name !== OWNER);
  for (const name of [...names, "."])
    await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 });
}

/** Removes the folders of killed processes. Asynchronous, because a server calls this and answers other requests meanwhile. */
export async function removeAbandoned(parent: string): Promise<void> {
  const names = (await readdir(parent).catch(() => [])).filter((name) => name.startsWith(PREFIX));
  const folders = names.map((name) => join(parent, name));
  await Promise.all(
    folders.map(async (folder) => {
      // Folders of other users cannot be read; what cannot be removed now is left to the next one.
      if (await isAbandoned(folder).catch(() => false)) await removeFolder(folder).catch(() => {});
    }),
  );
}

async function isAbandoned(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, OWNER), "utf8").catch(() => "");
  const liveness = text === "" ? "unknown" : livenessOf(JSON.parse(text) as ProcessIdentity);
  return liveness === "dead" || (liveness === "unknown" && (await isOld(folder)));
}

/** From another container, or its process died before it wrote its tag. */
async function isOld(folder: string): Promise<boolean> {
  const { mtimeMs } = await stat(folder);
  return Date.now() - mtimeMs > OLD_MS;
}

/** A repository that lends its objects. */
export interface ObjectSource {
  commonDir: string;
  shallow: boolean;
  objectFormat: "sha1" | "sha256";
}

/**
 * Creates a bare repository that borrows the objects of another one: no configuration, no hooks, no refs. With `attributes: false` the
 * `.gitattributes` files of the work tree apply, but no filter in them is configured.
 */
export async function createScratchRepository(
  gitDir: string,
  source: ObjectSource,
  options: { headSha: string | null; attributes: boolean },
): Promise<void> {
  await mkdir(join(gitDir, "objects", "info"), { recursive: true });
  await Promise.all([mkdir(join(gitDir, "refs")), mkdir(join(gitDir, "info"))]);
  const sha256 = source.objectFormat === "sha256" ? "[extensions]\n\tobjectFormat = sha256\n" : "";
  const version = sha256 === "" ? 0 : 1;
  await Promise.all([
    // A branch without a commit, if there is none.
    writeFile(join(gitDir, "HEAD"), `${options.headSha ?? "ref: refs/heads/unborn"}\n`),
    writeFile(
      join(gitDir, "config"),
      `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = true\n${sha256}`,
    ),
    writeFile(
      join(gitDir, "objects", "info", "alternates"),
      `${quotePath(join(source.commonDir, "objects"))}\n`,
    ),
    writeFile(join(gitDir, "info", "attributes"), options.attributes ? HARDENED_ATTRIBUTES : ""),
    source.shallow ? copyFile(join(source.commonDir, "shallow"), join(gitDir, "shallow")) : undefined,
  ]);
}

/** Overrides every `.gitattributes` of the repository: no filter runs, bytes on the disk equal the blob, and `-diff` hides no code. */
export const HARDENED_ATTRIBUTES = "* !filter !ident !text !eol !working-tree-encoding !diff !merge !crlf\n";
