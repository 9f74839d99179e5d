import type { CodeFile } from "./code-file.ts";

const foldersOf = (path: string) => path.split("/").slice(0, -1);

export const isSameFolder = (a: string, b: string): boolean =>
  foldersOf(a).join("/") === foldersOf(b).join("/");

/** How near two files lie, from 0.6 in different corners of the repository to 1 for the same file. */
export function closeness(a: string, b: string): number {
  if (a === b) return 1;
  const [left, right] = [foldersOf(a), foldersOf(b)];
  const most = Math.max(left.length, right.length);
  if (most === 0) return 0.9;
  let common = 0;
  while (common < most && left[common] === right[common] && left[common] !== undefined) common += 1;
  return 0.6 + (0.3 * common) / most;
}

/** What lies nearest to a path first; equally near ones by path and line. */
export function nearestFirst<At extends { file: { path: string } }>(
  path: string,
  places: readonly At[],
  lineOf: (place: At) => number,
): At[] {
  return places.toSorted(
    (a, b) =>
      closeness(path, b.file.path) - closeness(path, a.file.path) ||
      (a.file.path === b.file.path ? 0 : a.file.path < b.file.path ? -1 : 1) ||
      lineOf(a) - lineOf(b),
  );
}

/** Names of modules that stand for their folder. */
const folderModules = new Set(["index", "mod", "lib", "__init__", "main"]);

/** Whether a file imports another one, as far as the names tell. */
export function imports(file: CodeFile, path: string): boolean {
  const folders = foldersOf(path);
  const name = path.slice(path.lastIndexOf("/") + 1);
  const stem = name.replace(/\.[^.]*$/, "").replace(/\.d$/, "");
  const names = new Set([
    stem,
    name,
    ...(folderModules.has(stem) || /\.go$/.test(name) ? folders.slice(-1) : []),
  ]);
  return file.imports.some(({ specifier }) => {
    const segments = specifier.split(/[/\\]|::|\.(?=\w+$)/).filter((one) => /[\p{L}\p{N}]/u.test(one));
    // `./parser.js` and `package.module.Name` name a file one segment further in front.
    return segments.slice(-2).some((one) => names.has(one) || names.has(one.replace(/^.*\./, "")));
  });
}
