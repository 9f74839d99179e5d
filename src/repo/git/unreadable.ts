import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pMap from "p-map";
import { AppError, isUnreadable } from "../../core/errors.ts";
import { CatFile } from "./cat-file.ts";
import { type Git, runGit } from "./run-git.ts";
import { createScratchRepository, makeTempFolder, removeFolder } from "./scratch.ts";

/** Objects of this size and more are not read to find damage. */
const MAX_READ_BYTES = 20 * 1024 * 1024;
/** Requests to one process: all but the first wait in its input. */
const AT_ONCE = 16;

interface ObjectStore {
  git: Git;
  gitDir: string;
}

/** The blobs that git cannot read: a partial clone has not fetched them, or they are damaged. Reads each of them. */
export async function unreadableBlobs(
  { git, gitDir }: ObjectStore,
  oids: Iterable<string>,
): Promise<Set<string>> {
  await using blobs = new CatFile(git, gitDir, MAX_READ_BYTES);
  const found = new Set<string>();
  const read = (oid: string) =>
    blobs.read(oid).catch((error: unknown) => {
      if (isUnreadable(error)) found.add(oid);
      else if (!(error instanceof AppError) || error.code !== "too_large") throw error;
    });
  await pMap(new Set(oids), read, { concurrency: AT_ONCE });
  return found;
}

/**
 * Gives a repository that borrows all objects of another one and has a stand-in for each of these blobs, its name: otherwise a git command
 * that meets one of them tells nothing about all others. No stand-in resembles another file, so none looks like a renamed one.
 */
export async function withStandIns<Value>(
  { git, gitDir: commonDir }: ObjectStore,
  blobs: ReadonlySet<string>,
  use: (gitDir: string) => Promise<Value>,
): Promise<Value> {
  const folder = await makeTempFolder(tmpdir());
  try {
    const gitDir = join(folder, "repository.git");
    const oids = [...blobs].sort();
    const objectFormat = oids[0]?.length === 64 ? "sha256" : "sha1";
    const source = { commonDir, objectFormat, shallow: false } as const;
    await createScratchRepository(gitDir, source, { headSha: null, attributes: true });
    const paths = oids.map((oid) => join(gitDir, oid));
    for (const [at, path] of paths.entries()) await writeFile(path, `${oids[at]}\n`);
    const args = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
    const input = paths.map((path) => `${path}\n`).join("");
    const { stdout } = await runGit({ git, gitDir, what: "store stand-ins", args, input });
    const standIns = stdout.toString("latin1").split("\n");
    const refs = oids.map((oid, at) => `${standIns[at]} refs/replace/${oid}\n`);
    await writeFile(join(gitDir, "packed-refs"), refs.join(""));
    return await use(gitDir);
  } finally {
    await removeFolder(folder);
  }
}
