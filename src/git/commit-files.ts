import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathFault } from "../diff/path-fault.ts";
import { AppError } from "../errors.ts";
import { type Git, requireObjectNames } from "./git-environment.ts";
import { nameBytes } from "./names.ts";
import { runGit } from "./run-git.ts";
import { makeTempFolder, removeFolder } from "./temp-folder.ts";

/** A file of a commit to be made. */
export interface CommittedFile {
  /** A key, as everywhere in this room. */
  path: string;
  /** Null removes it. */
  after: { mode: "100644" | "100755"; bytes: Buffer } | null;
}

export interface CommitFiles {
  git: Git;
  gitDir: string;
  /** The commit to go on from; its trees have to be there, its blobs need not. */
  parent: string;
  files: readonly CommittedFile[];
  message: string;
  author: { name: string; email: string };
  /** Milliseconds since 1970. */
  at: number;
  signal?: AbortSignal | undefined;
}

/**
 * Makes a commit that differs from its parent in these files alone, without a working tree and without a ref, and resolves to its
 * name. The same files at the same time are the same commit.
 */
export async function commitFiles(options: CommitFiles): Promise<string> {
  const { git, gitDir, parent, files, message, author, at, signal } = options;
  requireObjectNames(parent);
  const bad = files.find(({ path }) => pathFault(path) !== undefined);
  if (bad) throw new AppError("usage", `'${bad.path}' is no path of a file`);
  const folder = await makeTempFolder(tmpdir());
  const at1970 = `${Math.floor(at / 1_000)} +0000`;
  const run = (what: string, args: readonly string[], input?: string | Buffer) =>
    runGit({ git, gitDir, indexFile: join(folder, "index"), what, args, input, signal });
  try {
    const records: Buffer[] = [];
    for (const { path, after } of files) {
      const entry = after === null ? `0 ${"0".repeat(parent.length)}\t` : `${after.mode} ${await blobOf(run, after.bytes)}\t`;
      records.push(Buffer.from(entry), nameBytes(path), Buffer.from([0]));
    }
    await run("read the tree", ["read-tree", parent]);
    await run("change the tree", ["update-index", "-z", "--index-info"], Buffer.concat(records));
    const tree = text(await run("write the tree", ["write-tree", "--missing-ok"]));
    const head = `tree ${tree}\nparent ${parent}\n`;
    const people = ["author", "committer"].map((who) => `${who} ${named(author)} ${at1970}\n`).join("");
    const commit = `${head}${people}\n${message.trim()}\n`;
    return text(await run("commit", ["hash-object", "-t", "commit", "-w", "--stdin"], commit));
  } finally {
    await removeFolder(folder);
  }
}

type Run = (what: string, args: readonly string[], input?: string | Buffer) => Promise<{ stdout: Buffer }>;

const text = ({ stdout }: { stdout: Buffer }) => stdout.toString("latin1").trim();

const blobOf = async (run: Run, bytes: Buffer) =>
  text(await run("store a file", ["hash-object", "-t", "blob", "-w", "--stdin", "--no-filters"], bytes));

/** Without what would end the field, or the line. */
function named({ name, email }: CommitFiles["author"]): string {
  const plain = (value: string) => value.replace(/[<>\p{Cc}]/gu, "").trim();
  return `${plain(name)} <${plain(email)}>`;
}
