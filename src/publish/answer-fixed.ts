import { AppError } from "../errors.ts";
import type { PostedFinding } from "../ledger/entry.ts";
import { formatMarker, parseMarker } from "../ledger/marker.ts";
import { untrustedLine } from "../reporters/safe-markdown.ts";
import type { PostContext } from "./channels.ts";
import { isInvalid, postOnce, refusalNotice, requireHead } from "./post-once.ts";
import { publicText } from "./public-text.ts";
import type { ResolvedFinding } from "./pull-status.ts";

/** The reason is one sentence. */
const mostReasonBytes = 600;

/** The head that fixes them, and the API to answer with. */
type FixedIn = Pick<PostContext, "api" | "headSha" | "sleep">;

interface Answered {
  /** Notices for the maintainer, one for all threads: GitHub lets an App resolve threads only if it may write contents. */
  notices: string[];
  /** Findings that were answered now. */
  told: ReadonlySet<PostedFinding>;
}

/**
 * Answers in the threads of fixed findings, and resolves those without a participating person. Does not repeat an answer from before a
 * crash.
 *
 * Rejects with `stale_head` if the pull request has moved on: the fault may be back in the new head.
 */
export async function answerFixed(fixed: readonly ResolvedFinding[], context: FixedIn): Promise<Answered> {
  const waiting = fixed.filter(
    ({ entry }) => entry.state !== "fixed" || !(entry.resolved || entry.is_theirs),
  );
  const told = new Set<PostedFinding>();
  if (waiting.length === 0) return { notices: [], told };
  await requireHead(context);
  const closed = new Map<"reply" | "resolve", string>();
  for (const one of waiting) {
    const isSaid = one.entry.state === "fixed" || (await attempt("reply", () => say(one, context), closed));
    if (isSaid) told.add(one.entry);
    const { thread } = one.entry;
    if (isSaid && thread !== null && !one.entry.is_theirs) {
      await attempt("resolve", () => context.api.resolveThread(thread), closed);
    }
  }
  return { notices: [...closed.values()], told };
}

const channels = {
  reply: "answers in the threads of fixed findings",
  resolve: "resolving the threads of fixed findings",
};

/** Whether it was done. A channel that GitHub refuses is tried once; a missing thread does not close it. */
async function attempt(
  what: keyof typeof channels,
  action: () => Promise<void>,
  closed: Map<keyof typeof channels, string>,
): Promise<boolean> {
  if (closed.has(what)) return false;
  try {
    await action();
    return true;
  } catch (error) {
    const notice = refusalNotice(error, channels[what]);
    const isOfThisThread =
      isInvalid(error) || (error instanceof AppError && error.code === "github_not_found");
    if (!isOfThisThread) closed.set(what, notice);
    return false;
  }
}

async function say(
  { entry, state, reason }: ResolvedFinding,
  { api, headSha, sleep }: FixedIn,
): Promise<void> {
  const { comment } = entry;
  if (comment === null) return;
  const why = untrustedLine(reason, mostReasonBytes);
  const what = state === "fixed" ? "Fixed in" : "No longer reported as of";
  const words = `${what} ${headSha.slice(0, 12)}${why === "" ? "." : `: ${why}`}`;
  const marker = formatMarker({ kind: "fixed", comment, head: headSha });
  const stands = async () => {
    const thread = (await api.ownThreads()).find((one) => one.comment === comment);
    const ours = thread?.replies.filter(({ author }) => author.kind === "us") ?? [];
    return ours.some(({ body }) => {
      const said = parseMarker(body);
      return said?.kind === "fixed" && said.head === headSha;
    });
  };
  await postOnce(() => api.reply(comment, publicText(`${words}\n\n${marker}`)), stands, sleep);
}
