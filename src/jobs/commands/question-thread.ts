import type { OwnThread, ThreadComment } from "../../github/pull-request-api.ts";
import { parseMarker } from "../../ledger/marker.ts";
import type { AskedThread, ThreadMessage } from "../../review/answer/answer-input.ts";
import { shorten } from "../shorten.ts";
import type { Asked } from "./asked.ts";

const most = 30;
/** Characters. */
const longest = { finding: 6_000, said: 2_000 };

/**
 * The thread of a finding of ours up to the comment that asks, as it was then: what was said since is no part of the question,
 * and another attempt asks the same. Null where it is no finding's.
 */
export function askedThread(
  threads: readonly OwnThread[],
  { comment }: Pick<Asked, "comment">,
): AskedThread | null {
  const thread = threads.find((one) => one.comment === comment.thread);
  if (!thread || parseMarker(thread.body)?.kind !== "finding") return null;
  const { path, side, line, originalLine, body, replies } = thread;
  const before = replies.filter(({ id }) => id < comment.id).slice(-most);
  return {
    ...{ path, side, line, original_line: originalLine },
    finding: shorten(withoutMarker(body), longest.finding),
    conversation: before.map(said),
  };
}

function said({ author, body }: ThreadComment): ThreadMessage {
  const by = author.kind === "us" ? "Hunkwise" : (author.login ?? "somebody");
  return { by, body: shorten(author.kind === "us" ? withoutMarker(body) : body, longest.said) };
}

/** Our texts end with their marker, which is for nobody to read. */
function withoutMarker(body: string): string {
  const text = body.trimEnd();
  if (parseMarker(text) === undefined) return text;
  return text.slice(0, Math.max(0, text.lastIndexOf("\n"))).trimEnd();
}
