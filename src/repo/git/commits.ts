import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../../core/errors.ts";
import { decodeText, splitNul } from "../../core/text/decode.ts";
import { pathFault } from "../diff/paths.ts";
import { decodeName, nameBytes } from "./names.ts";
import { parseTreeEntry } from "./object-listing.ts";
import { type GitPlace, requireObjectNames, runGit } from "./run-git.ts";
import { makeTempFolder, removeFolder } from "./scratch.ts";
import type { Commit } from "./workspace.ts";

interface CommittedFile {
  /** A key, as everywhere in this folder. */
  path: string;
  /** Null deletes it. A file that is already stored has its object name instead of its bytes. */
  after: ({ mode: "100644" | "100755" } & ({ bytes: Buffer } | { oid: string })) | null;
}

interface CommitFiles extends GitPlace {
  /** The parent commit; its trees must be present, its blobs need not be. */
  parent: string;
  files: readonly CommittedFile[];
  message: string;
  author: { name: string; email: string };
  /** Milliseconds since 1970. */
  at: number;
}

/** Creates a commit that differs from its parent only in these files. The same files at the same time give the same commit. */
export async function commitFiles(options: CommitFiles): Promise<string> {
  const { git, gitDir, parent, files, message, author, at, signal } = options;
  requireObjectNames(parent);
  const bad = files.find(({ path }) => pathFault(path) !== undefined);
  if (bad) throw new AppError("usage", `'${bad.path}' is not a valid file path`);
  const folder = await makeTempFolder(tmpdir());
  const at1970 = `${Math.floor(at / 1_000)} +0000`;
  const run = (what: string, args: readonly string[], input?: string | Buffer) =>
    runGit({ git, gitDir, indexFile: join(folder, "index"), what, args, input, signal });
  try {
    const records: Buffer[] = [];
    for (const { path, after } of files) {
      const oid =
        after === null || "oid" in after
          ? after?.oid
          : await storeFile({ git, gitDir, signal, bytes: after.bytes });
      const entry = oid ? `${after?.mode} ${oid}\t` : `0 ${"0".repeat(parent.length)}\t`;
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

const text = ({ stdout }: { stdout: Buffer }) => stdout.toString("latin1").trim();

/** Stores a file, byte for byte, and resolves to its object name. */
export async function storeFile({ bytes, ...place }: GitPlace & { bytes: Buffer }): Promise<string> {
  const args = ["hash-object", "-t", "blob", "-w", "--stdin", "--no-filters"];
  return text(await runGit({ ...place, what: "store a file", args, input: bytes }));
}

/** Without characters that would end the field or the line. */
function named({ name, email }: CommitFiles["author"]): string {
  const plain = (value: string) => value.replace(/[<>\p{Cc}]/gu, "").trim();
  return `${plain(name)} <${plain(email)}>`;
}

interface CommitDiff extends GitPlace {
  /** Full object names. */
  from: string;
  to: string;
  contextLines: number;
  maxBytes: number;
  /** The key of the only file to include; all files if omitted. */
  path?: string;
}

/** The difference between two commits as a patch for `git apply`; a rename is a deleted and an added file. */
export async function commitDiff({ from, to, contextLines, path, ...rest }: CommitDiff): Promise<string> {
  requireObjectNames(from, to);
  const options = [
    "-r",
    "-p",
    "--full-index",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
  ];
  const args = [
    "diff-tree",
    ...options,
    `-U${Math.trunc(contextLines)}`,
    from,
    to,
    "--",
    ...(path === undefined ? [] : [nameBytes(path).toString("utf8")]),
  ];
  return (await runGit({ ...rest, what: "compare commits", args })).stdout.toString("utf8");
}

/** The paths that differ between two commits; both paths of a rename. */
export async function changedPaths({
  from,
  to,
  ...rest
}: GitPlace & Pick<CommitDiff, "from" | "to">): Promise<string[]> {
  requireObjectNames(from, to);
  const args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to, "--"];
  return splitNul((await runGit({ ...rest, what: "compare commits", args })).stdout, decodeName);
}

interface FilesAt extends GitPlace {
  commit: string;
  /** Keys, as everywhere in this folder. */
  paths: readonly string[];
  /** Limit for one file; a larger one rejects with `too_large`. */
  maxBytes: number;
}

/** The entry of a commit at a path. For a folder, link or submodule, only the mode counts. */
interface FileAt {
  mode: string;
  bytes: Buffer;
}

/** Some files of a commit, byte for byte; missing ones are left out. */
export async function filesAt(request: FilesAt): Promise<Map<string, FileAt>> {
  const { git, gitDir, commit, paths, maxBytes, signal } = request;
  requireObjectNames(commit);
  const found = new Map<string, FileAt>();
  const place = { git, gitDir, signal };
  for (const path of paths) {
    const args = ["ls-tree", "-z", "--full-tree", commit, "--", nameBytes(path).toString("utf8")];
    const { stdout } = await runGit({ ...place, what: "look for a file", args });
    if (stdout.length === 0) continue;
    const entry = parseTreeEntry(stdout.subarray(0, stdout.indexOf(0)));
    const read = { ...place, what: "read a file", args: ["cat-file", "blob", entry.oid], maxBytes };
    const bytes = entry.mode.startsWith("100") ? (await runGit(read)).stdout : Buffer.alloc(0);
    found.set(path, { mode: entry.mode, bytes });
  }
  return found;
}

interface LogRequest {
  /** A commit, or `FROM..TO`. */
  range: string;
  max: number;
  /** Maximum paths of one commit; 0 reads none. */
  maxPaths: number;
  maxBytes: number;
  timeoutMs?: number;
}

/** Commits, newest first, each with the paths that it changed. Merges have no paths. */
export async function readLog(
  place: GitPlace,
  { range, max, maxPaths, ...limits }: LogRequest,
): Promise<(Commit & { paths: string[] })[]> {
  // Starts each commit in the output. It is random, so no file can have this name.
  const mark = randomUUID();
  const args = [
    "log",
    "-z",
    ...(maxPaths > 0 ? ["--name-only", "--no-renames"] : []),
    `--max-count=${max}`,
    "--encoding=UTF-8",
    "--no-show-signature",
    "--no-color",
    `--format=tformat:${mark}%x00%H%x00%an%x00%aI%x00%B%x00`,
    range,
    "--",
  ];
  const { stdout } = await runGit({ ...place, ...limits, what: "list commits", args });
  const commits: (Commit & { paths: string[] })[] = [];
  const fields = splitNul(stdout, (field) => decodeText(field).text);
  for (let at = 0; at < fields.length; at++) {
    const field = (fields[at] ?? "").replace(/^\n/, "");
    const paths = commits.at(-1)?.paths;
    if (field === mark) {
      const [sha = "", author = "", date = "", message = ""] = fields.slice(at + 1, at + 5);
      commits.push({ sha, author, date, message: message.replace(/\n+$/, ""), paths: [] });
      at += 4;
    } else if (field !== "" && paths && paths.length < maxPaths) paths.push(field);
  }
  return commits;
}
