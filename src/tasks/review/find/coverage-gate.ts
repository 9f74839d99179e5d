import { type Coverage, createCoverage } from "../../../agent/loop/coverage.ts";
import type { Interjection } from "../../../agent/loop/run-agent.ts";
import { toldLine } from "../../../agent/tools/changed-files.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import {
  type DiffLine,
  divideHunk,
  type FileDiff,
  type Hunk,
  hunkHeader,
  renderHunks,
  renderLine,
  shownBytes,
} from "../../../repo/diff/file-diff.ts";
import { noteShown } from "../../../repo/diff-pages.ts";
import type { ChangedFile, DiffSource } from "../../../repo/diff-source.ts";
import { headingOf, showPath } from "../../../repo/show.ts";
import type { ReviewedHunks } from "../../reviewed/known-change.ts";
import { type RuleMatch, unansweredRefusal } from "../../rules/rule-matches.ts";

interface UnreadOptions {
  files: readonly ChangedFile[];
  diffs: DiffSource;
  coverage: Coverage;
  portionBytes: number;
}

interface Slice {
  diff: FileDiff;
  hunks: Hunk[];
  /** For each divided hunk, the number of parts shown including this slice. */
  partsShown: Map<string, number>;
}

/** The header of a part may have longer numbers than that of the whole hunk. */
const HEADER_MARGIN = 32;

/** Returns the uncovered hunks in order, as many as fit into one message at each call; null if nothing is left, or nothing fits. */
export function createUnreadHunks({
  files,
  diffs,
  coverage,
  portionBytes,
}: UnreadOptions): () => Promise<Interjection | null> {
  const partsShown = new Map<string, number>();

  /** As many uncovered hunks, or parts of them, as fit into `room` bytes. */
  function sliceOf(diff: FileDiff, room: number): Slice {
    const slice: Slice = { diff, hunks: [], partsShown: new Map() };
    const most = portionBytes - (shownBytes(headingOf(diff)) + 1);
    let left = room - (shownBytes(headingOf(diff)) + 1);
    for (const number of coverage.unshown(diff.path)) {
      const hunk = diff.hunks[number - 1];
      if (!hunk) continue;
      const key = `${number} ${diff.path}`;
      // Divided as if the hunk had a portion of its own, so that parts keep their numbers in the next portion.
      const parts = partsOf(hunk, most);
      for (let at = partsShown.get(key) ?? 0; at < parts.length; at++) {
        const part = parts[at] as Hunk;
        const bytes = bytesOf(part);
        // A line that is too long for any portion blocks only the rest of its hunk.
        if (bytes > most) break;
        left -= bytes;
        if (left < 0) return slice;
        slice.hunks.push(part);
        slice.partsShown.set(key, at + 1);
      }
    }
    return slice;
  }

  return async () => {
    const slices: Slice[] = [];
    let room = portionBytes;
    const unread = files.filter(({ change }) => coverage.unshown(change.path).length > 0);
    const listed = unread
      .filter(({ reading }) => reading === "line")
      .filter((file) => {
        room -= shownBytes(toldLine(file)) + 1;
        return room >= 0;
      });
    for (const file of unread.filter(({ reading }) => reading !== "line")) {
      const slice = sliceOf(await diffs.shownDiff(file), room);
      // What does not fit behind others comes first next time; what never fits is skipped.
      if (slice.hunks.length === 0 && slices.length + listed.length > 0) break;
      if (slice.hunks.length === 0) continue;
      slices.push(slice);
      room -= shownBytes(textOf(slice)) + 1;
    }
    if (slices.length + listed.length === 0) return null;
    return {
      text: wrapUntrusted("diff", [...listed.map(toldLine), ...slices.map(textOf)].join("\n")),
      shown() {
        for (const { change } of listed) coverage.serve(change.path, 1);
        for (const { diff, hunks, partsShown: counts } of slices) {
          noteShown(coverage, diff, hunks);
          for (const [key, count] of counts) partsShown.set(key, count);
        }
      },
    };
  };
}

const textOf = ({ diff, hunks }: Slice) => `${headingOf(diff)}\n${renderHunks(hunks)}`;
const lineBytes = (line: DiffLine) => shownBytes(renderLine(line)) + 1;
const bytesOf = (hunk: Hunk) =>
  shownBytes(hunkHeader(hunk)) + HEADER_MARGIN + hunk.lines.reduce((sum, line) => sum + lineBytes(line), 0);

function partsOf(hunk: Hunk, maxBytes: number): Hunk[] {
  return divideHunk(hunk, maxBytes - shownBytes(hunkHeader(hunk)) - 2 * HEADER_MARGIN, lineBytes);
}

/** Counts the hunks of the reviewable files; `whole` counts those of the whole change. Hunks read by earlier reviews count as served. */
export function createReviewCoverage(
  files: readonly ChangedFile[],
  whole: Coverage | null = null,
  known: Pick<ReviewedHunks, "known"> | null = null,
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

const MOST_REQUESTS = 2;
const NAMED_FILES = 20;

interface GateOptions extends UnreadOptions {
  /** Rule matches without an answer; omitted if there are none. */
  unanswered?(): readonly RuleMatch[];
}

/**
 * Refuses to let a review finish while a reviewable hunk was never served or a rule match has no answer. A model that tries twice
 * with hunks unread is shown the rest unasked. If a limit is near, or nothing more can be shown, it may finish with hunks unread;
 * if a limit is near, also with rule matches unanswered. The review is partial then.
 */
export function createCoverageGate(options: GateOptions) {
  const { coverage } = options;
  const nextUnread = createUnreadHunks(options);
  let refusals = 0;
  let mustShow = false;
  let mayEndUnread = false;
  let mayEndUnanswered = false;

  const isAllShown = (unserved: readonly { path: string }[]) =>
    unserved.every(({ path }) => coverage.unshown(path).length === 0);

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
    /** Why the review may not finish yet, for the model; null if it may. */
    refuseToFinish(): string | null {
      const { unserved } = coverage.counts();
      if (unserved.length === 0 || mayEndUnread) return refuseUnanswered();
      if (isAllShown(unserved)) return JUST_SHOWN;
      refusals += 1;
      mustShow = refusals >= MOST_REQUESTS;
      return refusal(unserved, mustShow);
    },
    async interject({ isLimitNear }: { isLimitNear: boolean }): Promise<Interjection | null> {
      mayEndUnanswered ||= isLimitNear;
      if (mayEndUnread) return null;
      mayEndUnread = isLimitNear;
      if (isAllShown(coverage.counts().unserved)) return null;
      if (isLimitNear) return giveUp("a limit is near");
      if (!mustShow) return null;
      mustShow = false;
      const portion = await nextUnread();
      if (portion === null) return giveUp("the rest is too large to be shown");
      return { ...portion, text: `${SHOWN}\n${portion.text}` };
    },
  };
}

const JUST_SHOWN =
  "Other calls of this turn read hunks that you have not seen yet. Read their answers first, then finish.";
const SHOWN =
  "These hunks were not read yet. Review them like the rest: read the code around them with the tools, report what is wrong, then finish.";

function refusal(unread: readonly { path: string; hunks: number }[], isShownNext: boolean): string {
  const hunks = unread.reduce((sum, one) => sum + one.hunks, 0);
  const named = unread.slice(0, NAMED_FILES).map((one) => `${showPath(one.path)} (${one.hunks} unread)`);
  const more = unread.length > NAMED_FILES ? `\nand ${unread.length - NAMED_FILES} more files` : "";
  const what = isShownNext ? "The first of them follow" : "Read them with diff_file, then finish";
  return `${hunks} hunks were never read. ${what}:\n${wrapUntrusted("paths", named.join("\n"))}${more}`;
}
