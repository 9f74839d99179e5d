import { type Git, requireObjectNames } from "./git-environment.ts";
import { nameBytes } from "./names.ts";
import { parseTreeEntry } from "./parse-changes.ts";
import { runGit } from "./run-git.ts";

export interface FilesAt {
  git: Git;
  gitDir: string;
  /** Full object name. */
  commit: string;
  /** Keys, as everywhere in this room. */
  paths: readonly string[];
  /** Of one file; a larger one rejects with `too_large`. */
  maxBytes: number;
  signal?: AbortSignal | undefined;
}

/** What a commit holds at a path. Of what is no file (a folder, a link, a submodule) the mode alone counts. */
export interface FileAt {
  mode: string;
  bytes: Buffer;
}

/** A few files of a commit, byte for byte; those that are not there are left out. */
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
    const isFile = entry.mode.startsWith("100");
    const bytes = isFile ? await blobBytes({ ...place, oid: entry.oid, maxBytes }) : Buffer.alloc(0);
    found.set(path, { mode: entry.mode, bytes });
  }
  return found;
}

interface Blob {
  git: Git;
  gitDir: string;
  oid: string;
  maxBytes: number;
  signal: AbortSignal | undefined;
}

async function blobBytes({ oid, maxBytes, ...place }: Blob): Promise<Buffer> {
  return (await runGit({ ...place, what: "read a file", args: ["cat-file", "blob", oid], maxBytes })).stdout;
}
