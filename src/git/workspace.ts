import { z } from "zod";
import type { LinguistAttributes } from "../diff/origin.ts";

/**
 * The read port through which tools, analyzers and the review see a repository. Everything is addressed by path *as a
 * key of a tree listing*, never as a file-system path, so no path can lead out of the tree. A name that is not UTF-8 has a key
 * all the same (`decodeName`), and no two names have one key.
 */

/** Which revision is read: the pull request's head, the tip of its target branch, or their merge base. */
export type Ref = "head" | "base" | "merge_base";

export type ChangeType = "added" | "modified" | "deleted" | "renamed" | "copied" | "type_changed";

/** One entry of `git diff --raw --numstat -z -M merge_base head`. Modes are git's six octal digits. */
export interface Change {
  path: string;
  oldPath: string | null;
  type: ChangeType;
  oldMode: string;
  newMode: string;
  oldOid: string;
  newOid: string;
  /** Lines by numstat; null where git calls the file binary. */
  additions: number | null;
  deletions: number | null;
}

/** One entry of `git ls-tree -r`: files, symlinks (120000) and submodules (160000). */
export interface TreeEntry {
  path: string;
  mode: string;
  oid: string;
}

/**
 * A file's text: each line that is UTF-8 as such, any other as Latin-1. `encoding` is "latin1" when there is such a line;
 * `binary` when the file holds a NUL early on.
 */
export interface FileText {
  text: string;
  encoding: "utf8" | "latin1";
  binary: boolean;
  bytes: number;
}

export interface Commit {
  sha: string;
  author: string;
  /** ISO 8601 with offset, the author's date. */
  date: string;
  message: string;
}

export interface SearchQuery {
  /** Regular expression in ripgrep's syntax, or a literal with `fixedString`. */
  pattern: string;
  /** gitignore-style glob on the path. */
  filePattern?: string | undefined;
  /** A file or folder of the tree to look below. */
  path?: string | undefined;
  /** ripgrep type name, "py", "ts" ... */
  fileType?: string | undefined;
  contextLines: number;
  /** The search ends as soon as this many matching lines (files, for the other modes) were found. */
  maxResults: number;
  /** Whether matches in the file at this path count; left out, those in all files do. */
  wants?: ((path: string) => boolean) | undefined;
  fixedString: boolean;
  ignoreCase: boolean;
  wholeWord: boolean;
  invertMatch: boolean;
  mode: "content" | "files_with_matches" | "count";
}

/** A matching line with its surroundings; `before` and `after` are the context lines in file order. */
export interface LineMatch {
  path: string;
  line: number;
  text: string;
  before: { line: number; text: string }[];
  after: { line: number; text: string }[];
  /** Whether a line of these is not UTF-8 and was decoded as Latin-1. */
  hasLatin1: boolean;
}

/** How a program ended that was run for a call. `returnCode` is null when it was stopped on purpose. */
interface ProgramEnd {
  command: string;
  returnCode: number | null;
  stderr: string;
}

/** `limited`: the search was ended at `maxResults`. */
export type SearchHits = { limited: boolean; program: ProgramEnd } & (
  | { mode: "content"; matches: LineMatch[] }
  | { mode: "files_with_matches"; paths: string[] }
  | { mode: "count"; counts: { path: string; count: number }[] }
);

export interface Shas {
  head: string;
  base: string;
  mergeBase: string;
  /** How many commits are a merge base, if there are several: `mergeBase` is one of them. */
  mergeBases?: number | undefined;
}

export interface Workspace {
  /** Absolute path under which files may be named too: of the head's checkout, or of the repository where there is none. */
  readonly root: string;
  readonly shas: Shas;
  /** The change as git sees it, in git's order. Computed once. */
  changes(): Promise<readonly Change[]>;
  /** All entries at a revision by path, in git's order. Computed once for each revision. */
  tree(ref: Ref): Promise<ReadonlyMap<string, TreeEntry>>;
  /** The content of a blob by object id; rejects with `too_large` beyond the size limit. */
  readBlob(oid: string): Promise<FileText>;
  /** The same as it is stored: a text cannot tell its bytes once some of its lines were not UTF-8. */
  readBytes(oid: string): Promise<Buffer>;
  /** How a regular file of the head begins: the text of at most so many bytes, of a file of any size. */
  headStart(path: string, maxBytes: number): Promise<Pick<FileText, "text" | "encoding">>;
  /**
   * What the `.gitattributes` files of the base say about paths; the head's say nothing here. A path that is too deep to be
   * matched has no entry. Rejects with `git_timeout` when matching takes too long.
   */
  linguistAttributes(paths: readonly string[]): Promise<ReadonlyMap<string, LinguistAttributes>>;
  /**
   * One changed file's patch as git prints it (`-M`, `--inter-hunk-context=0`), header included. Its lines are those of
   * `readBlob`.
   */
  patch(change: Change, contextLines: number): Promise<string>;
  /** Unified diff of two blobs, header included; empty when they are equal. */
  diffBlobs(from: TreeEntry, to: TreeEntry, contextLines: number): Promise<string>;
  /** Commits of `merge_base..head`, newest first. */
  commits(max: number): Promise<readonly Commit[]>;
  /** Tracked files at head; rejects with `usage` and ripgrep's message when the pattern is broken. */
  search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits>;
}

/** One file that differs from the head with which an editable workspace began. */
export interface Edit {
  path: string;
  /** The file before; null if it is new. */
  before: TreeEntry | null;
  /** The file now; null if it is gone. Modes are "100644" and "100755". */
  after: { mode: string; bytes: Buffer } | null;
}

/**
 * A workspace whose head can be changed: what is read of "head" is what was written. The two other revisions stay. Paths are keys
 * as everywhere. Only regular files are written, and never `.git`.
 */
export interface EditableWorkspace extends Workspace {
  /** The current bytes of a file. Rejects with `usage` if there is none. */
  read(path: string): Promise<Buffer>;
  /** Puts a file there, whole or not at all. Without `mode` it keeps the one it had, or is an ordinary file. */
  write(path: string, bytes: Buffer, options?: { mode?: "100644" | "100755" }): Promise<void>;
  remove(path: string): Promise<void>;
  /** All that differs from the head, in git's order. */
  edits(): Promise<readonly Edit[]>;
}

/** Everything that is needed to read a checkout, and nothing that may write to it or reach a remote. */
export const CheckoutPlace = z.strictObject({
  /** Absolute path of the git program. */
  gitPath: z.string(),
  /** Absolute path of the (bare) repository, always passed as `--git-dir`. */
  gitDir: z.string(),
  /** Absolute path of the working tree of the head. */
  root: z.string(),
  /** An empty folder that serves as HOME of every git process. */
  emptyHome: z.string(),
  /** Full object names. */
  shas: z.strictObject({
    head: z.string(),
    base: z.string(),
    mergeBase: z.string(),
    mergeBases: z.int().optional(),
  }),
});
export type CheckoutPlace = z.infer<typeof CheckoutPlace>;

/** What reading git's objects needs. Where nothing is checked out, `root` may name a folder under which people know the files. */
export type ObjectPlace = Omit<CheckoutPlace, "root"> & { root?: string | undefined };
