import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

const repository = join(import.meta.dirname, "../../..");

/** Files below folders of this repository, or of another root, by their paths from there. */
export function filesBelow(
  folders: readonly string[],
  pattern: RegExp,
  root = repository,
): Map<string, string> {
  const entries = (folders.length > 0 ? folders : ["."]).flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true }),
  );
  const named = entries.filter((entry) => entry.isFile() && pattern.test(entry.name));
  const paths = named.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return new Map(paths.map((path) => [relative(root, path), readFileSync(path, "utf8")]));
}
