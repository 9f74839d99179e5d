import type { CommentRef, OwnText, OwnThread } from "../github/pull-request-api.ts";
import { parseMarker } from "./marker.ts";

/** What we have answered on a pull request. */
export interface Answers {
  /** The comment in question has its answer. */
  given: boolean;
  /** In its thread; 0 for one in the conversation. */
  inThread: number;
  /** On the pull request. */
  inAll: number;
}

/** Our own texts on a pull request. */
interface OwnTexts {
  conversation: readonly OwnText[];
  /** On lines and files, answers in threads among them. */
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
  // An answer in a thread is read from both.
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
