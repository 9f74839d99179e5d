import { type Finding, holdsSecret, isCertain, type Proof, type Revision } from "../finding.ts";
import { markTitles } from "../ledger/folds.ts";
import { plural, thousands } from "./outcome.ts";

/*
 * The words for what a test says about a finding, in all reports. The values are text of a model and of programs that ran: callers must
 * escape them.
 */

/** What decides about what is said of a test. */
export type Proved = Pick<Finding, "proof" | "source">;

/** A test that ran, and what it says. */
export type RanProof = Extract<Proof, { test: unknown }>;

/** A test that shows a finding. */
export interface Mark extends RanProof {
  kind: "regression" | "reproduced";
}

/** What a test says, as far as it may be shown. A test of a secret may repeat it, and no test makes a certain finding less certain. */
export function proofOf(finding: Proved): Proof | null {
  const { proof } = finding;
  if (proof === undefined || holdsSecret(finding)) return null;
  return isMark(proof) || !isCertain(finding) ? proof : null;
}

const isMark = (proof: Proof): proof is Mark => proof.kind === "regression" || proof.kind === "reproduced";

/** The test that shows a finding; null if none does. */
export function markOf(finding: Proved): Mark | null {
  const proof = proofOf(finding);
  return proof !== null && isMark(proof) ? proof : null;
}

/** A test for a finding that passes; null if there is none. */
export function passingOf(finding: Proved): RanProof | null {
  const proof = proofOf(finding);
  return proof?.kind === "ran_right" ? proof : null;
}

/** What happens on both sides, each with its name and without a final full stop. */
export function markParts({ kind, before, now }: Mark): [name: string, what: string][] {
  const [was, is] = [phrase(before), phrase(now)];
  return kind === "regression"
    ? [
        ["Before", was],
        ["Now", is],
      ]
    : [
        ["Now", is],
        ["With the suggestion", was],
      ];
}

/** The beginning of a line that reads like a mark, in a list or with some words emphasised. */
const likeMark =
  /^[^\p{L}\n]*(?=(?:regression[^\p{L}\n]+shown|reproduced)[^\p{L}\n]+by[^\p{L}\n]+a[^\p{L}\n]+test)/gimu;

/** The text of a finding. A pull request can talk a model into anything, but only runs of a test make a mark: one that a model writes says so. */
export const bodyOf = ({ body }: Pick<Finding, "body">): string => body.replace(likeMark, "The model says: ");

/** Text of others as a part of a sentence of ours. */
export const phrase = (text: string): string => text.replace(/\s+/g, " ").trim().replace(/\.$/, "");

/** "Regression shown by a test. Before: 0. Now: it throws."; empty without a mark. */
export function markSentence(finding: Proved): string {
  const mark = markOf(finding);
  if (mark === null) return "";
  return [markTitles[mark.kind], ...markParts(mark).map(([name, what]) => `${name}: ${what}.`)].join(" ");
}

/** "Not shown by a test: it passes at the head."; empty if no test was tried. It says nothing against the finding. */
export function notShownSentence(finding: Proved): string {
  const proof = proofOf(finding);
  return proof?.kind === "not_shown" ? `Not shown by a test: ${phrase(proof.reason)}.` : "";
}

/** "A test that was written for this finding passes: it returns 0."; empty if none does. */
export function passingSentence(finding: Proved): string {
  const passing = passingOf(finding);
  if (passing === null) return "";
  const now = phrase(passing.now);
  return `A test that was written for this finding passes${now === "" ? "" : `: ${now}`}.`;
}

/** The files on which a test ran. */
export const revisionNames: Readonly<Record<Revision, string>> = {
  base: "Before the change",
  head: "With the change",
  repaired: "With the change and the suggestion",
};

/** "2 of 5 findings are shown by a test", without a final full stop; empty if none is. */
export function shownCount(findings: readonly Proved[]): string {
  const shown = findings.filter((finding) => markOf(finding) !== null).length;
  if (shown === 0) return "";
  return `${thousands(shown)} of ${plural(findings.length, "finding")} ${shown === 1 ? "is" : "are"} shown by a test`;
}
