import type { Finding } from "../finding.ts";
import type { AnswerResult } from "../review/answer/answer-input.ts";
import type { FixResult } from "../review/fix/fix-input.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { redactStrings, withoutSecrets } from "../secrets/redact.ts";
import type { FromChild, Outcome } from "./messages.ts";

/** What means something only as it is: places in the repository, fingerprints, object names, hashes of contents, names of rules. */
const kept = new Set([
  ...["path", "id", "finding", "hashes", "head_sha", "base_sha", "merge_base_sha", "source", "rule"],
  ...["model", "stop_reason", "mode", "kind", "severity", "category", "side", "verdict", "verification"],
]);

/**
 * What a review came to, without the secrets of this process and of others: a model wrote it, and it is rendered, logged and stored from
 * here on. Takes a moment for each text, and gives other work its turn.
 */
export async function redactReview(result: ReviewResult): Promise<ReviewResult> {
  const clean = await redactStrings(result, kept);
  const findings = clean.findings.map((placed, index) => {
    const written = result.findings[index]?.finding;
    return written ? { ...placed, finding: withoutHalves(placed.finding, written) } : placed;
  });
  return { ...clean, findings };
}

const noSuggestion = "A replacement for these lines was left out: there was a secret in it.";

/**
 * Code with a hole in it must not be committed by a click. Of lines that hold a secret nothing is quoted: a hash of them,
 * by which later reviews know them, would help to guess it.
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
  };
}

function wholeOrNothing(clean: string, written: string | undefined): string {
  return clean === written ? clean : "";
}

export async function redactAnswer(answer: AnswerResult): Promise<AnswerResult> {
  return redactStrings(answer, kept);
}

/** A file with a hole in it must not be committed: the edits stay as they are, and `refusalsOf` refuses one that adds a secret. */
async function redactFix({ edits, ...said }: FixResult): Promise<FixResult> {
  return { ...(await redactStrings(said, kept)), edits };
}

/** The outcome of a review process as the rest of this process may know it. */
export async function redactOutcome(outcome: Outcome): Promise<Outcome> {
  switch (outcome.type) {
    case "result":
      return { ...outcome, result: await redactReview(outcome.result) };
    case "answer":
      return { ...outcome, answer: await redactAnswer(outcome.answer) };
    case "fix":
      return { ...outcome, fix: await redactFix(outcome.fix) };
  }
}

type Failure = Extract<FromChild, { type: "failed" }>["error"];

/** Why a review process failed, for people and logs. */
export function redactFailure(failure: Failure): Failure {
  const { message, remedy } = failure;
  return {
    ...failure,
    message: withoutSecrets(message),
    remedy: remedy === null ? null : withoutSecrets(remedy),
  };
}
