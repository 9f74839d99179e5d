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

/** The content of a path: text or bytes of a plain file, or an entry with another mode. */
export type Content = string | Buffer | { mode: Mode; data: string | Buffer };
/** File, executable, symlink (data is the target) or submodule (data is the 40 digits of a commit). */
export type Mode = "100644" | "100755" | "120000" | "160000";

export interface ImportedCommit {
  branch: string;
  message?: string;
  /** Branches or SHAs; default: the branch's own tip. An empty list starts an unrelated history. */
  parents?: string[];
  /** The changed paths; null deletes. A path may contain any byte except NUL; use a Buffer if it is not UTF-8. */
  files: Iterable<readonly [string | Buffer, Content | null]>;
}

/** An environment that ignores the machine's git configuration. */
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

/** A new folder in the system's temporary folder; `dispose` (or `using`) removes it. */
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
 * A real repository for a test. Commands run synchronously, so it must never talk to a server in the same process. Commit dates count up
 * from 2026-01-01, so equal steps give equal SHAs.
 */
export class GitRepo implements Disposable {
  readonly dir: string;
  readonly #folder: TempFolder | undefined;
  #seconds = Date.UTC(2026, 0, 1) / 1000;
  /** Stamp of the index after our last commit. */
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

  /** Runs git here and returns its raw output. `exits` lists the exit codes that count as success. */
  bytes(args: readonly string[], input: string | Buffer = "", exits: readonly number[] = [0]): Buffer {
    const date = `${this.#seconds} +0000`;
    const env = { ...testGitEnvironment, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
    const end = spawnSync("git", args, { cwd: this.dir, env, input, maxBuffer: 1 << 30 });
    if (end.error) throw end.error;
    if (!exits.includes(end.status ?? -1))
      throw new Error(`git ${args.join(" ")}: ${end.stderr.toString("utf8")}`);
    return end.stdout;
  }

  /** Writes files without staging them; null removes. */
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
    // These repositories stay small, so git need not check whether to run maintenance.
    const untidied = ["-c", "maintenance.auto=false"];
    this.git(...untidied, "commit", "--quiet", "--allow-empty", "--no-verify", "-m", message);
    return this.sha("HEAD");
  }

  branch(name: string, from = "HEAD"): this {
    if (from === "HEAD" && startBranch(this.#gitDir, name, committer(this.#seconds))) return this;
    return this.#checkOut("-B", name, from);
  }

  /** Points a full ref at an existing commit. */
  setRef(ref: string, sha: string): void {
    moveRef(this.#gitDir, ref, sha);
  }

  checkout(revision: string): this {
    return this.#checkOut(revision);
  }

  /** Leaves an index that holds the files of a commit and nothing else, as before. */
  #checkOut(...args: string[]): this {
    const isOwnIndex = this.#index === indexStamp(this.#gitDir);
    this.git("checkout", "--quiet", ...args);
    if (isOwnIndex) this.#index = indexStamp(this.#gitDir);
    return this;
  }

  sha(revision = "HEAD"): string {
    return this.#plainSha(revision) ?? this.git("rev-parse", "--verify", `${revision}^{commit}`);
  }

  /** Resolves only HEAD and branches; other names may be ambiguous. */
  #plainSha(revision: string): string | undefined {
    return revision === "HEAD" ? looseHead(this.#gitDir) : plainRef(this.#gitDir, revision);
  }

  get #gitDir(): string {
    const inside = join(this.dir, ".git");
    return existsSync(inside) ? inside : this.dir;
  }

  /**
   * Makes commits without a work tree, with one `git fast-import`: for many files, for paths that a file system does not support and for
   * contents that `git add` would convert. Returns the SHAs in order; an existing checkout does not change.
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
    // get-mark prints to stdout, even with --quiet.
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
    // A branch created in this stream goes by its name, an existing branch by an expression.
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

/** A path in the C quoting that fast-import reads; bytes outside plain ASCII become octal escapes. */
function quoted(path: string | Buffer): string {
  const escaped = [...Buffer.from(path as string)].map((byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c
      ? `\\${byte.toString(8).padStart(3, "0")}`
      : String.fromCharCode(byte),
  );
  return `"${escaped.join("")}"`;
}

/** Absolute path of this machine's git. */
export const gitPath: string =
  (process.env.PATH ?? "/usr/bin:/bin")
    .split(":")
    .map((folder) => join(folder, "git"))
    .find((path) => existsSync(path)) ?? "git";
