import { setImmediate as nextTurn } from "node:timers/promises";
import { isCertain } from "../finding.ts";
import type { OwnThread, ThreadComment } from "../github/pull-request-api.ts";
import { type Dismissible, isSamePerson, type MayDismiss } from "./dismissal-rights.ts";
import type { Dismissal, LedgerEntry } from "./entry.ts";
import { type Marker, parseMarker } from "./marker.ts";
import { acknowledges, dismisses } from "./words.ts";

export type Standing = Pick<LedgerEntry, "state" | "dismissal">;

/** Who is asked about a thread. */
export interface Judges {
  mayDismiss: MayDismiss;
  /** Of the pull request. */
  author: string;
}

export const open: Standing = { state: "open", dismissal: null };
export const outdated: Standing = { state: "outdated", dismissal: null };
const fixed: Standing = { state: "fixed", dismissal: null };

export const dismissed = (how: Dismissal["how"], by: string | null, at: string | null): Standing => ({
  state: "dismissed",
  dismissal: { how, by, at },
});

/**
 * What became of the finding in a thread. Our own last word in it counts first, while nobody contradicts it: people resolve
 * threads also because we said that it is fixed. Then who resolved it, thumbs down and replies, and whether its code has changed.
 */
export async function standingOf(thread: OwnThread, finding: Dismissible, judges: Judges): Promise<Standing> {
  return (
    ourWord(thread) ??
    (await resolvedByPerson(thread, finding, judges)) ??
    (await saidDismissal(thread, finding, judges)) ??
    (thread.outdated ? outdated : open)
  );
}

/** A person took part in a thread: it is theirs. */
export const isTheirs = (thread: OwnThread): boolean =>
  thread.replies.some(({ author }) => author.kind === "person") || wasResolvedByPerson(thread);

/**
 * Resolved after its code has changed: fixed, where nobody has said that it stays. Resolved as it was: dismissed. GitHub lets only
 * people with write access resolve, and the author: they may not put aside alone what is severe. Authors may delete their accounts,
 * so what is certain is not dismissed by somebody without a name.
 */
async function resolvedByPerson(
  thread: OwnThread,
  finding: Dismissible,
  judges: Judges,
): Promise<Standing | undefined> {
  if (!wasResolvedByPerson(thread)) return undefined;
  if (thread.outdated) return (await saidDismissal(thread, finding, judges)) ?? fixed;
  const by = thread.resolvedBy?.login ?? null;
  const isAuthor = by !== null && isSamePerson(by, judges.author);
  if (isAuthor && !(await judges.mayDismiss(by, finding))) return undefined;
  if (by === null && isCertain(finding)) return undefined;
  return dismissed("resolved", by, null);
}

/** Where GitHub does not say who it was, it was a person, unless we had said why we would. */
function wasResolvedByPerson(thread: OwnThread): boolean {
  const { resolved, resolvedBy } = thread;
  if (!resolved) return false;
  return resolvedBy === null ? ourWord(thread) === undefined : resolvedBy.kind === "person";
}

/**
 * Our last word on the finding. That it is fixed holds until a person answers more than thanks, and for good where we resolved
 * the thread.
 */
function ourWord({ replies, resolved, resolvedBy }: OwnThread): Standing | undefined {
  const last = replies.findLastIndex((reply) => wordIn(reply) !== undefined);
  const reply = replies[last];
  const word = reply && wordIn(reply);
  if (!reply || !word) return undefined;
  if (word.kind === "dismissed") return standingByWord(word, reply.createdAt);
  const isOurs = resolved && resolvedBy?.kind === "us";
  const isAnswered = replies
    .slice(last + 1)
    .some(({ author, body }) => author.kind === "person" && !acknowledges(body));
  return isOurs || !isAnswered ? fixed : undefined;
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

/** The newest thumb down or dismissing reply of somebody who may. */
async function saidDismissal(
  { replies, downvotes }: OwnThread,
  finding: Dismissible,
  { mayDismiss }: Judges,
): Promise<Standing | undefined> {
  const said: { how: Dismissal["how"]; by: string; at: string }[] = downvotes.map((one) => {
    return { how: "reaction", ...one };
  });
  for (const { author, body, createdAt } of replies) {
    if (author.kind !== "person" || author.login === null) continue;
    // Anybody may write thousands of them, and what is served beside the ledger must not wait for all.
    if (body.length > longReply) await nextTurn();
    if (dismisses(body)) said.push({ how: "reply", by: author.login, at: createdAt });
  }
  said.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  for (const { how, by, at } of said) {
    if (await mayDismiss(by, finding)) return dismissed(how, by, at);
  }
  return undefined;
}
