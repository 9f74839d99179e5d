import { pathFault } from "../../diff/paths.ts";

/** Letters and signs of which each system makes the same name, on which nothing is put on top, and that can all be seen. */
const unlike = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cn}\p{Co}\\:*?"<>|]/u;
/** Windows leaves them out at the end of a name. */
const dropped = /[. ]$/;
/** How Windows calls a file of a longer name (`CODEOW~1`). */
const shortName = /^[^.]{1,7}~\d{1,6}(?:\.[^.]{0,3})?$/;

/**
 * Whether a path means the same file wherever the repository is checked out. A new name that does not may stand there for one that
 * is protected; names that are no text are not plain either.
 */
export function isPlainPath(path: string): boolean {
  if (pathFault(path) !== undefined || unlike.test(path)) return false;
  const names = path.split("/");
  return names.every((name) => name !== "" && !dropped.test(name) && !shortName.test(name));
}

/** A path as file systems compare it that tell neither upper from lower case nor one way to write a letter from another. */
export const foldedPath = (path: string): string => path.normalize("NFKC").toUpperCase().toLowerCase();
