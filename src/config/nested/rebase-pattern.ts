/**
 * A gitignore pattern that means at the root of the repository what it means in a file of `folder` ("" is the root itself); null
 * for a line that is no pattern. As in gitignore, a pattern without a slash, or with one at its end alone, matches at any depth.
 */
export function rebasePattern(pattern: string, folder: string): string | null {
  const isException = pattern.startsWith("!");
  const bare = isException ? pattern.slice(1) : pattern;
  if (isBlank(bare) || (!isException && bare.startsWith("#"))) return null;
  const inner = bare.replace(/^\//, "");
  // "/" alone matches nothing, and would match the whole folder behind its name.
  if (isBlank(inner)) return null;
  const isAnchored = bare.trimEnd().slice(0, -1).includes("/");
  const place = folder === "" ? "/" : `/${escapeFolder(folder)}/`;
  return `${isException ? "!" : ""}${place}${isAnchored ? "" : "**/"}${inner}`;
}

const isBlank = (pattern: string) => /^ *$/.test(pattern);

/** A folder's name means itself, whatever signs of patterns it holds. */
const escapeFolder = (folder: string) => folder.replaceAll(/[\\*?[\]]/g, "\\$&");
