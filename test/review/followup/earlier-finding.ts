import { codeHash } from "../../../src/ledger/entry.ts";
import type { LineRange } from "../../../src/review/find/quote.ts";
import type { PriorFinding } from "../../../src/review/review-input.ts";

/** A comment of an earlier review on line 12 of `a.ts`. */
export const earlierFinding = (over: Partial<PriorFinding> = {}): PriorFinding => ({
  comment: 7,
  id: "aaaaaaaaaaaa",
  path: "a.ts",
  side: "RIGHT",
  line: 12,
  start_line: null,
  original_line: over.line ?? 12,
  severity: "high",
  category: "correctness",
  symbol: "total",
  code: codeHash("sum -= price;"),
  source: "model",
  files: [],
  title: "The total subtracts each price instead of adding it",
  text: "The total is negative.",
  state: "open",
  replies: [],
  ...over,
});

/** Where their code stands: on the lines that they name, unless it is said to be gone. */
export const facts = (gone: ReadonlySet<PriorFinding> = new Set()) => ({
  firstName: (path: string) => (path === "new-name.ts" ? "a.ts" : path),
  locationOf: (one: PriorFinding): LineRange | null =>
    one.line === null || gone.has(one) ? null : { start: one.start_line ?? one.line, end: one.line },
});
