import { createHash } from "node:crypto";
import { type Category, type Severity, type Side, toolOf } from "../finding.ts";
import type { OwnText } from "../github/pull-request-api.ts";
import { foldLine, ownWords } from "./folds.ts";
import type { CarriedFinding, LedgerState } from "./state.ts";

/**
 * The state of a posted finding; SECURITY.md says who decides. open: it counts against the change. fixed: the code shows it,
 * and we said so. dismissed: a person with write access decided to leave the code as it is. outdated: its code has changed, and it is not
 * known yet whether that fixed it. All except fixed and dismissed hold the check run.
 */
const entryStates = ["open", "fixed", "dismissed", "outdated"] as const;
type EntryState = (typeof entryStates)[number];

/** How a person dismissed a finding. */
type DismissalKind = "reaction" | "reply" | "resolved" | "command" | "page" | "deleted";

export interface Dismissal {
  how: DismissalKind;
  /** Login; null if GitHub does not say. */
  by: string | null;
  /** ISO 8601; null if GitHub does not say. */
  at: string | null;
  /** Why, in the person's words; only if it was done on a page. */
  reason?: string | undefined;
}

/** A finding that we posted as a comment, as GitHub shows it now. */
export interface PostedFinding {
  /** Id of the comment; null if it was deleted. */
  comment: number | null;
  /** Id of the finding. */
  id: string;
  path: string;
  side: Side;
  /** The line as GitHub shows it now; null for a comment on a file, and if it is outdated. */
  line: number | null;
  startLine: number | null;
  /** The line when the comment was made; null for a comment on a file. */
  originalLine: number | null;
  severity: Severity;
  /** Null in comments of older versions, like the next four. */
  category: Category | null;
  /** The definition that contains its code. */
  symbol: string | null;
  /** Hash of its code without white space. */
  code: string | null;
  /** The rule that found it, or "model". */
  source: string | null;
  /** The named rule that it breaks; omitted if it is about none. */
  rule?: string | undefined;
  /** Other files that were named as evidence. */
  files: readonly string[];
  title: string;
  /** The comment's text without the marker. */
  text: string;
  state: EntryState;
  dismissal: Dismissal | null;
  /** A person with write access wrote in its thread or resolved it: we answer there, and do not resolve. */
  isTheirs: boolean;
  /** Id of the newest comment in its thread; 0 for a deleted one. */
  newestReply: number;
  /** Node id of its thread; null if GitHub does not show threads. */
  thread: string | null;
  resolved: boolean;
  /** Reactions on its comment; null if GitHub does not show its thread. */
  thumbs: { up: number; down: number } | null;
  url: string;
  /** When its comment was published, ISO 8601; null for a deleted one. */
  createdAt: string | null;
  /** What people answered, oldest first. */
  replies: readonly string[];
}

/** What our own comments on a pull request say. */
export interface Ledger {
  state: LedgerState;
  /** The sticky summary; null if there is none. */
  sticky: OwnText | null;
  entries: readonly PostedFinding[];
  /** Why the state of threads is not known; null if it is known. */
  notice: string | null;
}

/** Whether a finding still counts against the change. */
export const isOpenFinding = ({ state }: Pick<PostedFinding, "state">): boolean =>
  state === "open" || state === "outdated";

/** The part of an open finding that decides whether it holds a check run. */
export type OpenFinding = Pick<PostedFinding, "severity" | "rule">;

/** Published findings of earlier reviews that are still open and count for the check. */
export function openFindings({ entries, state }: Ledger): OpenFinding[] {
  const listed = state.carried.filter(isOpenCarried);
  return [...entries.filter(isOpenFinding), ...listed.map(({ finding }) => finding)].filter(mayHold);
}

/** Whether a finding without a comment was published and still counts. */
export const isOpenCarried = ({ standing }: CarriedFinding): boolean =>
  standing === "listed" || standing === "annotated";

/** Whether a finding may turn a check red. What another tool reported counts only in the words of a model that judged it. */
export const mayHold = ({ source }: { source: string | null }): boolean => toolOf(source) === null;

/** The first line of a comment on a finding: badge, title, and the finding's location if it is elsewhere. */
const firstLine = /^\*\*\S+ (?:Critical|High|Medium|Low): (.+?)\*\*(?: in \[.*)?$/u;

/** The title in our comment on a finding, before rendering; empty if there is none. */
export function commentTitle(body: string): string {
  const title = firstLine.exec(body.split("\n", 1)[0]?.trimEnd() ?? "")?.[1] ?? "";
  // Rendering adds escapes, and an invisible character that keeps `@` and `#` from becoming links.
  return title.replaceAll("\u200b", "").replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

/** The result of `commentText` without the line of the title. */
export function textBelowTitle(text: string): string {
  const [first = "", ...rest] = text.split("\n");
  return firstLine.test(first.trimEnd()) ? rest.join("\n").trim() : text;
}

/** The title of the fold at the end of a comment, which repeats the finding for a coding agent. */
export const agentPart = "Prompt for a coding agent";

/**
 * Our comment without its marker and without the fold for coding agents. The code in the fold cannot move its beginning, because it contains
 * no run of backticks as long as those of its fence.
 */
export function withoutMachineParts(body: string): string {
  const said = body
    .trimEnd()
    .replace(/(?:^|\n)<!-- hunkwise:[^\n]*$/, "")
    .trimEnd();
  const marks = /\n(`{3,})\r?\n\r?\n<\/details>$/.exec(said)?.[1];
  if (marks === undefined) return said;
  const before = said.slice(0, Math.max(0, said.lastIndexOf(`\n${marks}text`))).trimEnd();
  const summary = foldLine(agentPart);
  return before.endsWith(summary) ? before.slice(0, -summary.length).trimEnd() : said;
}

/** The text of our comment on a finding, without its marker and the parts that do not describe it. */
export function commentText(body: string): string {
  // Rendering adds this character after `@` and `#`; it is not part of the text.
  return ownWords(withoutMachineParts(body)).replaceAll("\u200b", "").trim();
}

/**
 * Identifies code anywhere: 12 characters of base64url. White space does not count, so re-indenting and wrapping do not change the hash.
 */
export function codeHash(code: string): string {
  return createHash("sha256").update(code.replace(/\s+/g, "")).digest("base64url").slice(0, 12);
}
