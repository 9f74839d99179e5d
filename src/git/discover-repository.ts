import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { AppError } from "../errors.ts";
import { createGit } from "./create-git.ts";
import type { Git } from "./git-environment.ts";

/** A repository of the machine, looked at without writing to it and without running what it configures. */
export interface LocalRepository {
  /** What holds index and HEAD; in a linked worktree not the same as `commonDir`. */
  gitDir: string;
  /** What holds the objects. */
  commonDir: string;
  /** Null when it is bare. */
  workTree: string | null;
  shallow: boolean;
  objectFormat: "sha1" | "sha256";
}

/** Nobody but the caller of the command line decides which repository is read, so its owner does not matter. */
const anyOwner = [["safe.directory", "*"]] as const;

/** Finds the repository that a folder belongs to. Rejects with `repository_unavailable` when there is none. */
export async function discoverRepository(git: Git, folder: string): Promise<LocalRepository> {
  const baseDir = resolve(folder);
  const stats = await stat(baseDir).catch(() => null);
  if (stats === null) throw noRepository(`There is no folder '${folder}'`);
  if (!stats.isDirectory()) throw noRepository(`'${folder}' is a file, not a folder`);
  const gitDir = (await looksBare(baseDir)) ? baseDir : undefined;
  const client = createGit({ git, baseDir, gitDir, config: anyOwner });
  const asked = [
    "--git-common-dir",
    "--absolute-git-dir",
    "--is-inside-work-tree",
    "--is-shallow-repository",
  ];
  const answer = await client
    .raw(["rev-parse", "--path-format=absolute", ...asked, "--show-object-format"])
    .catch(() => {
      throw noRepository(`There is no git repository at '${folder}'`);
    });
  const [commonDir = "", ownDir = "", inWorkTree, shallow, objectFormat] = answer.split("\n");
  return {
    commonDir,
    gitDir: ownDir,
    workTree: inWorkTree === "true" ? await client.raw(["rev-parse", "--show-toplevel"]) : null,
    shallow: shallow === "true",
    objectFormat: objectFormat === "sha256" ? "sha256" : "sha1",
  };
}

/** A bare repository is used when it is named itself, never when it lies around inside of something else. */
async function looksBare(folder: string): Promise<boolean> {
  const parts = await Promise.all(
    ["HEAD", "objects", "refs"].map((name) => stat(join(folder, name)).catch(() => undefined)),
  );
  return Boolean(parts[0]?.isFile() && parts[1]?.isDirectory() && parts[2]?.isDirectory());
}

function noRepository(message: string): AppError {
  return new AppError("repository_unavailable", message, {
    remedy: "Name a folder inside of a git repository with --repo",
  });
}
