import { shownBytes } from "./render.ts";

/** What HFS+ leaves out when it compares names: zero-width characters, marks of direction, the byte order mark. */
const ignoredInNames = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
/** NTFS takes no dot or space at a name's end, a short name for the long one, and names of streams behind a colon. */
const gitFolder = /^(?:\.git|git~\d)[. ]*(?::.*)?$/is;
/** A separator here, and one elsewhere. */
const separators = /[/\\]/;

/** Why no file of a repository can have this path. */
export type PathFault = "empty" | "nul" | "absolute" | "upwards" | "git";

/** Whether this is `.git` to some file system, in upper or lower case. */
const isGitFolder = (name: string) => gitFolder.test(name.replace(ignoredInNames, ""));

/**
 * What is wrong with a path below a repository's root, by its letters alone; undefined for one that leads neither out of the
 * repository nor into `.git`, wherever it is looked up.
 */
export function pathFault(path: string): PathFault | undefined {
  if (path === "") return "empty";
  if (path.includes("\0")) return "nul";
  if (path.startsWith("/")) return "absolute";
  const names = path.split(separators);
  if (names.includes("..")) return "upwards";
  return names.some(isGitFolder) ? "git" : undefined;
}

/**
 * How long a path may be, in bytes of what a model reads: quoted, with invisible characters spelled out. No file system
 * takes longer ones, but a tree may name them, and answers could hold nothing beside them.
 */
export const MAX_PATH_BYTES = 4_096;

/** Escaping and quoting make this many bytes of one UTF-16 unit at most. */
const WORST_ESCAPE = 8;

/** Whether a path, as a tree has it, is longer than any tool takes. */
export function isPathTooLong(path: string): boolean {
  return path.length * WORST_ESCAPE > MAX_PATH_BYTES && shownBytes(JSON.stringify(path)) > MAX_PATH_BYTES;
}
