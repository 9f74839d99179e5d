import { type Finding, holdsSecret, isCertain } from "../finding.ts";
import type { DroppedFinding, ReviewResult } from "../review/review-result.ts";
import { cutBytes } from "../text/cut.ts";
import { plural, thousands } from "./outcome.ts";

/*
 * The words for the verification of findings in all reports. Notes are a model's text: callers must escape them.
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

/**
 * The note next to the evidence: when it goes wrong, or why it could not be checked. An uncertain finding has its note next to the claim.
 */
export function noteBesideEvidence(finding: Finding): string | null {
  const note = noteOf(finding);
  if (note === null || finding.verification === "uncertain") return null;
  return finding.verification === "confirmed" ? `Fails when: ${note}` : note;
}

const verdicts: Record<Finding["verification"], string> = {
  confirmed: "A second, sceptical look confirmed it",
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
  const told = counts.filter(([count]) => count > 0).map(([count, what]) => `${thousands(count)} ${what}`);
  const checked = counts.reduce((sum, [count]) => sum + count, 0);
  // Without a note, no check was requested.
  const failed = having("unverified").filter(({ finding }) => finding.verification_note !== null).length;
  const parts = [
    checked > 0 ? `${were(checked)} checked again: ${told.join(", ")}` : "",
    failed > 0 ? `${were(failed)} not checked, because the second look failed` : "",
  ];
  return parts.filter((part) => part !== "").join("; ");
}

const were = (count: number) => `${plural(count, "finding")} ${count === 1 ? "was" : "were"}`;

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
