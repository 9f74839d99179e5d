import type { RunEntry } from "../agent/trajectory.ts";
import type { Finding } from "../finding.ts";
import type { Masks } from "../secrets/masks.ts";
import { withStrings } from "../text/json.ts";
import type { JournalPort } from "../tools/tool.ts";
import type { Outcome } from "./messages.ts";

/**
 * What a model wrote, for people: they know no masks. A finding on a line that holds a value quotes nothing: the quote was given its
 * values back to find its line.
 */
export function forPeople(outcome: Outcome, masks: Masks): Outcome {
  if (outcome.type !== "result") return withoutMasks(outcome, masks);
  const { result } = outcome;
  const findings = result.findings.map((placed) => ({ ...placed, finding: unquoted(placed.finding, masks) }));
  return withoutMasks({ ...outcome, result: { ...result, findings } }, masks);
}

function unquoted(finding: Finding, masks: Masks): Finding {
  const open = (quote: string) => (masks.holdsSecret(quote) ? "" : quote);
  return {
    ...finding,
    quote: open(finding.quote),
    places: finding.places.map((place) => ({ ...place, quote: open(place.quote) })),
  };
}

/** An outcome, or what a part of a review found, without masks; what a model was told and answered stays on record as it was. */
export function withoutMasks<Value extends Outcome | RunEntry>(value: Value, masks: Masks): Value {
  if ("kind" in value && value.kind !== "unit") return value;
  return withStrings(value, (text) => masks.forPeople(text)) as Value;
}

/** Notes of a model are for people too. */
export const journalForPeople = ({ log }: JournalPort, masks: Masks): JournalPort => ({
  log: (page, content) => log(masks.forPeople(page), masks.forPeople(content)),
});
