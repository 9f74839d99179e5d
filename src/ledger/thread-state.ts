import { setImmediate as nextTurn } from "node:timers/promises";
import type { OwnThread, ThreadComment } from "../github/pull-request-api.ts";
import { type Deciders, isSamePerson } from "./authority.ts";
import type { Dismissal, LedgerEntry } from "./entry.ts";
import { type Marker, parseMarker } from "./marker.ts";
import type { Decision } from "./state.ts";
import { acknowledges, dismisses } from "./words.ts";

type MayDecide = Deciders["mayDecide"];
export type Standing = Pick<LedgerEntry, "state" | "dismissal">;

export const open: Standing = { state: "open", dismissal: null };
export const outdated: Standing = { state: "outdated", dismissal: null };
const fixed: Standing = { state: "fixed", dismissal: null };

export const dismissed = (how: Dismissal["how"], by: string | null, at: string | null): Standing => ({
  state: "dismissed",
  dismissal: { how, by, at },
});

/**
 * What became of the finding in a thread. Our own last word in it counts first, unless somebody who may decide contradicts it. Then
 * what people who may decide have decided: they resolved the thread, or said so by a reaction or a reply. Nobody else's acts count.
 *
 * @param decided what earlier readings of this thread came to
 */
export async function standingOf(
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
export async function isTheirs({ replies, resolvedBy }: OwnThread, mayDecide: MayDecide): Promise<boolean> {
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
export type Word = Extract<Marker, { kind: "fixed" | "dismissed" }>;

export const standingByWord = (word: Word, at: string | null): Standing =>
  word.kind === "fixed" ? fixed : dismissed("command", word.by, at);

/** Our word on a finding in a text of ours. */
export function wordOn(body: string): Word | undefined {
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
