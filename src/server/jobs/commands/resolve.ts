import { errorLine } from "../../../core/errors.ts";
import { isOpenCarried, isOpenFinding, type Ledger, type PostedFinding } from "../../../core/ledger/entry.ts";
import { formatMarker } from "../../../core/ledger/marker.ts";
import { emptyState, type LedgerState, mergedHashes } from "../../../core/ledger/state.ts";
import { count } from "../../../core/text/count.ts";
import { currentLedger } from "../../../pull/publish/existing.ts";
import { publicText } from "../../../pull/publish/public-text.ts";
import { updateState } from "../../../pull/publish/sticky-comment.ts";
import { untrustedCode, untrustedLine } from "../../../report/safe-markdown.ts";
import type { JobOutcome } from "../../queue/job.ts";
import { jobFields, requireLease } from "../../queue/run-job.ts";
import { isRefusal } from "../attempts.ts";
import {
  type AskedContext,
  answered,
  type CommandContext,
  isMarked,
  postUnlessRefused,
  reviewAfter,
  say,
} from "./command-context.ts";

/** GitHub accepts about one comment a second: more would delay everything else of the repository for minutes. */
const MOST = 100;

/**
 * Dismisses the finding of the thread with the command; in the conversation, all open ones with a thread. The answer in each thread makes the
 * dismissal count. Then a review follows, for the summary and the check run.
 *
 * @param numbers of findings and reports without a thread: then only these are dismissed
 * @param writtenAt what was published later stays open
 */
export async function resolve(
  context: CommandContext,
  numbers: readonly number[],
  writtenAt: string,
): Promise<JobOutcome> {
  if (numbers.length > 0) return resolveNumbers(context, numbers);
  const { api, comment } = context;
  const ledger = await currentLedger(api);
  const wanted = ledger.entries.filter((one) => isWanted(one, comment.thread));
  if (comment.thread !== null && wanted.length === 0)
    return answered(
      context,
      "This thread does not belong to a finding of mine.",
      "there is no finding in the thread",
    );
  const isSeen = ({ created_at }: PostedFinding) =>
    comment.thread !== null || Date.parse(created_at ?? "") <= Date.parse(writtenAt);
  const open = wanted.filter((one) => isOpenFinding(one) && isSeen(one)).slice(0, MOST);
  const dismissed: PostedFinding[] = [];
  for (const entry of open) if (await dismiss(entry, context)) dismissed.push(entry);
  const unresolved = await resolveThreads([...dismissed, ...wanted.filter(isHalfDone)], context);
  const left = wanted.filter(isOpenFinding).length - dismissed.length;
  if (comment.thread === null) await say(context, summary(dismissed.length, left, unresolved, ledger));
  return reviewAfter(context);
}

/** The state in the summary holds the dismissals. */
async function resolveNumbers(context: CommandContext, numbers: readonly number[]): Promise<JobOutcome> {
  const { api, by, tools } = context;
  await requireLease(tools);
  let after: LedgerState = emptyState;
  await updateState(api, (state) => {
    after = withDismissed(state, new Set(numbers), by);
    return after;
  });
  const done = [
    ...after.carried.flatMap(({ number, finding, standing }) =>
      standing === "dismissed" ? [{ number, what: finding.title }] : [],
    ),
    ...after.unplaced.reports.flatMap(({ number, text, by: who }) => (who ? [{ number, what: text }] : [])),
  ].filter(({ number }) => number !== undefined && numbers.includes(number));
  const unknown = numbers.filter((one) => !done.some(({ number }) => number === one));
  const lines = done.map(({ number, what }) => `- ${number}: ${untrustedLine(what, 300)}`);
  await say(
    context,
    [
      done.length === 0
        ? "Nothing was dismissed."
        : `Dismissed by ${untrustedCode(by)}:\n\n${lines.join("\n")}`,
      ...(unknown.length > 0 ? [`Nothing in the summary has the number ${unknown.join(" or ")} now.`] : []),
    ].join("\n\n"),
  );
  return reviewAfter(context);
}

/** When no report is left, what the reports are about counts as read. */
function withDismissed(state: LedgerState, numbers: ReadonlySet<number>, by: string): LedgerState {
  const { carried, unplaced, reviewed } = state;
  const reports = unplaced.reports.map((one) => (numbers.has(one.number) && !one.by ? { ...one, by } : one));
  const isSettled = reviewed !== null && unplaced.hashes.length > 0 && reports.every((one) => one.by);
  return {
    ...state,
    carried: carried.map((one) =>
      isOpenCarried(one) && one.number !== undefined && numbers.has(one.number)
        ? { ...one, standing: "dismissed", by }
        : one,
    ),
    unplaced: { reports, hashes: isSettled ? [] : unplaced.hashes },
    reviewed: isSettled ? { ...reviewed, hashes: mergedHashes(reviewed.hashes, unplaced.hashes) } : reviewed,
  };
}

const isWanted = ({ comment, state, dismissal }: PostedFinding, thread: number | null) =>
  comment !== null &&
  (thread === null ? isOpenFinding({ state }) || dismissal?.how === "command" : comment === thread);

/** Answered in an attempt that ended before it resolved the thread. */
const isHalfDone = ({ dismissal, resolved }: PostedFinding) => dismissal?.how === "command" && !resolved;

/**
 * Answers in the finding's thread that it is dismissed. False if GitHub refuses the answer.
 * @param reason if it was done on a page
 */
export async function dismiss(
  { comment }: PostedFinding,
  context: AskedContext,
  reason?: string,
): Promise<boolean> {
  if (comment === null) return false;
  const { api, by } = context;
  const marker = formatMarker({ kind: "dismissed", comment, by, ...(reason !== undefined && { reason }) });
  const why = reason === undefined ? "." : ` on a page of Hunkwise: ${untrustedLine(reason, 2_000)}`;
  const body = publicText(`Dismissed by ${untrustedCode(by)}${why}\n\n${marker}`);
  return postUnlessRefused(context, "A finding could not be dismissed", {
    post: () => api.reply(comment, body),
    isPosted: async () =>
      isMarked(await api.ownReviewComments(), "dismissed", (marker) => marker.comment === comment),
  });
}

/** Why threads stay open; null if none does. Stops at the first refusal. */
export async function resolveThreads(
  entries: readonly PostedFinding[],
  { api, job, deps }: AskedContext,
): Promise<string | null> {
  for (const { thread, resolved } of entries) {
    if (thread === null || resolved) continue;
    try {
      await api.resolveThread(thread);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      deps.log.warn(jobFields(job), `Threads stay open: ${errorLine(error)}`);
      return "Their threads stay open, because GitHub lets an App resolve threads only with the permission `Contents: Read and write`.";
    }
  }
  return null;
}

function summary(done: number, left: number, unresolved: string | null, { state }: Ledger): string {
  const others =
    state.carried.filter(isOpenCarried).length + state.unplaced.reports.filter(({ by }) => !by).length;
  return [
    done === 0 && left === 0 ? "There are no open findings." : `Dismissed ${count(done, "finding")}.`,
    ...(left > 0 ? [`${left} more ${left === 1 ? "is" : "are"} still open.`] : []),
    ...(done > 0 && unresolved !== null ? [unresolved] : []),
    ...(others > 0
      ? [
          `What has no thread (${count(others, "finding")} in the summary) is dismissed by its number there: \`/resolve NUMBER\`.`,
        ]
      : []),
  ].join(" ");
}
