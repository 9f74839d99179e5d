import { type Finding, holdsSecret, isCertain, type Proof, type Revision } from "../core/finding.ts";
import { markTitles } from "../core/ledger/folds.ts";
import { count, thousands } from "../core/text/count.ts";
import { cutBytes } from "../core/text/cut.ts";
import type { DroppedFinding, ReviewResult } from "../tasks/shapes/review-result.ts";

/*
 * What a test says about a finding, for all reports. The values are text of a model and of programs: callers must escape them.
 */

export type Proved = Pick<Finding, "proof" | "source">;

export type RanProof = Extract<Proof, { test: unknown }>;

/** A test that shows a finding. */
interface Mark extends RanProof {
  kind: "regression" | "reproduced";
}

/** What a test says, as far as it may be shown. A test of a secret may repeat it, and no test makes a certain finding less certain. */
export function proofOf(finding: Proved): Proof | null {
  const { proof } = finding;
  if (proof === undefined || holdsSecret(finding)) return null;
  return isMark(proof) || !isCertain(finding) ? proof : null;
}

export function proofPart(finding: Proved): { proof?: Proof } {
  const proof = proofOf(finding);
  return proof === null ? {} : { proof };
}

const isMark = (proof: Proof): proof is Mark => proof.kind === "regression" || proof.kind === "reproduced";

/** The test that shows a finding; null if none does. */
export function markOf(finding: Proved): Mark | null {
  const proof = proofOf(finding);
  return proof !== null && isMark(proof) ? proof : null;
}

export function passingOf(finding: Proved): RanProof | null {
  const proof = proofOf(finding);
  return proof?.kind === "ran_right" ? proof : null;
}

/** What happens on both sides, each with its name and without a final full stop. */
export function markParts({ kind, before, now }: Mark): [name: string, what: string][] {
  const parts: [name: string, what: string][] = [
    [kind === "regression" ? "Before" : "With the suggestion", phrase(before)],
    ["Now", phrase(now)],
  ];
  return kind === "regression" ? parts : parts.toReversed();
}

/** The beginning of a line that reads like a mark, in a list or with some words emphasized. */
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

/** The same, or "A test that was written for this finding passes: it returns 0."; empty if there is neither. */
export function testSentence(finding: Proved): string {
  const passing = passingOf(finding);
  if (passing === null) return notShownSentence(finding);
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
  return `${thousands(shown)} of ${count(findings.length, "finding")} ${shown === 1 ? "is" : "are"} shown by a test`;
}

/*
 * The verification of findings, for all reports. Notes are a model's text: callers must escape them.
 */

/** The verification's note; null if there is none, and for a secret, which the note may repeat. */
export function noteOf(finding: Finding): string | null {
  const note = finding.verification_note?.trim() ?? "";
  return note === "" || holdsSecret(finding) ? null : note;
}

/** A caveat to show before the claim; null if it is verified. */
export function doubtOf({ verification }: Finding): string | null {
  if (verification === "not_judged") return "Matched by a rule, not judged by a model.";
  return verification === "uncertain"
    ? "Uncertain: a second look could neither confirm nor refute this."
    : null;
}

/** The same with the open question, on one line; empty unless the finding is uncertain. */
export function doubtSentence(finding: Finding): string {
  const doubt = doubtOf(finding);
  return doubt === null ? "" : `${doubt} ${(noteOf(finding) ?? "").replace(/\s+/g, " ")}`.trim();
}

/** The note next to the evidence: when it goes wrong, or why it could not be checked. An uncertain finding has it next to the claim. */
export function noteBesideEvidence(finding: Finding): string | null {
  const note = noteOf(finding);
  if (note === null || finding.verification === "uncertain") return null;
  return finding.verification === "confirmed" ? `Fails when: ${note}` : note;
}

const verdicts: Record<Finding["verification"], string> = {
  confirmed: "A second, skeptical look confirmed it",
  uncertain: "A second look could neither confirm nor refute it",
  unverified: "Not checked by a second look",
  not_judged: "Matched by a rule, not judged by a model",
};

/** Who found it and how sure that is, as plain text. */
export function originWords({ source, verification, confidence, category }: Finding): string {
  const sure = `${Math.round(confidence * 100)} % sure`;
  const rule = source === "model" ? "" : `Found by \`${cutBytes(source, 200)}\`. `;
  const checked = isCertain({ source }) ? CERTAIN : verdicts[verification];
  return `${rule}${checked}; ${sure}; category ${category}.`;
}

const CERTAIN = "Certain: published regardless of what a model says";

/** "5 findings were checked again: 3 confirmed, 2 refuted"; empty if none was. */
function checkedSentence({ findings, dropped }: ReviewResult): string {
  const having = (verification: Finding["verification"]) =>
    findings.filter(({ finding }) => finding.verification === verification);
  const left = (verdict: DroppedFinding["verdict"]) =>
    dropped.filter((one) => one.verdict === verdict).length;
  const refuted = left("refuted");
  const uncertain = having("uncertain").length + left("uncertain");
  const counts: [number, string][] = [
    [having("confirmed").length, "confirmed"],
    [refuted, "refuted"],
    [uncertain, "not settled"],
  ];
  const counted = counts.filter(([count]) => count > 0).map(([count, what]) => `${thousands(count)} ${what}`);
  const checked = counts.reduce((sum, [count]) => sum + count, 0);
  // Without a note, no check was requested.
  const failed = having("unverified").filter(({ finding }) => finding.verification_note !== null).length;
  const parts = [
    checked > 0 ? `${were(checked)} checked again: ${counted.join(", ")}` : "",
    failed > 0 ? `${were(failed)} not checked, because the second look failed` : "",
  ];
  return parts.filter((part) => part !== "").join("; ");
}

const were = (number: number) => `${count(number, "finding")} ${number === 1 ? "was" : "were"}`;

/** The requested effort and the second look's results, without a final full stop; empty offline. */
export function effortSentence(result: ReviewResult): string {
  if (result.mode === "offline") return "";
  const checked = checkedSentence(result);
  return `${result.effort}${checked === "" ? "" : `; ${checked}`}`;
}

const droppedWords: Record<DroppedFinding["verdict"], string> = {
  refuted: "Refuted",
  uncertain: "Uncertain and not severe",
  read_before: "Read earlier, and not critical",
  rejected: "Rejected",
};

/** Why a finding was suppressed: the verdict, and a model's reason. */
export function whyDropped({ verdict, reason }: DroppedFinding): string {
  return reason === "" ? droppedWords[verdict] : `${droppedWords[verdict]}: ${reason}`;
}
