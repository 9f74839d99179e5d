import { z } from "zod";
import type { FilteredChange } from "../diff/filter.ts";
import type { LinguistAttributes } from "../diff/origin.ts";

/**
 * The read port through which tools, analyzers and the review see a repository. Everything is addressed by path *as a key of a tree
 * listing* (`decodeName`), never as a file-system path, so no path can lead out of the tree.
 */

/** Which revision is read: the pull request's head, the tip of its target branch, or their merge base. */
export type Ref = "head" | "base" | "merge_base";

export type ChangeType = "added" | "modified" | "deleted" | "renamed" | "copied" | "type_changed";

/** One entry of `git diff --raw --numstat -z -M merge_base head`. */
export interface Change extends FilteredChange {
  type: ChangeType;
}

/** One entry of `git ls-tree -r`: files, symlinks (120000) and submodules (160000). */
export interface TreeEntry {
  path: string;
  mode: string;
  oid: string;
}

/** A file's text, decoded line by line as UTF-8, or as Latin-1, which `encoding` then names; `binary` if it has a NUL near its start. */
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
  /** The search ends after this many matching lines (or files, in the other modes). */
  maxResults: number;
  /** Whether matches in the file at this path count; by default, all do. */
  wants?: ((path: string) => boolean) | undefined;
  fixedString: boolean;
  ignoreCase: boolean;
  wholeWord: boolean;
  invertMatch: boolean;
  mode: "content" | "files_with_matches" | "count";
  /** The caller uses only the places of the matches and never shows their text, so their secrets need not be masked. */
  onlyPlaces?: boolean | undefined;
}

/** A matching line with its surroundings; `before` and `after` are the context lines in file order. */
export interface LineMatch {
  path: string;
  line: number;
  text: string;
  before: { line: number; text: string }[];
  after: { line: number; text: string }[];
  /** Whether one of these lines is not UTF-8 and was decoded as Latin-1. */
  hasLatin1: boolean;
}

/** How a program that ran for a call ended. `returnCode` is null if it was stopped on purpose. */
interface ProgramEnd {
  command: string;
  returnCode: number | null;
  stderr: string;
}

/** `limited`: the search was stopped at `maxResults`. `unread`: files that were not searched, because git lacks them or they are damaged. */
export type SearchHits = { limited: boolean; program: ProgramEnd; unread?: readonly string[] } & (
  | { mode: "content"; matches: LineMatch[] }
  | { mode: "files_with_matches"; paths: string[] }
  | { mode: "count"; counts: { path: string; count: number }[] }
);

/** Full object names. */
export const Shas = z.strictObject({
  head: z.string(),
  base: z.string(),
  mergeBase: z.string(),
  /** The number of merge bases, if there are several: `mergeBase` is one of them. */
  mergeBases: z.int().optional(),
  /** The tree of the head, if the head is not a commit of the repository: uncommitted changes. No other repository knows `head` then. */
  headTree: z.string().optional(),
  /** The empty tree, which every git knows, if there is no commit to compare with. No other repository knows `base` then. */
  baseTree: z.string().optional(),
});
export type Shas = z.infer<typeof Shas>;

export interface Workspace {
  /** Absolute path that may also prefix file names: of the head's checkout, or of the repository without one. */
  readonly root: string;
  readonly shas: Shas;
  /** Why no model may see a file of the head, by path and for people: it is uncommitted, and no one decided that it may be shown. */
  readonly withheld: ReadonlyMap<string, string>;
  /** The change as git sees it, in git's order. Computed once. */
  changes(): Promise<readonly Change[]>;
  /** All entries at a revision by path, in git's order. Computed once for each revision. */
  tree(ref: Ref): Promise<ReadonlyMap<string, TreeEntry>>;
  /** The content of a blob by object id; rejects with `too_large` beyond the size limit. */
  readBlob(oid: string): Promise<FileText>;
  /** The raw bytes: the text does not determine them if some of its lines were not UTF-8. */
  readBytes(oid: string): Promise<Buffer>;
  /** The beginning of a regular file of the head: the text of at most `maxBytes` bytes, of a file of any size. */
  headStart(path: string, maxBytes: number): Promise<Pick<FileText, "text" | "encoding">>;
  /** What the base's `.gitattributes` say; a path that is too deep has no entry. Rejects with `git_timeout` if matching takes too long. */
  linguistAttributes(paths: readonly string[]): Promise<ReadonlyMap<string, LinguistAttributes>>;
  /** One changed file's patch as git prints it (`-M`, `--inter-hunk-context=0`), with its header and the lines of `readBlob`. */
  patch(change: Change, contextLines: number): Promise<string>;
  /** Unified diff of two blobs, header included; empty if they are equal. */
  diffBlobs(from: TreeEntry, to: TreeEntry, contextLines: number): Promise<string>;
  /** Commits of `merge_base..head`, newest first. */
  commits(max: number): Promise<readonly Commit[]>;
  /** Searches tracked files at head; rejects with `usage` and ripgrep's message if the pattern is invalid. */
  search(query: SearchQuery, signal: AbortSignal): Promise<SearchHits>;
}

/** A file that differs from the initial head of an editable workspace. */
export interface Edit {
  path: string;
  /** The file before; null if it is new. */
  before: TreeEntry | null;
  /** The file now; null if it was deleted. Modes are "100644" and "100755". */
  after: { mode: string; bytes: Buffer } | null;
}

/** A workspace with a writable head: reads of "head" return what was written. Only regular files are written, and never `.git`. */
export interface EditableWorkspace extends Workspace {
  /** The current bytes of a file. Rejects with `usage` if there is none. */
  read(path: string): Promise<Buffer>;
  /** Writes a whole file or nothing. Without `mode` it keeps its mode, or a new file is not executable. */
  write(path: string, bytes: Buffer, options?: { mode?: "100644" | "100755" }): Promise<void>;
  remove(path: string): Promise<void>;
  /** All differences from the initial head, in git's order. */
  edits(): Promise<readonly Edit[]>;
}

/** Everything needed to read revisions, and nothing to write to them or to reach a remote. */
export const RevisionPlace = z.strictObject({
  /** Absolute path of the git program. */
  gitPath: z.string(),
  /** Absolute path of the (bare) repository, always passed as `--git-dir`. */
  gitDir: z.string(),
  /** Absolute path of the folder that people know the files by. */
  root: z.string(),
  /** Whether `root` is a checkout with exactly the head's files; else they are read from git's objects. */
  isCheckedOut: z.boolean(),
  /** Whether `root` is a work tree that its user goes on editing. */
  isWorkTree: z.boolean().optional(),
  /** An empty folder that is the HOME of every git process. */
  emptyHome: z.string(),
  shas: Shas,
  /** Paths that no model may see, each with the reason for people. */
  withheld: z.array(z.tuple([z.string(), z.string()])).optional(),
});
export type RevisionPlace = z.infer<typeof RevisionPlace>;

/** The last real commit of the change, for git: uncommitted changes are a commit only within a scratch repository. */
export const lastCommit = ({ head, headTree }: Shas): string => (headTree === undefined ? head : `${head}~1`);

/** Everything needed to read git's objects. */
export type ObjectPlace = Omit<RevisionPlace, "root" | "isCheckedOut"> & { root?: string | undefined };
