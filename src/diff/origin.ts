import type { LinguistAttributes } from "./linguist.ts";
import { reasonByName } from "./skipped-names.ts";

/** What the base branch says of a path of a changed file, since what the pull request says of itself may be a way to hide code. */
export interface BaseWord {
  /** Null where git could not tell: then the base may have taken the file back, and a name alone does not skip it. */
  attributes: LinguistAttributes | null;
  /** Whether the file's header calls it generated, at base at that path as at head. Asked when nothing before it decides. */
  headerSaysGenerated(): Promise<boolean>;
}

/**
 * Why nobody has written a file by hand; null when somebody may have. The base's attributes decide before names and headers
 * do: `-linguist-generated` and `-linguist-vendored` take back what a name would skip (github-linguist, docs/overrides.md),
 * either of them, as its lists and ours divide the names differently, and the former takes back what a header says, too.
 */
export async function reasonByOrigin(path: string, base: BaseWord): Promise<string | null> {
  const said = base.attributes;
  if (said?.generated) return "generated";
  if (said?.vendored) return "vendored";
  const isTakenBack = said === null || said.generated === false || said.vendored === false;
  const named = isTakenBack ? null : reasonByName(path);
  if (named !== null) return named;
  if (said?.generated === false) return null;
  return (await base.headerSaysGenerated()) ? "generated" : null;
}
