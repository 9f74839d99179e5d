import { createHash } from "node:crypto";
import { z } from "zod";
import { Category, Severity, Side, toolOf } from "../finding.ts";
import { foldLine, ownWords } from "./folds.ts";
import { withoutMarker } from "./marker.ts";
import type { CarriedFinding, LedgerState } from "./state.ts";

export interface OwnText {
  id: number;
  body: string;
  /** A person reacted to it or answered it. Absent if not known. */
  touched?: boolean;
}

/**
 * The state of a posted finding; SECURITY.md says who decides. fixed: the code shows it. dismissed: a person with write access leaves the code
 * as it is. outdated: its code has changed, and it is not known whether that fixed it. open and outdated hold the check run.
 */
const EntryState = z.enum(["open", "fixed", "dismissed", "outdated"]);

export const Dismissal = z.strictObject({
  how: z.enum(["reaction", "reply", "resolved", "command", "page", "deleted"]),
  /** Login; null if GitHub does not say. */
  by: z.string().nullable(),
  /** ISO 8601; null if GitHub does not say. */
  at: z.string().nullable(),
  /** Why, in the person's words; only if it was done on a page. */
  reason: z.string().optional(),
});
export type Dismissal = z.infer<typeof Dismissal>;

/** A finding that we posted as a comment, as GitHub shows it now. The review process gets it as it is. */
export const PostedFinding = z.strictObject({
  /** Id of the comment; null if it was deleted, and for a finding that never had one. */
  comment: z.int().nullable(),
  id: z.string(),
  path: z.string(),
  side: Side,
  /** The line as GitHub shows it now; null for a comment on a file, and if it is outdated. */
  line: z.int().nullable(),
  start_line: z.int().nullable(),
  /** The line when the comment was made; null for a comment on a file. */
  original_line: z.int().nullable(),
  severity: Severity,
  category: Category.nullable(),
  symbol: z.string().nullable(),
  /** `codeHash` of its code. */
  code: z.string().nullable(),
  source: z.string().nullable(),
  rule: z.string().optional(),
  files: z.array(z.string()),
  title: z.string(),
  text: z.string(),
  state: EntryState,
  dismissal: Dismissal.nullable(),
  /** A person with write access wrote in its thread or resolved it: we answer there, and do not resolve. */
  is_theirs: z.boolean(),
  /** Id of the newest comment in its thread; 0 without one. */
  newest_reply: z.int(),
  /** Node id of its thread; null if GitHub does not show threads. */
  thread: z.string().nullable(),
  resolved: z.boolean(),
  /** Reactions on its comment; null if GitHub does not show its thread. */
  thumbs: z.strictObject({ up: z.int(), down: z.int() }).nullable(),
  url: z.string(),
  /** When its comment was published, ISO 8601; null without one. */
  created_at: z.string().nullable(),
  /** What people answered, oldest first. */
  replies: z.array(z.string()),
});
export type PostedFinding = z.infer<typeof PostedFinding>;

/** What a finding without a comment has instead of what GitHub shows of one. */
export const withoutComment = {
  comment: null,
  dismissal: null,
  is_theirs: true,
  newest_reply: 0,
  thread: null,
  resolved: false,
  thumbs: null,
  url: "",
  created_at: null,
  files: [],
  replies: [],
} satisfies Partial<PostedFinding>;

export interface Ledger {
  state: LedgerState;
  /** The sticky summary; null if there is none. */
  sticky: OwnText | null;
  entries: readonly PostedFinding[];
  /** Why the state of threads is not known; null if it is known. */
  notice: string | null;
}

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

/** Our comment without its marker and the fold for coding agents, whose code contains no run of backticks as long as those of its fence. */
export function withoutMachineParts(body: string): string {
  const said = withoutMarker(body);
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

/** Identifies code anywhere: 12 characters of base64url. White space does not count. */
export function codeHash(code: string): string {
  return createHash("sha256").update(code.replace(/\s+/g, "")).digest("base64url").slice(0, 12);
}
