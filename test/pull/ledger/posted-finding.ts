import { type PostedFinding, withoutComment } from "../../../src/core/ledger/entry.ts";

/** An open finding of a model in comment 7, on line 12 of `a.ts`. */
export const postedFinding = (over: Partial<PostedFinding> = {}): PostedFinding => ({
  ...withoutComment,
  comment: 7,
  id: "aaaaaaaaaaaa",
  path: "a.ts",
  side: "RIGHT",
  line: 12,
  start_line: null,
  original_line: over.line ?? 12,
  severity: "high",
  category: "correctness",
  symbol: null,
  code: null,
  source: "model",
  title: "The total subtracts each price instead of adding it",
  text: "The total is negative.",
  state: "open",
  ...over,
});
