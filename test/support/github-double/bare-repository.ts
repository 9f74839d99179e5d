import { execFile } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { GitRepo, testGitEnvironment } from "../git-repo.ts";

const run = promisify(execFile);

/** Runs git in a bare repository without blocking the server. Commits and objects are full names. */
export async function git(gitDir: string, ...args: string[]): Promise<string> {
  return (await gitBytes(gitDir, ...args)).toString("utf8");
}

const answers = new Map<string, Promise<Buffer>>();

/** git's output as bytes, for blobs. Commits and objects are full names: their content never changes, so git runs only once per call. */
export function gitBytes(gitDir: string, ...args: string[]): Promise<Buffer> {
  const key = [gitDir, ...args].join("\0");
  const answer = answers.get(key) ?? ask(gitDir, args);
  answers.set(key, answer);
  answer.catch(() => answers.delete(key));
  return answer;
}

async function ask(gitDir: string, args: readonly string[]): Promise<Buffer> {
  const { stdout } = await run("git", [`--git-dir=${gitDir}`, ...args], {
    env: testGitEnvironment,
    maxBuffer: 1 << 30,
    encoding: "buffer",
  });
  return stdout;
}

/** Makes a bare repository that accepts pushes over HTTP. */
export function createBareRepository(dir: string): GitRepo {
  const repository = GitRepo.create({ dir, bare: true });
  appendFileSync(join(dir, "config"), "[http]\n\treceivepack = true\n");
  return repository;
}

/** The commit of a branch, tag, ref or object name; undefined if there is none. */
export async function findCommit(gitDir: string, ref: string): Promise<string | undefined> {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`];
  // Other names can move.
  const found = /^[0-9a-f]{40}$/.test(ref) ? gitBytes(gitDir, ...args) : ask(gitDir, args);
  return found.then(
    (sha) => sha.toString("utf8").trim(),
    () => undefined,
  );
}

/** The merge base of two full object names. */
export async function mergeBase(gitDir: string, one: string, other: string): Promise<string> {
  return (await git(gitDir, "merge-base", one, other)).trim();
}
