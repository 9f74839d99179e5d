import { createHash } from "node:crypto";
import type { Category, Severity, Side } from "../finding.ts";
import type { OwnText } from "../github/pull-request-api.ts";
import type { LedgerState } from "./state.ts";

/**
 * What became of a finding; `facts` in authority.ts says who decides. open: it is held against the change. fixed: the code showed
 * it, and we said so. dismissed: somebody who may decide said that it stays as it is. outdated: its code has changed, and nothing shows
 * yet whether the fault went with it. Everything but fixed and dismissed holds the check run.
 */
const entryStates = ["open", "fixed", "dismissed", "outdated"] as const;
type EntryState = (typeof entryStates)[number];

/** How a person dismissed a finding. */
type DismissalKind = "reaction" | "reply" | "resolved" | "command" | "deleted";

export interface Dismissal {
  how: DismissalKind;
  /** Login; null where GitHub does not say. */
  by: string | null;
  /** ISO 8601; null where GitHub does not say. */
  at: string | null;
}

/** A finding that we posted as a comment, as it stands on GitHub now. */
export interface LedgerEntry {
  /** Id of the comment; that of a deleted comment is null. */
  comment: number | null;
  /** Of the finding. */
  id: string;
  path: string;
  side: Side;
  /** Where GitHub sees the line now; null on a file, and when it is outdated. */
  line: number | null;
  startLine: number | null;
  /** Where the line was when the comment was made; null on a file. */
  originalLine: number | null;
  severity: Severity;
  /** Null in comments of older versions, as the next four. */
  category: Category | null;
  /** The definition that its code stands in. */
  symbol: string | null;
  /** Hash of its code without white space. */
  code: string | null;
  /** The rule that found it, or "model". */
  source: string | null;
  /** Other files that were named as evidence. */
  files: readonly string[];
  title: string;
  /** What the comment says, marker taken off. */
  text: string;
  state: EntryState;
  dismissal: Dismissal | null;
  /** Somebody who may decide wrote in its thread, or a person resolved it: we answer there, and do not resolve. */
  isTheirs: boolean;
  /** Id of the newest comment in its thread; 0 for a deleted one. */
  newestReply: number;
  /** Node id of its thread; null where GitHub does not tell of threads. */
  thread: string | null;
  resolved: boolean;
  url: string;
  /** What people answered, oldest first. */
  replies: readonly string[];
}

/** What our own texts on a pull request say. */
export interface Ledger {
  state: LedgerState;
  /** The sticky summary; null where there is none. */
  sticky: OwnText | null;
  entries: readonly LedgerEntry[];
  /** Why the state of threads is not known; null where it is. */
  notice: string | null;
}

/** Whether a finding is still held against the change. */
export const isStanding = ({ state }: Pick<LedgerEntry, "state">): boolean =>
  state === "open" || state === "outdated";

/** The first line of a comment on a finding: badge, title, and where the finding is when that is elsewhere. */
const firstLine = /^\*\*\S+ (?:Critical|High|Medium|Low): (.+?)\*\*(?: in \[.*)?$/u;

/** The title in a comment of ours on a finding, as it was before it was rendered; empty where none can be made out. */
export function commentTitle(body: string): string {
  const title = firstLine.exec(body.split("\n", 1)[0]?.trimEnd() ?? "")?.[1] ?? "";
  // What rendering puts in: escapes, and a sign that does not show and keeps `@` and `#` from being links.
  return title.replaceAll("\u200b", "").replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

/** What `commentText` gives without the line of the title. */
export function textBelowTitle(text: string): string {
  const [first = "", ...rest] = text.split("\n");
  return firstLine.test(first.trimEnd()) ? rest.join("\n").trim() : text;
}

/** Begins the last part of a comment on a finding: it is folded away, and of no use to who reads what the finding is. */
const checkedPart = "<details><summary>How this was checked</summary>";

/** What a comment of ours on a finding says: without its marker, and without how it was checked. */
export function commentText(body: string): string {
  const said = body.trimEnd().replace(/(?:^|\n)<!-- hunkwise:[^\n]*$/, "");
  const checked = said.lastIndexOf(checkedPart);
  // Rendering puts the sign behind `@` and `#`, and who reads the text for what it says would take it for a part of it.
  return (checked < 0 ? said : said.slice(0, checked)).replaceAll("\u200b", "").trim();
}

/**
 * By which code is known again wherever it stands: 12 characters of base64url. White space does not count, so that
 * re-indenting and wrapping change nothing.
 */
export function codeHash(code: string): string {
  return createHash("sha256").update(code.replace(/\s+/g, "")).digest("base64url").slice(0, 12);
}
