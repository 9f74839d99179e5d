import type { Finding, Proof } from "../finding.ts";
import type { AnswerResult } from "../review/answer/answer-input.ts";
import type { FixResult } from "../review/fix/fix-input.ts";
import type { ProveResult } from "../review/prove/prove-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { redactStrings, withoutSecrets } from "../secrets/redact.ts";
import type { ChildResult, FromChild } from "./messages.ts";

/** Fields that stay as they are: paths, fingerprints, object names, content hashes, names of rules. */
const kept = new Set([
  ...["path", "id", "finding", "hashes", "head_sha", "base_sha", "merge_base_sha", "source", "rule"],
  ...["model", "stop_reason", "mode", "kind", "severity", "category", "side", "verdict", "verification"],
]);

/** A review's result without secrets, neither those of this process nor others: a model wrote it, and from here it is rendered, logged and stored. */
export async function redactReview(result: ReviewResult): Promise<ReviewResult> {
  const clean = await redactStrings(result, kept);
  const findings = clean.findings.map((placed, index) => {
    const written = result.findings[index]?.finding;
    return written ? { ...placed, finding: withoutHalves(placed.finding, written) } : placed;
  });
  return { ...clean, findings };
}

const noSuggestion = "The suggestion for these lines was removed because it contained a secret.";

/**
 * A redacted suggestion must not be committed by a click, so it is removed. A redacted quote is removed too: the hash by which later reviews
 * recognise the line would help to guess the secret.
 */
function withoutHalves(clean: Finding, written: Finding): Finding {
  const isCut = clean.suggestion !== written.suggestion;
  return {
    ...clean,
    quote: wholeOrNothing(clean.quote, written.quote),
    suggestion: isCut ? null : clean.suggestion,
    body: isCut ? `${clean.body}\n\n${noSuggestion}` : clean.body,
    places: clean.places.map((place, index) => ({
      ...place,
      quote: wholeOrNothing(place.quote, written.places[index]?.quote),
    })),
    ...(clean.proof && { proof: wholeProof(clean.proof, written.proof) }),
  };
}

/** A redacted test is another one than the one that ran, and may be committed as it is shown: so it shows nothing. */
function wholeProof(clean: Proof, written: Proof | undefined): Proof {
  if (clean.kind === "not_shown" || written === undefined || written.kind === "not_shown") return clean;
  const isWhole = clean.test.text === written.test.text && clean.command === written.command;
  return isWhole ? clean : { kind: "not_shown", reason: "the test contained a secret" };
}

async function redactProve(prove: ProveResult): Promise<ProveResult> {
  const clean = await redactStrings(prove, kept);
  const proofs = clean.proofs.map((one, index) => ({
    ...one,
    proof: wholeProof(one.proof, prove.proofs[index]?.proof),
  }));
  return { ...clean, proofs };
}

function wholeOrNothing(clean: string, written: string | undefined): string {
  return clean === written ? clean : "";
}

export async function redactAnswer(answer: AnswerResult): Promise<AnswerResult> {
  return redactStrings(answer, kept);
}

/** The edits stay as they are, because a redacted file must not be committed; `refusalsOf` rejects an edit that adds a secret. */
async function redactFix({ edits, ...said }: FixResult): Promise<FixResult> {
  return { ...(await redactStrings(said, kept)), edits };
}

/** The result of a review process without secrets. */
export async function redactResult(result: ChildResult): Promise<ChildResult> {
  switch (result.type) {
    case "result":
      return { ...result, result: await redactReview(result.result) };
    case "answer":
      return { ...result, answer: await redactAnswer(result.answer) };
    case "fix":
      return { ...result, fix: await redactFix(result.fix) };
    case "prove":
      return { ...result, prove: await redactProve(result.prove) };
  }
}

type Failure = Extract<FromChild, { type: "failed" }>["error"];

/** The error of a review process without secrets, for people and logs. */
export function redactFailure(failure: Failure): Failure {
  const { message, remedy } = failure;
  return {
    ...failure,
    message: withoutSecrets(message),
    remedy: remedy === null ? null : withoutSecrets(remedy),
  };
}
