import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

const repository = join(import.meta.dirname, "../../../..");

/** Files below folders of this repository by their paths. */
export function filesBelow(folders: readonly string[], pattern: RegExp): Map<string, string> {
  const entries = folders.flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, withFileTypes: true }),
  );
  const named = entries.filter((entry) => entry.isFile() && pattern.test(entry.name));
  const paths = named.map(({ parentPath, name }) => join(parentPath, name)).sort();
  return new Map(paths.map((path) => [relative(repository, path), readFileSync(path, "utf8")]));
}
