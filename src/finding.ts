import { z } from "zod";

/** From worst to mildest; the order is the order of publication. */
export const severities = ["critical", "high", "medium", "low"] as const;
export const Severity = z.enum(severities);
export type Severity = z.infer<typeof Severity>;

export const Category = z.enum([
  "security",
  "correctness",
  "concurrency",
  "error-handling",
  "performance",
  "resource",
  "api",
  "data",
  "test",
  "maintainability",
  "docs",
]);
export type Category = z.infer<typeof Category>;

/** RIGHT is the head's version of a file, LEFT the merge base's: removed lines live on LEFT only. */
export const Side = z.enum(["RIGHT", "LEFT"]);
export type Side = z.infer<typeof Side>;

/** A place that was looked at to establish a finding; lines are 1-indexed and inclusive. */
export const Evidence = z.strictObject({
  path: z.string(),
  start_line: z.int().min(1),
  end_line: z.int().min(1),
  note: z.string(),
});
export type Evidence = z.infer<typeof Evidence>;

/** Lines of a file that are meant by their text; the line numbers are real. */
export const Place = z.strictObject({
  path: z.string(),
  side: Side,
  line: z.int().min(1),
  /** First line of a range that ends at `line`; null for a single line. */
  start_line: z.int().min(1).nullable(),
  quote: z.string(),
});
export type Place = z.infer<typeof Place>;

/**
 * One problem in the change, anchored: `line` (and `start_line` of a range) are real lines of `path` on `side` whose
 * text is `quote`. Names are snake_case because the shape leaves the process as it is (tools, JSON output).
 */
export const Finding = z.strictObject({
  /** Fingerprint: stable for the same problem in the same code, whatever its line number. */
  id: z.string(),
  path: z.string(),
  side: Side,
  line: z.int().min(1),
  /** First line of a range that ends at `line`; null for a single line. Always smaller than `line`. */
  start_line: z.int().min(1).nullable(),
  quote: z.string(),
  /** Name of the definition that the lines stand in, with what it is a member of: "Cart.total"; null outside of any. */
  symbol: z.string().nullable(),
  severity: Severity,
  category: Category,
  title: z.string(),
  body: z.string(),
  /** Replacement for exactly the lines from `start_line` (or `line`) to `line`. */
  suggestion: z.string().nullable(),
  confidence: z.number().min(0).max(1),
  evidence: z.array(Evidence),
  /** "model", or the analyzer and rule that found it: "ast-grep/py-mutable-default". */
  source: z.string(),
  /** `not_judged`: a rule matched, and the model that was to judge it never did. */
  verification: z.enum(["unverified", "confirmed", "uncertain", "not_judged"]),
  /** What the second look says: the input on which it goes wrong, what stayed open, or why nobody looked. */
  verification_note: z.string().nullable(),
  /** Where else the change has the same problem. */
  places: z.array(Place),
});
export type Finding = z.infer<typeof Finding>;

/** Orders the worst severity first, for `toSorted`. */
export function worstFirst(one: Pick<Finding, "severity">, other: Pick<Finding, "severity">): number {
  return severities.indexOf(one.severity) - severities.indexOf(other.severity);
}

/** Orders findings as every report lists them: the worst first, then by path and line. */
export function inReportOrder(one: Finding, other: Finding): number {
  const byPath = one.path < other.path ? -1 : Number(one.path > other.path);
  return worstFirst(one, other) || byPath || one.line - other.line;
}

/** True when `severity` is as bad as `threshold` or worse. */
export function atLeast(severity: Severity, threshold: Severity): boolean {
  return severities.indexOf(severity) <= severities.indexOf(threshold);
}

/** Whether the anchored code holds a secret: then no report shows that code, and the finding itself quotes nothing. */
export function holdsSecret({ source }: Pick<Finding, "source">): boolean {
  return source.startsWith("secrets/");
}

/** Analyzers whose findings are certain: a program knows these things better than any model. */
const certainAnalyzers = [
  "secrets",
  "merge-markers",
  "hidden-characters",
  "hiding-attributes",
  "moved-into-effect",
  "broken-data",
] as const;

/**
 * Whether a finding is certain. It is published whatever a model says, because a pull request can talk a model into anything: no
 * model drops it, joins it to another one, lowers its severity or calls it fixed. Only people dismiss it or switch its rule off.
 *
 * @param source null for a comment of an older version, which does not tell what found it
 */
export function isCertain({ source }: { source: string | null }): boolean {
  return source !== null && certainAnalyzers.some((analyzer) => source.startsWith(`${analyzer}/`));
}

/** Whether no model has a say in a finding: it is certain, or the model that was to judge it never did. */
export function isUndisputed({ source, verification }: Pick<Finding, "source" | "verification">): boolean {
  return isCertain({ source }) || verification === "not_judged";
}
