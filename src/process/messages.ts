import { z } from "zod";
import type { AgentEvent } from "../agent/events.ts";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { CheckoutPlace } from "../git/checkout-place.ts";
import type { ModelRequest, ModelTurn } from "../llm/model.ts";
import { ReviewInput } from "../review/review-input.ts";
import type { ReviewResult } from "../review/review-result.ts";

/** From the parent to the review process. */
export type ToChild =
  | { type: "start"; place: CheckoutPlace; input: ReviewInput }
  | { type: "turn"; request: number; turn: ModelTurn }
  | { type: "turn_failed"; request: number; error: { code: string; message: string } }
  | { type: "recorded"; entry: number }
  | { type: "abort" };

/** First message to a review process: where the repository is and what to review. */
export const StartMessage = z.strictObject({
  type: z.literal("start"),
  place: CheckoutPlace,
  input: ReviewInput,
});

/** What a review process may tell people while it works. Derived from AgentEvent, without any content of the repository. */
export type ProgressEvent =
  | { type: "phase"; phase: "context" | "analyzers" | "review" | "placing" }
  | { type: "agent"; event: AgentEvent };

/** From the review process to the parent. The parent parses it: the far side has read hostile bytes. */
export type FromChild =
  | { type: "ready" }
  | { type: "progress"; event: ProgressEvent }
  | { type: "request_turn"; request: number; model: ModelRequest }
  | { type: "record"; number: number; entry: TrajectoryEntry }
  | { type: "result"; result: ReviewResult }
  | { type: "failed"; error: { code: string; message: string; remedy: string | null } };
