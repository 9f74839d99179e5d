import { createPathMatcher } from "../diff/paths.ts";
import type { CommandFiles } from "./workspace-files.ts";

/** Files of rules that are looked at; those in the folders nearest to the root. */
const MAX_FILES = 200;
const NAME = ".gitignore";
/** Bytes of one of them that are read. */
const MAX_BYTES = 64 * 1024;
/** How often a path is held against a rule. A repository may have more of both than anybody waits for; what is new then counts. */
const MAX_STEPS = 10_000_000;

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
    paths.map(async (path) => {
      const rules = (await edit.read(path)).subarray(0, MAX_BYTES).toString("utf8").split("\n");
      return { prefix: path.slice(0, -NAME.length), rules: rules.length, match: createPathMatcher(rules) };
    }),
  );
  const nearestFirst = files.toReversed();
  let steps = 0;
  return (path) => {
    for (const { prefix, rules, match } of nearestFirst) {
      if (!path.startsWith(prefix)) continue;
      steps += rules;
      if (steps > MAX_STEPS) return false;
      const { matched, takenBack } = match(path.slice(prefix.length));
      if (matched || takenBack) return matched;
    }
    return false;
  };
}
