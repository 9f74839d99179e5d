import { setImmediate as nextTurn } from "node:timers/promises";
import { AppError, type ErrorCode, errorLine } from "../errors.ts";
import type {
  OwnComment,
  OwnText,
  OwnThread,
  PullRequestApi,
  ThreadComment,
} from "../github/pull-request-api.ts";
import { type Deciders, isSamePerson, writersDecide } from "./authority.ts";
import {
  commentText,
  commentTitle,
  type Dismissal,
  isStanding,
  type Ledger,
  type LedgerEntry,
} from "./entry.ts";
import { type Marker, parseMarker } from "./marker.ts";
import { type Decision, emptyState, type LedgerState } from "./state.ts";
import { acknowledges, dismisses } from "./words.ts";

type MayDecide = Deciders["mayDecide"];
type Standing = Pick<LedgerEntry, "state" | "dismissal">;

const open: Standing = { state: "open", dismissal: null };
const outdated: Standing = { state: "outdated", dismissal: null };
const fixed: Standing = { state: "fixed", dismissal: null };

const dismissed = (how: Dismissal["how"], by: string | null, at: string | null): Standing => ({
  state: "dismissed",
  dismissal: { how, by, at },
});

/**
 * What became of the finding in a thread. Our own last word in it counts first, unless somebody who may decide contradicts it. Then
 * what people who may decide have decided: they resolved the thread, or said so by a reaction or a reply. Nobody else's acts count.
 *
 * @param decided what earlier readings of this thread came to
 */
async function standingOf(
  thread: OwnThread,
  mayDecide: MayDecide,
  decided: readonly Decision[] = [],
): Promise<Standing> {
  return (
    (await ourWord(thread, mayDecide)) ??
    (await resolvedByPerson(thread, mayDecide, decided)) ??
    (await saidDismissal(thread, mayDecide, decided)) ??
    (thread.outdated ? outdated : open)
  );
}

/** Somebody who may decide takes part in a thread, or may do so: it is theirs to resolve. */
async function isTheirs({ replies, resolvedBy }: OwnThread, mayDecide: MayDecide): Promise<boolean> {
  if (resolvedBy?.kind === "person") return true;
  for (const { author } of replies) {
    if (author.kind !== "person" || author.login === null) continue;
    if ((await mayDecide(author.login)) !== false) return true;
  }
  return false;
}

/**
 * GitHub lets people with write access resolve threads, and the author of the pull request, who may not decide and may also undo
 * what others decided. So a decision that was read once holds, until somebody who may decide writes in the thread while it is
 * not resolved.
 */
async function resolvedByPerson(
  { resolved, resolvedBy, replies }: OwnThread,
  mayDecide: MayDecide,
  decided: readonly Decision[],
): Promise<Standing | undefined> {
  const by = resolved && resolvedBy?.kind === "person" ? resolvedBy.login : null;
  if (by !== null && (await mayDecide(by))) return dismissed("resolved", by, null);
  const before = decided.find(({ how }) => how === "resolved");
  if (before === undefined) return undefined;
  const isTakenBack = !resolved && (await somebodySaid(replies, mayDecide, ({ id }) => id > before.after));
  return isTakenBack ? undefined : dismissed("resolved", before.by, null);
}

/** Whether somebody who may decide wrote a reply of this kind. */
async function somebodySaid(
  replies: readonly ThreadComment[],
  mayDecide: MayDecide,
  isMeant: (reply: ThreadComment) => boolean,
): Promise<boolean> {
  for (const reply of replies.filter(isMeant)) {
    const { kind, login } = reply.author;
    if (kind === "person" && login !== null && (await mayDecide(login))) return true;
  }
  return false;
}

/**
 * Our last word on the finding. That it is fixed holds until somebody who may decide answers more than thanks, and for good if we
 * resolved the thread.
 */
async function ourWord(
  { replies, resolved, resolvedBy }: OwnThread,
  mayDecide: MayDecide,
): Promise<Standing | undefined> {
  const last = replies.findLastIndex((reply) => wordIn(reply) !== undefined);
  const reply = replies[last];
  const word = reply && wordIn(reply);
  if (!reply || !word) return undefined;
  if (word.kind === "dismissed") return standingByWord(word, reply.createdAt);
  if (resolved && resolvedBy?.kind === "us") return fixed;
  const later = replies.slice(last + 1);
  return (await somebodySaid(later, mayDecide, ({ body }) => !acknowledges(body))) ? undefined : fixed;
}

function wordIn({ author, body }: ThreadComment): Word | undefined {
  return author.kind === "us" ? wordOn(body) : undefined;
}

/** What we said of a finding as a whole. */
type Word = Extract<Marker, { kind: "fixed" | "dismissed" }>;

const standingByWord = (word: Word, at: string | null): Standing =>
  word.kind === "fixed" ? fixed : dismissed("command", word.by, at);

/** Our word on a finding in a text of ours. */
function wordOn(body: string): Word | undefined {
  const marker = parseMarker(body);
  return marker?.kind === "fixed" || marker?.kind === "dismissed" ? marker : undefined;
}

/** Characters; shorter ones are read in no time. */
const longReply = 1_000;

/**
 * The newest thumb down or dismissing reply of somebody who may decide. Those of people whose decision was read before come first, and
 * need no question: however many others speak after them, they are found.
 */
async function saidDismissal(
  { replies, downvotes }: OwnThread,
  mayDecide: MayDecide,
  decided: readonly Decision[],
): Promise<Standing | undefined> {
  const said: { how: "reaction" | "reply"; by: string; at: string }[] = downvotes.map((one) => {
    return { how: "reaction", ...one };
  });
  for (const { author, body, createdAt } of replies) {
    if (author.kind !== "person" || author.login === null) continue;
    // Anybody may write thousands of them, and what is served beside the ledger must not wait for all.
    if (body.length > longReply) await nextTurn();
    if (dismisses(body)) said.push({ how: "reply", by: author.login, at: createdAt });
  }
  said.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const known = said.find((one) =>
    decided.some(({ how, by }) => how === one.how && isSamePerson(by, one.by)),
  );
  if (known) return dismissed(known.how, known.by, known.at);
  for (const { how, by, at } of said) {
    if (await mayDecide(by)) return dismissed(how, by, at);
  }
  return undefined;
}

export type LedgerSource = Pick<
  PullRequestApi,
  "ownComments" | "ownThreads" | "ownReviewComments" | "permissionOf"
>;

/**
 * Reads from our own texts on a pull request what was found, what became of it and what was read. Entries come in the order of
 * their comments, deleted ones last. Rejects with an AppError if GitHub cannot be asked; only of threads it goes without.
 */
export async function readLedger(api: LedgerSource): Promise<Ledger> {
  const comments = await api.ownComments();
  const { sticky, state } = stickyAmong(comments);
  const { entries, notice } = await entriesOf(api, comments, state);
  const known = new Set(entries.map(({ id }) => id));
  const deleted = [...new Set(state.posted)].filter((id) => !known.has(id)).map(deletedEntry);
  return { state, sticky, entries: [...entries, ...deleted], notice };
}

/** Where two were posted, by a crash or a race, the oldest is the one that is kept up. */
function stickyAmong(comments: readonly OwnText[]): Pick<Ledger, "sticky" | "state"> {
  for (const sticky of comments.toSorted((a, b) => a.id - b.id)) {
    const marker = parseMarker(sticky.body);
    if (marker?.kind === "summary") return { sticky, state: marker.state };
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
  const entries: LedgerEntry[] = [];
  for (const thread of threads.toSorted((a, b) => a.comment - b.comment)) {
    const before = decided.filter(({ comment }) => comment === thread.comment);
    const entry = await entryOfThread(thread, deciders, before);
    if (entry) entries.push(withWord(entry, words));
  }
  const known = new Set(entries.map(({ id }) => id));
  if (posted.every((id) => known.has(id))) return { entries, notice: deciders.notice() };
  // GraphQL leaves out threads that it could not show. A comment of which REST knows was deleted by nobody.
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

/** GraphQL, which alone knows of threads, may be closed to us, and fails by itself at times: what was found shall not wait for it. */
async function threadsOrNotice(
  api: LedgerSource,
): Promise<{ threads: readonly OwnThread[] | undefined; notice: string | null }> {
  try {
    return { threads: await api.ownThreads(), notice: null };
  } catch (error) {
    if (!(error instanceof AppError && passing.has(error.code))) throw error;
    return { threads: undefined, notice: `No state of our earlier comments: ${errorLine(error)}` };
  }
}

async function entryOfThread(
  thread: OwnThread,
  { mayDecide }: Deciders,
  decided: readonly Decision[],
): Promise<LedgerEntry | undefined> {
  const marker = findingIn(thread.body);
  if (marker === undefined) return undefined;
  const { path, side, line, startLine, originalLine, resolved, url, body } = thread;
  return {
    ...{
      comment: thread.comment,
      path,
      side,
      line,
      startLine,
      originalLine,
      thread: thread.id,
      resolved,
      url,
    },
    ...said(marker, body),
    ...(await standingOf(thread, mayDecide, decided)),
    isTheirs: await isTheirs(thread, mayDecide),
    newestReply: thread.replies.at(-1)?.id ?? thread.comment,
    replies: thread.replies.filter(({ author }) => author.kind === "person").map((reply) => reply.body),
  };
}

/** What REST knows of our comments, our own answers, which say whose finding they speak of, and what was decided before. */
function withoutThreads(
  comments: readonly OwnComment[],
  elsewhere: readonly Word[],
  decided: readonly Decision[],
): LedgerEntry[] {
  const words = [...elsewhere, ...comments.flatMap(({ body }) => wordOn(body) ?? [])];
  return comments
    .toSorted((a, b) => a.id - b.id)
    .flatMap(({ id, path, side, line, url, body, ...rest }) => {
      const marker = findingIn(body);
      if (marker === undefined) return [];
      const entry: LedgerEntry = {
        ...{ comment: id, path, side, line, startLine: null, originalLine: line, url, ...said(marker, body) },
        ...{ thread: null, resolved: false, isTheirs: true, newestReply: id, replies: [] },
        ...decidedOr(rest.outdated ? outdated : open, id, decided),
      };
      return [withWord(entry, words)];
    });
}

function decidedOr(standing: Standing, id: number, decided: readonly Decision[]): Standing {
  const last = decided.findLast(({ comment }) => comment === id);
  return last ? dismissed(last.how, last.by, null) : standing;
}

/** Takes our word for what became of a finding, where its thread has not told it. */
function withWord(entry: LedgerEntry, words: readonly Word[]): LedgerEntry {
  const word = isStanding(entry) ? words.findLast(({ comment }) => comment === entry.comment) : undefined;
  return word ? { ...entry, ...standingByWord(word, null) } : entry;
}

type FindingMarker = Extract<Marker, { kind: "finding" }>;

function findingIn(body: string): FindingMarker | undefined {
  const marker = parseMarker(body);
  return marker?.kind === "finding" ? marker : undefined;
}

const said = ({ id, severity, category, symbol, code, source, files }: FindingMarker, body: string) => ({
  ...{ id, severity, category, symbol, code, source, files },
  ...{ title: commentTitle(body), text: commentText(body) },
});

/** Of a deleted comment its finding's id is all that is left; only who may write to the repository can have deleted it. */
const deletedEntry = (id: string): LedgerEntry => ({
  ...{ id, comment: null, path: "", side: "RIGHT", line: null, startLine: null, originalLine: null },
  ...{
    severity: "low",
    category: null,
    symbol: null,
    code: null,
    source: null,
    files: [],
    title: "",
    text: "",
  },
  ...{ thread: null, resolved: false, isTheirs: true, newestReply: 0, replies: [], url: "" },
  ...dismissed("deleted", null, null),
});
