import { execFile } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { GitRepo, testGitEnvironment } from "../git-repo.ts";

const run = promisify(execFile);

/** git in a bare repository, without blocking the server that asks. */
export async function git(gitDir: string, ...args: string[]): Promise<string> {
  return (await gitBytes(gitDir, ...args)).toString("utf8");
}

/** git's output as bytes, for blobs. */
export async function gitBytes(gitDir: string, ...args: string[]): Promise<Buffer> {
  const { stdout } = await run("git", [`--git-dir=${gitDir}`, ...args], {
    env: testGitEnvironment,
    maxBuffer: 1 << 30,
    encoding: "buffer",
  });
  return stdout;
}

/** A bare repository that people may push to over HTTP. */
export function createBareRepository(dir: string): GitRepo {
  const repository = GitRepo.create({ dir, bare: true });
  appendFileSync(join(dir, "config"), "[http]\n\treceivepack = true\n");
  return repository;
}

/** The commit a branch, tag, ref or object name stands for; undefined when there is none. */
export async function findCommit(gitDir: string, ref: string): Promise<string | undefined> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`];
  return git(gitDir, ...args).then(
    (sha) => sha.trim(),
    () => undefined,
  );
}

const mergeBases = new Map<string, Promise<string>>();

/** The merge base of two full object names. */
export function mergeBase(gitDir: string, one: string, other: string): Promise<string> {
  const key = [gitDir, one, other].join(" ");
  const known = mergeBases.get(key) ?? git(gitDir, "merge-base", one, other).then((sha) => sha.trim());
  mergeBases.set(key, known);
  return known;
}
