import { codeHash, type PostedFinding } from "../../../../src/core/ledger/entry.ts";
import type { LineRange } from "../../../../src/tasks/anchor/quote.ts";
import { postedFinding } from "../../../pull/ledger/posted-finding.ts";

/** A comment of an earlier review on line 12 of `a.ts`. */
export const earlierFinding = (over: Partial<PostedFinding> = {}): PostedFinding =>
  postedFinding({ symbol: "total", code: codeHash("sum -= price;"), ...over });

/** Where their code stands: on the lines that they name, unless it is said to be gone. */
export const facts = (gone: ReadonlySet<PostedFinding> = new Set()) => ({
  firstName: (path: string) => (path === "new-name.ts" ? "a.ts" : path),
  locationOf: (one: PostedFinding): LineRange | null =>
    one.line === null || gone.has(one) ? null : { start: one.start_line ?? one.line, end: one.line },
});
