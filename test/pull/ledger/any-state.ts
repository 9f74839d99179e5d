import fc from "fast-check";
import type { LedgerState } from "../../../src/core/ledger/state.ts";
import { sampleFinding } from "../../report/sample-result.ts";

const text = fc.string({ unit: "binary", maxLength: 60 });
const hash = fc.stringMatching(/^[A-Za-z0-9_-]{15}$/);

const number = fc.integer({ min: 1, max: 999 });

const carried = fc.record(
  {
    finding: fc
      .record({ title: text, body: text, quote: text })
      .map((parts) => sampleFinding({ suggestion: null, evidence: [], ...parts })),
    standing: fc.constantFrom(
      "listed" as const,
      "annotated" as const,
      "unpublished" as const,
      "dismissed" as const,
    ),
    reason: text,
    ...{ number, by: text },
  },
  { requiredKeys: ["finding", "standing", "reason"] },
);

/** Whatever a summary may have to remember. */
export const anyState: fc.Arbitrary<LedgerState> = fc.record({
  reviewed: fc.option(
    fc.record({ unit: fc.constantFrom("change" as const, "file" as const), hashes: fc.array(hash) }),
  ),
  posted: fc.array(text),
  carried: fc.array(carried, { maxLength: 4 }),
  decided: fc.array(
    fc.record({
      ...{ comment: fc.nat(), by: text, after: fc.nat() },
      how: fc.constantFrom("reaction" as const, "reply" as const, "resolved" as const),
    }),
    { maxLength: 30 },
  ),
  unplaced: fc.record({
    reports: fc.array(fc.record({ number, text, by: text }, { requiredKeys: ["number", "text"] }), {
      maxLength: 5,
    }),
    hashes: fc.array(hash, { maxLength: 20 }),
  }),
  next: number,
  summary: fc.string({ unit: "binary", maxLength: 3_000 }),
  paused: fc.option(
    fc.record({ by: text, at: text, on: fc.constant("page") }, { requiredKeys: ["by", "at"] }),
  ),
});
