import { errorLine } from "../../errors.ts";
import { isOpenFinding, type Ledger, type PostedFinding } from "../../ledger/entry.ts";
import { formatMarker, parseMarker } from "../../ledger/marker.ts";
import { currentLedger } from "../../publish/existing.ts";
import { postOnce } from "../../publish/post-once.ts";
import { publicText } from "../../publish/public-text.ts";
import type { JobOutcome } from "../../queue/job.ts";
import { jobFields, requireLease } from "../../queue/run-job.ts";
import { plural } from "../../reporters/outcome.ts";
import { untrustedCode, untrustedLine } from "../../reporters/safe-markdown.ts";
import { isRefusal } from "../attempts.ts";
import { type AskedContext, answered, type CommandContext, reviewAfter, say } from "./command-context.ts";

/** GitHub accepts about one comment a second: more would delay everything else of the repository for minutes. */
const MOST = 100;

/**
 * Dismisses the finding of the thread with the command; in the conversation, all open ones. Answers in each finding's thread, which makes
 * the dismissal count, and resolves the thread if we may. Then a review follows, for the summary and the check run.
 */
export async function resolve(context: CommandContext): Promise<JobOutcome> {
  const { api, comment } = context;
  const ledger = await currentLedger(api);
  const wanted = ledger.entries.filter((one) => isWanted(one, comment.thread));
  if (comment.thread !== null && wanted.length === 0)
    return answered(
      context,
      "This thread does not belong to a finding of mine.",
      "there is no finding in the thread",
    );
  const standing = wanted.filter(isOpenFinding).slice(0, MOST);
  const dismissed: PostedFinding[] = [];
  for (const entry of standing) if (await dismiss(entry, context)) dismissed.push(entry);
  const unresolved = await resolveThreads([...dismissed, ...wanted.filter(isHalfDone)], context);
  const left = wanted.filter(isOpenFinding).length - dismissed.length;
  if (comment.thread === null) await say(context, summary(dismissed.length, left, unresolved, ledger));
  return reviewAfter(context);
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
  await requireLease(context.tools);
  const { api, by, job, deps } = context;
  const marker = formatMarker({
    ...{ kind: "dismissed", comment, by },
    ...(reason !== undefined && { reason }),
  });
  const why = reason === undefined ? "." : ` on a page of Hunkwise: ${untrustedLine(reason, 2_000)}`;
  const stands = async () =>
    (await api.ownReviewComments()).some(({ body }) => {
      const said = parseMarker(body);
      return said?.kind === "dismissed" && said.comment === comment;
    });
  try {
    const body = publicText(`Dismissed by ${untrustedCode(by)}${why}\n\n${marker}`);
    await postOnce(() => api.reply(comment, body), stands);
    return true;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    deps.log.warn(jobFields(job), `A finding could not be dismissed: ${errorLine(error)}`);
    return false;
  }
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
  const listed = state.carried.length;
  return [
    done === 0 && left === 0 ? "There are no open findings." : `Dismissed ${plural(done, "finding")}.`,
    ...(left > 0 ? [`${left} more ${left === 1 ? "is" : "are"} still open.`] : []),
    ...(done > 0 && unresolved !== null ? [unresolved] : []),
    ...(listed > 0
      ? [
          `${plural(listed, "finding")} in the summary ${listed === 1 ? "has" : "have"} no thread and cannot be dismissed this way.`,
        ]
      : []),
  ].join(" ");
}
