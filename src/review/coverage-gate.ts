import { type Coverage, createCoverage } from "../agent/coverage.ts";
import type { Interjection } from "../agent/run-agent.ts";
import { showPath } from "../tools/show.ts";
import type { ChangedFile } from "../tools/tool.ts";
import type { KnownChange } from "./known/known-change.ts";
import { createUnreadHunks, type UnreadOptions } from "./unread-hunks.ts";

/**
 * Sees to it that a review has read everything: it may not end while a reviewable hunk was never served. A model that tries
 * twice all the same is shown the rest without having asked. Only where a limit is near, or where nothing more can be shown,
 * may it end with hunks unread; the review is partial then.
 */
export interface CoverageGate {
  /** Why the review may not end yet, for the model; null when it may. */
  refuseToFinish(): string | null;
  /** What the model is shown after a turn. */
  interject(state: { isLimitNear: boolean }): Promise<Interjection | null>;
}

/**
 * Counts the hunks of the files that are to be reviewed; `whole` is that of the change they are a part of. What earlier
 * reviews have read counts as served.
 */
export function createReviewCoverage(
  files: readonly ChangedFile[],
  whole: Coverage | null = null,
  known: Pick<KnownChange, "known"> | null = null,
): Coverage {
  const reviewable = files.filter((file) => file.reviewable);
  const coverage = createCoverage(
    reviewable.map(({ change, totalHunks }) => ({ path: change.path, hunks: totalHunks })),
    whole,
  );
  for (const { path } of reviewable.map(({ change }) => change))
    for (const hunk of known?.known(path) ?? []) coverage.serve(path, hunk);
  coverage.delivered();
  return coverage;
}

/** So often the model is asked to read by itself. */
const MOST_REQUESTS = 2;
/** How many unread files a refusal names; the rest is counted. */
const NAMED_FILES = 20;

export function createCoverageGate(options: UnreadOptions): CoverageGate {
  const { coverage } = options;
  const unreadHunks = createUnreadHunks(options);
  let refusals = 0;
  let mustShow = false;
  let mayEndUnread = false;

  const isAllShown = (unserved: readonly { path: string }[]) =>
    unserved.every(({ path }) => coverage.unshown(path).length === 0);

  /** From now on the review may end as a partial one. */
  function giveUp(why: string): Interjection {
    mayEndUnread = true;
    const { total, served } = coverage.counts();
    const text = `${total - served} of ${total} hunks are unread, and ${why}. Report what you have found and finish; the review will say what was not read.`;
    return { text, shown: () => {} };
  }

  return {
    refuseToFinish() {
      const { unserved } = coverage.counts();
      if (unserved.length === 0 || mayEndUnread) return null;
      if (isAllShown(unserved)) return JUST_SHOWN;
      refusals += 1;
      mustShow = refusals >= MOST_REQUESTS;
      return refusal(unserved, mustShow);
    },
    async interject({ isLimitNear }) {
      if (mayEndUnread) return null;
      mayEndUnread = isLimitNear;
      if (isAllShown(coverage.counts().unserved)) return null;
      if (isLimitNear) return giveUp("a limit is near");
      if (!mustShow) return null;
      mustShow = false;
      const portion = await unreadHunks.next();
      if (portion === null) return giveUp("what is left is too large to be shown");
      return { ...portion, text: `${SHOWN}\n${portion.text}` };
    },
  };
}

const JUST_SHOWN =
  "Calls of this same turn read hunks that you have not seen yet. Look at their answers first, then finish.";
const SHOWN =
  "These hunks were not read yet. Review them as the rest: read around them with the tools, report what is wrong, then finish.";

function refusal(unread: readonly { path: string; hunks: number }[], isShownNext: boolean): string {
  const hunks = unread.reduce((sum, one) => sum + one.hunks, 0);
  const named = unread.slice(0, NAMED_FILES).map((one) => `${showPath(one.path)} (${one.hunks} unread)`);
  const more = unread.length > NAMED_FILES ? `\nand ${unread.length - NAMED_FILES} more files` : "";
  const what = isShownNext ? "The first of them follow" : "Read them with diff_file, then finish";
  return `${hunks} hunks were never read. ${what}:\n${named.join("\n")}${more}`;
}
