import { z } from "zod";
import { Finding } from "../finding.ts";
import { Reviewed } from "./reviewed.ts";

/** A finding without a comment of its own: nothing but this state remembers it. */
export const CarriedFinding = z.strictObject({
  finding: Finding,
  /**
   * `listed`: stands in the summary. `annotated`: stood in an annotation of the last head's check run. `unpublished`: a review
   * of an older head found it and was called off; no second look was given to it.
   */
  standing: z.enum(["listed", "annotated", "unpublished"]),
  /** Why it has no comment on its line; empty for an unpublished one. */
  reason: z.string(),
});
export type CarriedFinding = z.infer<typeof CarriedFinding>;

/** Who had event-driven reviews of a pull request paused, and when (ISO 8601). */
export const Pause = z.strictObject({ by: z.string(), at: z.string() });
export type Pause = z.infer<typeof Pause>;

/** What the sticky summary remembers from one review to the next; it outlives a lost database. */
export const LedgerState = z.strictObject({
  /** Null: nothing was read yet. */
  reviewed: Reviewed.nullable(),
  /** Ids of findings that were given a comment: one whose comment is gone was deleted by a person. */
  posted: z.array(z.string()),
  carried: z.array(CarriedFinding),
  /** What the last review said of the change as a whole. */
  summary: z.string(),
  paused: Pause.nullable(),
});
export type LedgerState = z.infer<typeof LedgerState>;

export const emptyState: LedgerState = {
  reviewed: null,
  posted: [],
  carried: [],
  summary: "",
  paused: null,
};
