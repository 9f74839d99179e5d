import { SHALLOW_REMEDY } from "../git/range.ts";
import { plural } from "../reporters/outcome.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import type { OpenRange } from "./open-range.ts";

type Range = Pick<OpenRange, "place" | "names" | "dirty" | "behind" | "parent">;

/** What whoever named a range should know of it, one line each: what is not part of it, and why nothing is. */
export function rangeNotices(range: Range, repo: string, done: "reviewed" | "read" = "reviewed"): string[] {
  const empty = emptyNotice(range);
  if (!range.dirty) return empty === null ? [] : [empty];
  const unseen = `uncommitted changes in ${repo} are not ${done}`;
  // On the base itself there is nothing to compare with after the commit either.
  const way = isOneCommit(range)
    ? `Commit them (git commit -am wip), then name the commit before as the base: --base ${lastOf(range)}~1`
    : "Commit them first (git commit -am wip)";
  const told = `${unseen}. ${way}; git reset HEAD~1 takes that commit back, and keeps the changes`;
  return range.behind > 0 && empty !== null ? [told, empty] : [told];
}

/** Why a range holds no commit; null if it holds some. */
export function emptyNotice(range: Range): string | null {
  const { place, names, behind } = range;
  const [base, head] = [plainLine(names.base), plainLine(names.head)];
  if (isOneCommit(range)) {
    const sha = place.shas.head.slice(0, 12);
    return `${base}...${head} holds no commits, both ends are ${sha}. ${wayOn(range)}`;
  }
  if (behind === 0) return null;
  return (
    `${base} has ${plural(behind, "commit")} that ${head} lacks, and ${head} has none of its own. ` +
    "Did you swap --base and --head?"
  );
}

const isOneCommit = ({ place: { shas } }: Range) => shas.base === shas.head;

const lastOf = ({ names }: Range) => plainLine(names.head);

/** The commit before is named only if it is there. */
function wayOn(range: Range): string {
  if (range.parent === "cut_off") return SHALLOW_REMEDY;
  if (range.parent === "none") return "It is the first commit: commit a change on top of it to review that";
  const head = lastOf(range);
  return `To review the last commit: ${head === "HEAD" ? "--base HEAD~1" : `--base ${head}~1 --head ${head}`}`;
}
