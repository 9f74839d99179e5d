import { AppError, type ErrorCode, errorLine } from "../errors.ts";
import type { OwnComment, OwnText, OwnThread, PullRequestApi } from "../github/pull-request-api.ts";
import { type Deciders, writersDecide } from "./authority.ts";
import { commentText, commentTitle } from "./comment-title.ts";
import { isStanding, type Ledger, type LedgerEntry } from "./entry.ts";
import { type Marker, parseMarker } from "./marker.ts";
import { type Decision, emptyState, type LedgerState } from "./state.ts";
import {
  dismissed,
  isTheirs,
  open,
  outdated,
  type Standing,
  standingByWord,
  standingOf,
  type Word,
  wordOn,
} from "./thread-state.ts";

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
