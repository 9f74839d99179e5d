import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError, type ErrorCode, errorLine } from "../../core/errors.ts";
import type { OwnText } from "../../core/ledger/entry.ts";
import {
  commentText,
  commentTitle,
  type Dismissal,
  isOpenFinding,
  type Ledger,
  type PostedFinding,
  withoutComment,
} from "../../core/ledger/entry.ts";
import { type Marker, markerIn } from "../../core/ledger/marker.ts";
import { type Decision, emptyState, type LedgerState } from "../../core/ledger/state.ts";
import type {
  CommentRef,
  OwnComment,
  OwnThread,
  PullRequestApi,
  ThreadComment,
} from "../github/pull-request-api.ts";
import { type Deciders, isSamePerson, writersDecide } from "./authority.ts";
import { acknowledges, dismisses } from "./reply-words.ts";

type MayDecide = Deciders["mayDecide"];
type Status = Pick<PostedFinding, "state" | "dismissal">;

const open: Status = { state: "open", dismissal: null };
const outdated: Status = { state: "outdated", dismissal: null };
const fixed: Status = { state: "fixed", dismissal: null };

const dismissed = (how: Dismissal["how"], by: string | null, at: string | null): Status => ({
  state: "dismissed",
  dismissal: { how, by, at },
});

/**
 * The state of the finding in a thread: by our last answer, unless a person with write access contradicts it; then by what people with
 * write access decided.
 *
 * @param decided decisions from earlier readings of this thread
 */
async function statusOf(
  thread: OwnThread,
  mayDecide: MayDecide,
  decided: readonly Decision[] = [],
): Promise<Status> {
  return (
    (await ourWord(thread, mayDecide)) ??
    (await resolvedByPerson(thread, mayDecide, decided)) ??
    (await dismissalByPeople(thread, mayDecide, decided)) ??
    (thread.outdated ? outdated : open)
  );
}

/** Whether a person with write access takes part in the thread (or may have). Then that person resolves it. */
const isTheirs = async ({ replies, resolvedBy }: OwnThread, mayDecide: MayDecide): Promise<boolean> =>
  resolvedBy?.kind === "person" ||
  (await somebodyWrote(replies, async (login) => (await mayDecide(login)) !== false));

/**
 * The pull request's author can resolve threads too, may not decide, and can undo what others decided. So a decision that was read once
 * holds until a person with write access writes in the unresolved thread.
 */
async function resolvedByPerson(
  { resolved, resolvedBy, replies }: OwnThread,
  mayDecide: MayDecide,
  decided: readonly Decision[],
): Promise<Status | undefined> {
  const by = resolved && resolvedBy?.kind === "person" ? resolvedBy.login : null;
  if (by !== null && (await mayDecide(by))) return dismissed("resolved", by, null);
  const before = decided.find(({ how }) => how === "resolved");
  if (before === undefined) return undefined;
  const isTakenBack = !resolved && (await somebodyWrote(replies, mayDecide, ({ id }) => id > before.after));
  return isTakenBack ? undefined : dismissed("resolved", before.by, null);
}

/** Whether a person with write access wrote such a reply. */
async function somebodyWrote(
  replies: readonly ThreadComment[],
  mayDecide: MayDecide,
  isMeant: (reply: ThreadComment) => boolean = () => true,
): Promise<boolean> {
  for (const reply of replies.filter(isMeant)) {
    const { kind, login } = reply.author;
    if (kind === "person" && login !== null && (await mayDecide(login))) return true;
  }
  return false;
}

/** "Fixed" holds until a person with write access replies with more than thanks, and permanently if we resolved the thread. */
async function ourWord(
  { replies, resolved, resolvedBy }: OwnThread,
  mayDecide: MayDecide,
): Promise<Status | undefined> {
  const last = replies.findLastIndex((reply) => wordIn(reply) !== undefined);
  const reply = replies[last];
  const word = reply && wordIn(reply);
  if (!reply || !word) return undefined;
  if (word.kind === "dismissed") return statusByWord(word, reply.createdAt);
  if (resolved && resolvedBy?.kind === "us") return fixed;
  const later = replies.slice(last + 1);
  return (await somebodyWrote(later, mayDecide, ({ body }) => !acknowledges(body))) ? undefined : fixed;
}

function wordIn({ author, body }: ThreadComment): Word | undefined {
  return author.kind === "us" ? wordOn(body) : undefined;
}

type Word = Extract<Marker, { kind: "fixed" | "dismissed" }>;

function statusByWord(word: Word, at: string | null): Status {
  if (word.kind === "fixed") return fixed;
  const { by, reason } = word;
  if (reason === undefined) return dismissed("command", by, at);
  return { state: "dismissed", dismissal: { how: "page", by, at, reason } };
}

function wordOn(body: string): Word | undefined {
  return markerIn(body, "fixed") ?? markerIn(body, "dismissed");
}

/** Characters; shorter ones take no time to read. */
const longReply = 1_000;

/** The newest dismissal by a person with write access. Decisions that were read before come first, so later replies cannot hide them. */
async function dismissalByPeople(
  { replies, downvotes }: OwnThread,
  mayDecide: MayDecide,
  decided: readonly Decision[],
): Promise<Status | undefined> {
  const acts: { how: "reaction" | "reply"; by: string; at: string }[] = downvotes.map((one) => {
    return { how: "reaction", ...one };
  });
  for (const { author, body, createdAt } of replies) {
    if (author.kind !== "person" || author.login === null) continue;
    // Anyone can write thousands of long replies; the event loop must not be blocked by them.
    if (body.length > longReply) await nextTurn();
    if (dismisses(body)) acts.push({ how: "reply", by: author.login, at: createdAt });
  }
  acts.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const known = acts.find((one) =>
    decided.some(({ how, by }) => how === one.how && isSamePerson(by, one.by)),
  );
  if (known) return dismissed(known.how, known.by, known.at);
  for (const { how, by, at } of acts) {
    if (await mayDecide(by)) return dismissed(how, by, at);
  }
  return undefined;
}

export type LedgerSource = Pick<
  PullRequestApi,
  "ownComments" | "ownThreads" | "ownReviewComments" | "permissionOf"
>;

/** Reads posted findings, their states and what was reviewed from our own comments, deleted ones last. Works without threads. */
export async function readLedger(api: LedgerSource): Promise<Ledger> {
  const comments = await api.ownComments();
  const { sticky, state } = stickyAmong(comments);
  const { entries, notice } = await entriesOf(api, comments, state);
  const known = new Set(entries.map(({ id }) => id));
  const deleted = [...new Set(state.posted)].filter((id) => !known.has(id)).map(deletedEntry);
  return { state, sticky, entries: [...entries, ...deleted], notice };
}

/** If a crash or a race posted two, the oldest one counts. */
function stickyAmong(comments: readonly OwnText[]): Pick<Ledger, "sticky" | "state"> {
  for (const sticky of comments.toSorted((a, b) => a.id - b.id)) {
    const marker = markerIn(sticky.body, "summary");
    if (marker) return { sticky, state: marker.state };
  }
  return { sticky: null, state: emptyState };
}

async function entriesOf(
  api: LedgerSource,
  conversation: readonly OwnText[],
  { posted, decided }: Pick<LedgerState, "posted" | "decided">,
): Promise<Pick<Ledger, "entries" | "notice">> {
  const words = conversation.flatMap(({ body }) => wordOn(body) ?? []);
  const { threads, notice } = await threadsOrNotice(api);
  if (threads === undefined)
    return { entries: withoutThreads(await api.ownReviewComments(), words, decided), notice };
  const deciders = writersDecide(api);
  const entries: PostedFinding[] = [];
  for (const thread of threads.toSorted((a, b) => a.comment - b.comment)) {
    const before = decided.filter(({ comment }) => comment === thread.comment);
    const entry = await entryOfThread(thread, deciders, before);
    if (entry) entries.push(withWord(entry, words));
  }
  const known = new Set(entries.map(({ id }) => id));
  if (posted.every((id) => known.has(id))) return { entries, notice: deciders.notice() };
  // GraphQL omits threads that it cannot show. A comment that REST shows was not deleted.
  const seen = new Set(entries.map(({ comment }) => comment));
  const unseen = (await api.ownReviewComments()).filter(({ id }) => !seen.has(id));
  const all = [...entries, ...withoutThreads(unseen, words, decided)];
  return { entries: all.toSorted((a, b) => (a.comment ?? 0) - (b.comment ?? 0)), notice: deciders.notice() };
}

const passing = new Set<ErrorCode>([
  "github_forbidden",
  "github_not_found",
  "github_invalid",
  "github_failed",
]);

/** Only GraphQL shows threads. It may be closed to us or fail, and posting the findings must not depend on it. */
async function threadsOrNotice(
  api: LedgerSource,
): Promise<{ threads: readonly OwnThread[] | undefined; notice: string | null }> {
  try {
    return { threads: await api.ownThreads(), notice: null };
  } catch (error) {
    if (!(error instanceof AppError && passing.has(error.code))) throw error;
    return {
      threads: undefined,
      notice: `The state of our earlier comments could not be read: ${errorLine(error)}`,
    };
  }
}

async function entryOfThread(
  thread: OwnThread,
  { mayDecide }: Deciders,
  decided: readonly Decision[],
): Promise<PostedFinding | undefined> {
  const marker = markerIn(thread.body, "finding");
  if (marker === undefined) return undefined;
  const { body, path, side, line, startLine, originalLine, resolved, url, createdAt } = thread;
  return {
    comment: thread.comment,
    path,
    side,
    line,
    start_line: startLine,
    original_line: originalLine,
    thread: thread.id,
    resolved,
    url,
    created_at: createdAt,
    ...markedFields(marker, body),
    ...(await statusOf(thread, mayDecide, decided)),
    is_theirs: await isTheirs(thread, mayDecide),
    thumbs: { up: thread.upvotes, down: thread.downvotes.length },
    newest_reply: thread.replies.at(-1)?.id ?? thread.comment,
    replies: thread.replies.filter(({ author }) => author.kind === "person").map((reply) => reply.body),
  };
}

/** Uses REST's comments, our own answers (their markers name the finding) and earlier decisions. */
function withoutThreads(
  comments: readonly OwnComment[],
  elsewhere: readonly Word[],
  decided: readonly Decision[],
): PostedFinding[] {
  const words = [...elsewhere, ...comments.flatMap(({ body }) => wordOn(body) ?? [])];
  return comments
    .toSorted((a, b) => a.id - b.id)
    .flatMap(({ id, path, side, line, url, createdAt, body, ...rest }) => {
      const marker = markerIn(body, "finding");
      if (marker === undefined) return [];
      const entry: PostedFinding = {
        ...withoutComment,
        comment: id,
        path,
        side,
        line,
        start_line: null,
        original_line: line,
        newest_reply: id,
        url,
        created_at: createdAt,
        ...markedFields(marker, body),
        ...decidedOr(rest.outdated ? outdated : open, id, decided),
      };
      return [withWord(entry, words)];
    });
}

function decidedOr(status: Status, id: number, decided: readonly Decision[]): Status {
  const last = decided.findLast(({ comment }) => comment === id);
  return last ? dismissed(last.how, last.by, null) : status;
}

/** Uses our own answer for the state of a finding that is open by its thread. */
function withWord(entry: PostedFinding, words: readonly Word[]): PostedFinding {
  const word = isOpenFinding(entry) ? words.findLast(({ comment }) => comment === entry.comment) : undefined;
  return word ? { ...entry, ...statusByWord(word, null) } : entry;
}

type FindingMarker = Extract<Marker, { kind: "finding" }>;

const markedFields = (
  { id, severity, category, symbol, code, source, files, rule }: FindingMarker,
  body: string,
) => ({
  ...{ id, severity, category, symbol, code, source, files },
  ...(rule !== undefined && { rule }),
  ...{ title: commentTitle(body), text: commentText(body) },
});

/** A deleted comment leaves only the finding's id. Deleting it takes write access. */
const deletedEntry = (id: string): PostedFinding => ({
  ...withoutComment,
  id,
  path: "",
  side: "RIGHT",
  line: null,
  start_line: null,
  original_line: null,
  severity: "low",
  category: null,
  symbol: null,
  code: null,
  source: null,
  title: "",
  text: "",
  ...dismissed("deleted", null, null),
});

export interface Answers {
  /** The comment in question is answered. */
  given: boolean;
  /** Number of answers in its thread; 0 for a comment in the conversation. */
  inThread: number;
  /** Number of answers on the pull request. */
  inAll: number;
}

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
  const inConversation = answeredIn(conversation);
  const inThreadsAnswered = answeredIn([...inThreads.values()]);
  const here = replies.filter((reply) => reply.thread === thread && markerIn(reply.body, "answer"));
  // The ids of the two kinds of comments may coincide; an answer is where its comment is.
  const given = (thread === null ? inConversation : inThreadsAnswered).includes(id);
  return { given, inThread: here.length, inAll: inConversation.length + inThreadsAnswered.length };
}

const answeredIn = (texts: readonly Pick<OwnText, "body">[]) =>
  texts.flatMap(({ body }) => markerIn(body, "answer")?.comment ?? []);
