import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  commitWorkTree,
  hasPackedRefs,
  indexStamp,
  initRepository,
  looseHead,
  looseRef,
  moveRef,
  plainRef,
  startBranch,
} from "./git-files.ts";
import { noHome } from "./no-home.ts";

/** What stands at a path: text or bytes of a plain file, or something that has a mode of its own. */
export type Content = string | Buffer | { mode: Mode; data: string | Buffer };
/** File, executable, symlink (data is the target) or submodule (data is the 40 digits of a commit). */
export type Mode = "100644" | "100755" | "120000" | "160000";

export interface ImportedCommit {
  branch: string;
  message?: string;
  /** Branches or SHAs; the branch's own tip when left out. An empty list starts an unrelated history. */
  parents?: string[];
  /** The paths that change; null deletes. Any byte but NUL may stand in a path, a Buffer for those that are not UTF-8. */
  files: Iterable<readonly [string | Buffer, Content | null]>;
}

/** An environment in which nothing of the machine's own git configuration counts. */
export const testGitEnvironment: Record<string, string> = {
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  HOME: noHome,
  LC_ALL: "C.UTF-8",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
  GIT_AUTHOR_NAME: "Ada Author",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Carl Committer",
  GIT_COMMITTER_EMAIL: "carl@example.com",
};

const author = (seconds: number) => `Ada Author <ada@example.com> ${seconds} +0000`;
const committer = (seconds: number) => `Carl Committer <carl@example.com> ${seconds} +0000`;

/** A folder of its own below the system's temporary folder; `dispose` (or `using`) removes it. */
export class TempFolder implements Disposable {
  readonly path: string;

  constructor(name = "test") {
    this.path = mkdtempSync(join(tmpdir(), `hunkwise-${name}-`));
  }

  dispose(): void {
    rmSync(this.path, { recursive: true, force: true, maxRetries: 3 });
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/**
 * A real repository for a test. Commands run synchronously, so never let it talk to a server of the same process. Commit
 * dates count up from 2026-01-01, hence equal steps give equal SHAs.
 */
export class GitRepo implements Disposable {
  readonly dir: string;
  readonly #folder: TempFolder | undefined;
  #seconds = Date.UTC(2026, 0, 1) / 1000;
  /** The index as a commit of ours left it. */
  #index = "none";

  private constructor(dir: string, folder?: TempFolder) {
    this.dir = dir;
    this.#folder = folder;
  }

  /** A new repository on branch `main`, in a temporary folder unless `dir` names one. */
  static create(options: { dir?: string; bare?: boolean; objectFormat?: "sha1" | "sha256" } = {}): GitRepo {
    const folder = options.dir === undefined ? new TempFolder("repo") : undefined;
    const dir = options.dir ?? folder?.path ?? "";
    mkdirSync(dir, { recursive: true });
    const repo = new GitRepo(dir, folder);
    const { bare = false, objectFormat = "sha1" } = options;
    if (objectFormat === "sha1") initRepository(bare ? dir : join(dir, ".git"), bare);
    else
      repo.git(
        "init",
        "--quiet",
        "--initial-branch=main",
        "--object-format=sha256",
        ...(bare ? ["--bare"] : []),
      );
    return repo;
  }

  /** An existing repository. */
  static at(dir: string): GitRepo {
    return new GitRepo(dir);
  }

  /** Runs git here and returns its output without the last newline. */
  git(...args: string[]): string {
    return this.bytes(args).toString("utf8").replace(/\n$/, "");
  }

  /** Runs git here and returns its output as it is. `exits` are the exit codes that are answers. */
  bytes(args: readonly string[], input: string | Buffer = "", exits: readonly number[] = [0]): Buffer {
    const date = `${this.#seconds} +0000`;
    const env = { ...testGitEnvironment, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
    const end = spawnSync("git", args, { cwd: this.dir, env, input, maxBuffer: 1 << 30 });
    if (end.error) throw end.error;
    if (!exits.includes(end.status ?? -1))
      throw new Error(`git ${args.join(" ")}: ${end.stderr.toString("utf8")}`);
    return end.stdout;
  }

  /** Puts files on the disk and stages nothing. null removes. */
  write(files: Record<string, Content | null>): this {
    for (const [path, content] of Object.entries(files)) {
      const file = join(this.dir, path);
      rmSync(file, { recursive: true, force: true });
      if (content === null) continue;
      mkdirSync(dirname(file), { recursive: true });
      const { mode, data } = withMode(content);
      if (mode === "120000") symlinkSync(data, file);
      else writeFileSync(file, data);
      if (mode === "100755") chmodSync(file, 0o755);
    }
    return this;
  }

  /** Writes the files, stages everything and commits. Returns the full SHA. */
  commit(message: string, files: Record<string, Content | null> = {}): string {
    this.write(files);
    const isOwnIndex = this.#index === indexStamp(this.#gitDir);
    const date = this.#seconds + 60;
    const made = isOwnIndex
      ? commitWorkTree(this.dir, { message, author: author(date), committer: committer(date) })
      : undefined;
    if (made !== undefined) {
      this.#seconds = date;
      this.#index = indexStamp(this.#gitDir);
      return made;
    }
    this.git("add", "--all");
    this.#seconds = date;
    // Nothing here grows so large that git should look whether to tidy up.
    const untidied = ["-c", "maintenance.auto=false"];
    this.git(...untidied, "commit", "--quiet", "--allow-empty", "--no-verify", "-m", message);
    return this.sha("HEAD");
  }

  branch(name: string, from = "HEAD"): this {
    if (from === "HEAD" && startBranch(this.#gitDir, name, committer(this.#seconds))) return this;
    return this.#checkOut("-B", name, from);
  }

  /** Lets a full ref name a commit that is here. */
  setRef(ref: string, sha: string): void {
    moveRef(this.#gitDir, ref, sha);
  }

  checkout(revision: string): this {
    return this.#checkOut(revision);
  }

  /** Leaves an index as the one before: the files of a commit and nothing else. */
  #checkOut(...args: string[]): this {
    const isOwnIndex = this.#index === indexStamp(this.#gitDir);
    this.git("checkout", "--quiet", ...args);
    if (isOwnIndex) this.#index = indexStamp(this.#gitDir);
    return this;
  }

  sha(revision = "HEAD"): string {
    return this.#plainSha(revision) ?? this.git("rev-parse", "--verify", `${revision}^{commit}`);
  }

  /** Of HEAD and of branches; other names may stand for several things. */
  #plainSha(revision: string): string | undefined {
    return revision === "HEAD" ? looseHead(this.#gitDir) : plainRef(this.#gitDir, revision);
  }

  get #gitDir(): string {
    const inside = join(this.dir, ".git");
    return existsSync(inside) ? inside : this.dir;
  }

  /**
   * Makes commits without a work tree, by one `git fast-import`: for many files, for paths that a disk would not take and
   * for contents that `git add` would convert. Returns the SHAs in order; an existing checkout is left as it is.
   */
  importCommits(commits: readonly ImportedCommit[]): string[] {
    const parts: (string | Buffer)[] = [];
    for (const [index, commit] of commits.entries()) {
      this.#seconds += 60;
      parts.push(`commit refs/heads/${commit.branch}\nmark :${index + 1}\n`);
      parts.push(`committer Carl Committer <carl@example.com> ${this.#seconds} +0000\n`);
      parts.push(...dataOf(commit.message ?? `Commit ${index + 1}`));
      parts.push(...parentsOf(commit, commits.slice(0, index), (name) => this.#exists(name)));
      for (const [path, content] of commit.files) parts.push(...changeOf(path, content));
      parts.push("\n");
    }
    // get-mark prints on stdout, which --quiet leaves alone.
    for (const index of commits.keys()) parts.push(`get-mark :${index + 1}\n`);
    const script = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
    return this.bytes(["fast-import", "--quiet", "--force"], script).toString("utf8").trim().split("\n");
  }

  #exists(name: string): boolean {
    if (looseRef(this.#gitDir, `refs/heads/${name}`)) return true;
    return hasPackedRefs(this.#gitDir) && this.git("for-each-ref", `refs/heads/${name}`) !== "";
  }

  dispose(): void {
    this.#folder?.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function withMode(content: Content): { mode: Mode; data: string | Buffer } {
  return typeof content === "string" || Buffer.isBuffer(content)
    ? { mode: "100644", data: content }
    : content;
}

function dataOf(data: string | Buffer): (string | Buffer)[] {
  return [`data ${Buffer.byteLength(data)}\n`, data, "\n"];
}

function parentsOf(
  commit: ImportedCommit,
  earlier: readonly ImportedCommit[],
  exists: (name: string) => boolean,
): string[] {
  const made = new Set(earlier.map((one) => one.branch));
  if (commit.parents?.length === 0 && made.has(commit.branch)) {
    throw new Error(`start an unrelated history on a branch other than ${commit.branch}`);
  }
  const name = (parent: string) => {
    if (/^[0-9a-f]{40,64}$/.test(parent)) return parent;
    // A branch of this stream is named plainly, one of the repository as an expression.
    return made.has(parent) ? `refs/heads/${parent}` : `refs/heads/${parent}^0`;
  };
  const continues = !made.has(commit.branch) && exists(commit.branch);
  const [first, ...others] = (commit.parents ?? (continues ? [commit.branch] : [])).map(name);
  return [...(first ? [`from ${first}\n`] : []), ...others.map((other) => `merge ${other}\n`)];
}

function changeOf(path: string | Buffer, content: Content | null): (string | Buffer)[] {
  const name = quoted(path);
  if (content === null) return [`D ${name}\n`];
  const { mode, data } = withMode(content);
  if (mode === "160000") return [`M 160000 ${data} ${name}\n`];
  return [`M ${mode} inline ${name}\n`, ...dataOf(data)];
}

/** A path in the C quoting that fast-import reads; every byte outside plain ASCII as an octal escape. */
function quoted(path: string | Buffer): string {
  const escaped = [...Buffer.from(path as string)].map((byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c
      ? `\\${byte.toString(8).padStart(3, "0")}`
      : String.fromCharCode(byte),
  );
  return `"${escaped.join("")}"`;
}

/** Absolute path of the git of this machine. */
export const gitPath: string =
  (process.env.PATH ?? "/usr/bin:/bin")
    .split(":")
    .map((folder) => join(folder, "git"))
    .find((path) => existsSync(path)) ?? "git";
