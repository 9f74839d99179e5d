import { type Coverage, createCoverage } from "../agent/coverage.ts";
import type { Interjection } from "../agent/run-agent.ts";
import { showPath } from "../tools/show.ts";
import type { ChangedFile } from "../tools/tool.ts";
import { unansweredRefusal } from "./candidate-answers.ts";
import type { LikelyCandidate } from "./candidates.ts";
import type { KnownChange } from "./known/known-change.ts";
import { createUnreadHunks, type UnreadOptions } from "./unread-hunks.ts";

/**
 * Sees to it that a review has read everything and answered every rule match: it may not end while a reviewable hunk was never
 * served or a rule match has no answer. A model that tries twice with hunks unread is shown the rest without having asked. Only
 * if a limit is near, or if nothing more can be shown, may it end with hunks unread; only if a limit is near, with rule matches
 * unanswered. The review is partial then.
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

export interface GateOptions extends UnreadOptions {
  /** Rule matches that the loop has to answer; left out, there are none. */
  unanswered?(): readonly LikelyCandidate[];
}

export function createCoverageGate(options: GateOptions): CoverageGate {
  const { coverage } = options;
  const unreadHunks = createUnreadHunks(options);
  let refusals = 0;
  let mustShow = false;
  let mayEndUnread = false;
  let mayEndUnanswered = false;

  const isAllShown = (unserved: readonly { path: string }[]) =>
    unserved.every(({ path }) => coverage.unshown(path).length === 0);

  /** From now on the review may end as a partial one. */
  function giveUp(why: string): Interjection {
    mayEndUnread = true;
    const { total, served } = coverage.counts();
    const text = `${total - served} of ${total} hunks are unread, and ${why}. Report what you have found and finish; the review will say what was not read.`;
    return { text, shown: () => {} };
  }

  function refuseUnanswered(): string | null {
    const unanswered = mayEndUnanswered ? [] : (options.unanswered?.() ?? []);
    return unanswered.length === 0 ? null : unansweredRefusal(unanswered);
  }

  return {
    refuseToFinish() {
      const { unserved } = coverage.counts();
      if (unserved.length === 0 || mayEndUnread) return refuseUnanswered();
      if (isAllShown(unserved)) return JUST_SHOWN;
      refusals += 1;
      mustShow = refusals >= MOST_REQUESTS;
      return refusal(unserved, mustShow);
    },
    async interject({ isLimitNear }) {
      mayEndUnanswered ||= isLimitNear;
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
