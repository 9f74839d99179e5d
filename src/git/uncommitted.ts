import { copyFile, readdir, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { createGit } from "./create-git.ts";
import type { LocalRepository } from "./discover-repository.ts";
import type { Git } from "./git-environment.ts";
import { runGit } from "./run-git.ts";
import { createScratchRepository } from "./scratch-repository.ts";

/** Keys of the repository's configuration that decide how files compare and can run nothing. */
const harmless = "^core\\.(filemode|autocrlf|eol|ignorecase)$";

/**
 * Whether tracked files of the work tree differ from its HEAD, staged or not. Runs on a copy of the index in `folder` and
 * without the repository's configuration, so it writes nothing there and starts nothing that is configured there.
 */
export async function hasUncommittedChanges(
  git: Git,
  source: LocalRepository,
  folder: string,
): Promise<boolean> {
  if (source.workTree === null) return false;
  const client = createGit({
    git,
    baseDir: source.gitDir,
    gitDir: source.gitDir,
    config: [["safe.directory", "*"]],
  });
  const headSha = await client.raw(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).catch(() => "");
  const index = join(source.gitDir, "index");
  const indexStats = await stat(index).catch(() => undefined);
  if (headSha === "" || indexStats === undefined) return false;

  await createScratchRepository(folder, source, { headSha, attributes: false });
  const copies = (await readdir(source.gitDir)).filter((name) => name.startsWith("sharedindex."));
  await Promise.all(
    ["index", ...copies].map((name) => copyFile(join(source.gitDir, name), join(folder, name))),
  );
  // git trusts an entry only if it is older than the index; rounding down makes it look twice, never too seldom.
  const seconds = Math.floor(indexStats.mtimeMs / 1000);
  await utimes(join(folder, "index"), seconds, seconds);

  const { stdout } = await runGit({
    git,
    gitDir: folder,
    workTree: source.workTree,
    what: "status",
    config: await harmlessConfig(git, source),
    args: [
      "status",
      "--porcelain=v1",
      "-z",
      "--untracked-files=no",
      "--ignore-submodules=all",
      "--no-renames",
    ],
  });
  return stdout.length > 0;
}

async function harmlessConfig(git: Git, source: LocalRepository): Promise<(readonly [string, string])[]> {
  const client = createGit({ git, baseDir: source.commonDir, gitDir: source.gitDir });
  const file = join(source.commonDir, "config");
  const text = await client.raw(["config", "--file", file, "--get-regexp", harmless]).catch(() => "");
  const pairs = text.split("\n").map((line) => line.split(" "));
  return pairs.flatMap(([key, value]) =>
    key && value && /^[a-z]+$/i.test(value) ? [[key, value] as const] : [],
  );
}
