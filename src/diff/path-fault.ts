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
