import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../errors.ts";
import { discoverRepository } from "./discover-repository.ts";
import { runGit } from "./run-git.ts";
import { makeTempFolder, removeFolder } from "./temp-folder.ts";

export interface WorkingFiles {
  /** Absolute path of the top folder. */
  workTree: string;
  /** From there. One that was deleted and is not committed yet is among them. */
  paths: string[];
}

/**
 * The files of the repository that a folder belongs to: tracked, or neither tracked nor ignored. Nothing that the repository configures
 * is run. Rejects with `repository_unavailable` where there is none, or no work tree.
 */
export async function listWorkingFiles(
  folder: string,
  { gitPath, signal }: { gitPath: string; signal: AbortSignal },
): Promise<WorkingFiles> {
  const temp = await makeTempFolder(tmpdir());
  try {
    const git = { gitPath, emptyHome: join(temp, "home") };
    await mkdir(git.emptyHome);
    const { gitDir, workTree } = await discoverRepository(git, folder);
    if (workTree === null) {
      throw new AppError("repository_unavailable", `The repository at '${folder}' has no work tree`, {
        remedy: "Name a folder of a clone that is not bare with --repo",
      });
    }
    const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"];
    const { stdout } = await runGit({ git, gitDir, workTree, what: "list files", args, signal });
    return { workTree, paths: stdout.toString("utf8").split("\0").slice(0, -1) };
  } finally {
    await removeFolder(temp);
  }
}
