import { createPathMatcher } from "../diff/path-matcher.ts";
import type { CommandFiles } from "./workspace-files.ts";

/** Files of rules that are looked at; those in the folders nearest to the root. */
const MAX_FILES = 200;
const NAME = ".gitignore";

/**
 * Whether the repository says of a new file that it is no part of it: what builds and tests leave lying about. By the rules as they
 * stand before a command may change them; those of a folder before those of the folders above.
 */
export async function ignoreRules({ workspace, edit }: CommandFiles): Promise<(path: string) => boolean> {
  const depth = (path: string) => path.split("/").length;
  const paths = [...(await workspace.tree("head")).values()]
    .filter(({ path, mode }) => mode.startsWith("100") && (path === NAME || path.endsWith(`/${NAME}`)))
    .map(({ path }) => path)
    .toSorted((a, b) => depth(a) - depth(b))
    .slice(0, MAX_FILES);
  const files = await Promise.all(
    paths.map(async (path) => ({
      prefix: path.slice(0, -NAME.length),
      match: createPathMatcher((await edit.read(path)).toString("utf8").split("\n")),
    })),
  );
  const nearestFirst = files.toReversed();
  return (path) => {
    for (const { prefix, match } of nearestFirst) {
      if (!path.startsWith(prefix)) continue;
      const { matched, takenBack } = match(path.slice(prefix.length));
      if (matched || takenBack) return matched;
    }
    return false;
  };
}
