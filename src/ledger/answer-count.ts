import type { CommentRef, OwnText, OwnThread } from "../github/pull-request-api.ts";
import { parseMarker } from "./marker.ts";

/** What we have answered on a pull request. */
export interface Answers {
  /** The comment in question is answered. */
  given: boolean;
  /** Number of answers in its thread; 0 for a comment in the conversation. */
  inThread: number;
  /** Number of answers on the pull request. */
  inAll: number;
}

/** Our own texts on a pull request. */
interface OwnTexts {
  conversation: readonly OwnText[];
  /** On lines and files, including answers in threads. */
  lines: readonly OwnText[];
  threads: readonly OwnThread[];
}

/** Counts our answers. GitHub names the author of a reply in a thread; the other texts must be ours. */
export function answersTo({ id, thread }: CommentRef, { conversation, lines, threads }: OwnTexts): Answers {
  const replies = threads.flatMap((one) =>
    one.replies
      .filter(({ author }) => author.kind === "us")
      .map((reply) => ({ ...reply, thread: one.comment })),
  );
  // An answer in a thread appears in both.
  const inThreads = new Map([...lines, ...replies].map((text) => [text.id, text]));
  const said = answeredIn(conversation);
  const saidInThreads = answeredIn([...inThreads.values()]);
  const here = replies.filter((reply) => reply.thread === thread && answeredBy(reply.body) !== undefined);
  // The ids of the two kinds of comments may coincide; an answer is where its comment is.
  const given = (thread === null ? said : saidInThreads).includes(id);
  return { given, inThread: here.length, inAll: said.length + saidInThreads.length };
}

const answeredIn = (texts: readonly Pick<OwnText, "body">[]) =>
  texts.flatMap(({ body }) => answeredBy(body) ?? []);

/** The comment that a text of ours answers. */
function answeredBy(body: string): number | undefined {
  const marker = parseMarker(body);
  return marker?.kind === "answer" ? marker.comment : undefined;
}
