import { z } from "zod";
import type { Models } from "../../agent/llm/model.ts";
import type { Finding } from "../../core/finding.ts";
import { wholeProof } from "../../core/finding.ts";
import { defineTask } from "../define-task.ts";
import { ReviewInput } from "../shapes/review-input.ts";
import { ReviewResult, unplacedLines } from "../shapes/review-result.ts";

export const reviewTask = defineTask({
  name: "review",
  input: ReviewInput,
  result: ReviewResult,
  unquoted: withoutQuotes,
  /** A model wrote it, and from the parent on it is rendered, logged and stored. */
  async redact(result, clean) {
    const cleaned = await clean(result);
    const findings = cleaned.findings.map((placed, index) => {
      const written = result.findings[index]?.finding;
      return written ? { ...placed, finding: withoutHalves(placed.finding, written) } : placed;
    });
    return { ...cleaned, findings };
  },
  priced,
  /** Its input names nobody's words. */
  asked: z.never(),
  summary(result, urlOf) {
    const { summary, dropped, coverage, stop_reason, usage, warnings, ledger } = result;
    return {
      findings: result.findings.map((one) => ({ ...one, url: urlOf(one.finding.id) })),
      resolutions: ledger?.resolutions ?? [],
      summary,
      dropped,
      coverage,
      stop_reason,
      usage,
      warnings: [...unplacedLines(result), ...warnings],
    };
  },
});

/** A finding on a line with a secret loses its quote: the quote contains the secret again, which was needed to find its line. */
function withoutQuotes(result: ReviewResult, holdsSecret: (text: string) => boolean): ReviewResult {
  const open = (quote: string) => (holdsSecret(quote) ? "" : quote);
  const findings = result.findings.map(({ finding, placement }) => ({
    finding: {
      ...finding,
      quote: open(finding.quote),
      places: finding.places.map((place) => ({ ...place, quote: open(place.quote) })),
    },
    placement,
  }));
  return { ...result, findings };
}

const noSuggestion = "The suggestion for these lines was removed because it contained a secret.";

/**
 * A redacted suggestion must not be committed by a click, so it is removed. A redacted quote is removed too: the hash by which later reviews
 * recognize the line would help to guess the secret.
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

function wholeOrNothing(clean: string, written: string | undefined): string {
  return clean === written ? clean : "";
}

/** Assumes no cached tokens, because their number cannot be predicted. */
function priced(result: ReviewResult, models: Models | null): ReviewResult {
  const { predicted } = result;
  if (!predicted || !models) return result;
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = predicted;
  const cost = models.review.costOf?.({ promptTokens, completionTokens, cachedTokens: 0 }) ?? null;
  return { ...result, predicted: { ...predicted, cost_usd: cost } };
}
