import type { LinguistAttributes } from "./linguist.ts";
import { hasLockName } from "./lock-sources.ts";
import { reasonByName } from "./skipped-names.ts";
import { takesEffect } from "./takes-effect.ts";

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
 *
 * They skip no workflow, package file or hook: tools mark those that they generate, and an edit by hand runs all the same.
 */
export async function reasonByOrigin(path: string, base: BaseWord): Promise<string | null> {
  const said = base.attributes;
  const isRead = takesEffect(path) && !hasLockName(path);
  if (said?.generated && !isRead) return "generated";
  if (said?.vendored && !isRead) return "vendored";
  const isTakenBack = said === null || said.generated === false || said.vendored === false;
  const named = isTakenBack ? null : reasonByName(path);
  if (named !== null) return named;
  if (isRead || said?.generated === false) return null;
  return (await base.headerSaysGenerated()) ? "generated" : null;
}
