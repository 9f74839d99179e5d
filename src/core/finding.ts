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

/** RIGHT is the head's version of a file, LEFT the merge base's: removed lines are only on LEFT. */
export const Side = z.enum(["RIGHT", "LEFT"]);
export type Side = z.infer<typeof Side>;

/** A place that was read to establish a finding; lines are 1-indexed and inclusive. */
export const Evidence = z.strictObject({
  path: z.string(),
  start_line: z.int().min(1),
  end_line: z.int().min(1),
  note: z.string(),
});
export type Evidence = z.infer<typeof Evidence>;

/** Lines of a file, identified by their text; the line numbers are real. */
export const CodeLocation = z.strictObject({
  path: z.string(),
  side: Side,
  line: z.int().min(1),
  start_line: z.int().min(1).nullable(),
  quote: z.string(),
});
export type CodeLocation = z.infer<typeof CodeLocation>;

/** A test file that a model wrote for one finding. */
export const ProofTest = z.strictObject({
  /** A new file of the repository, as a key of its tree. */
  path: z.string().min(1).max(300),
  text: z.string().min(1).max(20_000),
});
export type ProofTest = z.infer<typeof ProofTest>;

/** Files of the merge base, of the head, or of the head with the finding's suggestion in place of its lines. */
export const Revision = z.enum(["base", "head", "repaired"]);
export type Revision = z.infer<typeof Revision>;

export const ProofRun = z.strictObject({
  on: Revision,
  exit_code: z.int(),
  /** What it printed, cut. Untrusted text. */
  output: z.string(),
});
export type ProofRun = z.infer<typeof ProofRun>;

/**
 * What running a test says about a finding. `regression`: it passes at the merge base and fails at the head. `reproduced`: it fails at the
 * head and passes with the suggestion. `ran_right`: the claimed input does the right thing at the head. `not_shown` says nothing against the
 * finding. Only code decides which (`tasks/prove/proof/judge.ts`).
 */
export const Proof = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.enum(["regression", "reproduced", "ran_right"]),
    test: ProofTest,
    command: z.string(),
    /** What happens before the change (for `reproduced`: with the suggestion). Empty for `ran_right`. Untrusted text, one line. */
    before: z.string(),
    /** What happens at the head. May be empty for `ran_right`. Untrusted text, one line. */
    now: z.string(),
    /** One run for each revision. */
    runs: z.array(ProofRun).min(1),
  }),
  z.strictObject({
    kind: z.literal("not_shown"),
    /** For people, as the end of a sentence: "Not shown: ...". */
    reason: z.string(),
  }),
]);
export type Proof = z.infer<typeof Proof>;

/** One problem in the change: `line` and `start_line` are lines of `path` on `side` with the text `quote`. snake_case, as it leaves the process. */
export const Finding = z.strictObject({
  /** Fingerprint: stable for the same problem in the same code, regardless of its line number. */
  id: z.string(),
  path: z.string(),
  side: Side,
  line: z.int().min(1),
  /** First line of a range that ends at `line`; null for a single line. Always smaller than `line`. */
  start_line: z.int().min(1).nullable(),
  quote: z.string(),
  /** Name of the definition that contains the lines, with its parent: "Cart.total"; null outside of any. */
  symbol: z.string().nullable(),
  severity: Severity,
  category: Category,
  title: z.string(),
  body: z.string(),
  /** Replacement for exactly the lines from `start_line` (or `line`) to `line`, joined by line feeds. Empty: they are deleted. */
  suggestion: z.string().nullable(),
  confidence: z.number().min(0).max(1),
  /** False if nothing in the repository reaches the fault yet: its severity is then low. Findings of older versions are reached. */
  reached: z.boolean().default(true),
  evidence: z.array(Evidence),
  /** "model", or the analyzer and rule that found it: "ast-grep/py-mutable-default". */
  source: z.string(),
  /** The named rule of the configuration that it breaks; omitted if it is about none. */
  rule: z.string().optional(),
  /** `not_judged`: a rule matched, and the model that should judge it never did. */
  verification: z.enum(["unverified", "confirmed", "uncertain", "not_judged"]),
  /** Result of the second look: the input on which the code goes wrong, what stayed open, or why there was no second look. */
  verification_note: z.string().nullable(),
  /** Other places in the change with the same problem. */
  places: z.array(CodeLocation),
  proof: Proof.optional(),
});
export type Finding = z.infer<typeof Finding>;

export function worstFirst(one: Pick<Finding, "severity">, other: Pick<Finding, "severity">): number {
  return severities.indexOf(one.severity) - severities.indexOf(other.severity);
}

/** The order of every report: worst first, then by path and line. */
export function bySeverity<T extends { finding: Pick<Finding, "severity" | "path" | "line"> }>(
  findings: readonly T[],
): T[] {
  return findings.toSorted(
    ({ finding: a }, { finding: b }) =>
      worstFirst(a, b) || (a.path < b.path ? -1 : Number(a.path > b.path)) || a.line - b.line,
  );
}

/** True when `severity` is as bad as `threshold` or worse. */
export function atLeast(severity: Severity, threshold: Severity): boolean {
  return severities.indexOf(severity) <= severities.indexOf(threshold);
}

/** Whether it is about a secret that has the form of its issuer. */
export const isIssuedSecret = ({ source }: Pick<Finding, "source">): boolean => source.startsWith("secrets/");

/** Whether a person must dismiss it before a check passes, whatever the threshold: a secret, or an entry of a lock file, which no model sees. */
export const waitsForPerson = ({ source }: Pick<Finding, "source">): boolean =>
  isIssuedSecret({ source }) || source.startsWith("lock-files/");

/** Whether the anchored code contains a secret: then no report shows that code, and the finding itself quotes nothing. */
export const holdsSecret = (finding: Pick<Finding, "source">): boolean =>
  isIssuedSecret(finding) || finding.source.startsWith("secret-values/");

/** Analyzers whose findings are certain: for these, a program is more reliable than any model. */
const certainAnalyzers = [
  "secrets",
  "lock-files",
  "merge-markers",
  "hidden-characters",
  "hiding-attributes",
  "broken-data",
  "broken-code",
] as const;

/**
 * Whether a finding is certain: published whatever a model says, because a pull request can talk a model into anything. No model drops it,
 * joins it to another one, lowers its severity or calls it fixed. Only people dismiss it or switch its rule off.
 * @param source null for a comment of an older version, which does not name its source
 */
export function isCertain({ source }: { source: string | null }): boolean {
  return source !== null && certainAnalyzers.some((analyzer) => source.startsWith(`${analyzer}/`));
}

/** The rule of a finding for people and programs: a named rule, or the analyzer and its rule; null if a model found it on its own. */
export const ruleNameOf = ({ source, rule }: { source: string | null; rule?: string | undefined }) =>
  rule ?? (source === "model" ? null : source);
/** Prefix of the source of findings of a repository's own rules; no id of a rule contains a slash. */
export const OWN_RULE = "own-rules/";

export const isOfOwnRule = ({ source }: Pick<Finding, "source">): boolean => source.startsWith(OWN_RULE);

/** Prefix of the source of findings of other tools, which no analyzer of ours has: they are never certain, whatever they call themselves. */
export const OTHER_TOOL = "tool:";

/** The tool of a finding's source; null for one of ours, and for a comment of an older version. */
export const toolOf = (source: string | null): string | null =>
  source?.startsWith(OTHER_TOOL) ? source.slice(OTHER_TOOL.length).replace(/\/.*$/s, "") : null;

/** Whether no model decides on a finding: it is certain, or the model that should judge it never did. */
export function isUndisputed({ source, verification }: Pick<Finding, "source" | "verification">): boolean {
  return isCertain({ source }) || verification === "not_judged";
}

/** A redacted test is another one than the one that ran, and may be committed as it is shown: so it shows nothing. */
export function wholeProof(clean: Proof, written: Proof | undefined): Proof {
  if (clean.kind === "not_shown" || written === undefined || written.kind === "not_shown") return clean;
  const isWhole = clean.test.text === written.test.text && clean.command === written.command;
  return isWhole ? clean : { kind: "not_shown", reason: "the test contained a secret" };
}
