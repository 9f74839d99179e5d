import { z } from "zod";
import { Category, Severity } from "../finding.ts";
import { parseJson } from "../text/json.ts";
import { emptyState, markerData, StoredState, storedState } from "./state.ts";

const Review = z.strictObject({ head: z.string(), trigger: z.string() });
const FindingMark = z.strictObject({
  id: z.string(),
  severity: Severity,
  category: Category.nullable(),
  symbol: z.string().nullable(),
  /** Hash of its code without white space. */
  code: z.string().nullable(),
  files: z.array(z.string()),
  head: z.string(),
  trigger: z.string(),
  source: z.string().nullable(),
  rule: z.string().optional(),
});
const Dismissed = z.strictObject({
  comment: z.int(),
  by: z.string(),
  /** Why; only given, and always, if it was done on a page. */
  reason: z.string().optional(),
});
const Check = z.strictObject({
  pull: z.int(),
  base: z.string(),
  /** Null while the review runs. */
  own: z
    .strictObject({
      conclusion: z.enum(["success", "neutral", "failure", "skipped", "cancelled"]),
      title: z.string(),
    })
    .nullable(),
  /** Counts the conclusions on a commit: the higher one is the newer one. 0 while the review runs. */
  turn: z.int(),
});
export type CheckMark = z.infer<typeof Check>;

/** Each kind's version and data. */
const kinds = {
  /** A review for one head and trigger. */
  review: [1, Review],
  /** A comment on a line or file, and the review that it came with. */
  finding: [3, FindingMark],
  /**
   * The summary comment of a pull request: its review, and the state for the next one. An unreadable state is worked out again; the comment
   * still counts as the summary, whatever version wrote it.
   */
  summary: [3, z.object({ ...Review.shape, state: StoredState.catch(emptyState) })],
  /** Our reply that a finding is fixed; `comment` opens the thread. */
  fixed: [1, z.strictObject({ comment: z.int(), head: z.string() })],
  /** Our reply, in a finding's thread or to a command, that it is dismissed, and by whom. */
  dismissed: [1, Dismissed],
  /** Our word about what a person did on a page: each act gets at most one. */
  acted: [1, z.strictObject({ id: z.string() })],
  /** Our answer to a comment: each comment gets at most one. */
  answer: [1, z.strictObject({ comment: z.int() })],
  /** A check run: its pull request, and the conclusion of that pull request's own review. */
  check: [2, Check],
  /** A repair that a comment asked for, as suggestions: their review is part 0, each suggestion a part of its own. */
  suggested: [1, z.strictObject({ comment: z.int(), part: z.int() })],
} as const;

/** GitHub is the ledger: a hidden marker in the last line identifies each of our texts. Only that line of texts that GitHub says are ours counts. */
export type Marker = {
  [Kind in keyof typeof kinds]: { kind: Kind } & z.infer<(typeof kinds)[Kind][1]>;
}[keyof typeof kinds];

const isKind = (kind: string): kind is Marker["kind"] => Object.hasOwn(kinds, kind);

const markerLine = /^<!-- hunkwise:([a-z]{1,20}) v([1-9]\d{0,3}) (\{[^<>]*\}) -->$/;

/** The marker as an HTML comment. Its data cannot contain `--`, an angle bracket or `@`. */
export function formatMarker(marker: Marker): string {
  const { kind, ...data } = marker;
  const stored = marker.kind === "summary" ? { ...data, state: storedState(marker.state) } : data;
  return `<!-- hunkwise:${kind} v${kinds[kind][0]} ${markerData(stored)} -->`;
}

/** The marker on the last line of our text; undefined if there is none or this version does not know it. */
export function parseMarker(text: string): Marker | undefined {
  const body = text.trimEnd();
  const [, kind = "", version, json = ""] = markerLine.exec(body.slice(body.lastIndexOf("\n") + 1)) ?? [];
  if (!isKind(kind)) return undefined;
  const [known, shape] = kinds[kind];
  const isKnown = Number(version) === known;
  if (!isKnown && kind !== "summary") return undefined;
  const { data } = shape.safeParse(parseJson(json));
  if (!data) return undefined;
  const marker = { kind, ...data } as Marker;
  return isKnown ? marker : ({ ...marker, state: emptyState } as Marker);
}

/** Our text without the marker on its last line, which is not for readers. */
export const withoutMarker = (text: string): string =>
  text
    .trimEnd()
    .replace(/(?:^|\n)<!-- hunkwise:[^\n]*$/, "")
    .trimEnd();

export function markerIn<Kind extends Marker["kind"]>(
  text: string,
  kind: Kind,
): Extract<Marker, { kind: Kind }> | undefined {
  const marker = parseMarker(text);
  const isMeant = (one: Marker): one is Extract<Marker, { kind: Kind }> => one.kind === kind;
  return marker && isMeant(marker) ? marker : undefined;
}

/** Escapes anything that looks like the beginning of a marker. */
export function stripMarkers(text: string): string {
  return text.replace(/<!--(?=\s*hunkwise:)/gi, "&lt;!--");
}
