import type { Category, Severity, Side } from "../finding.ts";
import type { OwnText } from "../github/pull-request-api.ts";
import type { LedgerState } from "./state.ts";

/**
 * What became of a finding; `facts` in authority.ts says who decides. open: it is held against the change. fixed: the code showed
 * it, and we said so. dismissed: somebody who may decide said that it stays as it is. outdated: its code has changed, and nothing shows
 * yet whether the fault went with it. Everything but fixed and dismissed holds the check run.
 */
export const entryStates = ["open", "fixed", "dismissed", "outdated"] as const;
export type EntryState = (typeof entryStates)[number];

/** How a person dismissed a finding. */
export type DismissalKind = "reaction" | "reply" | "resolved" | "command" | "deleted";

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
