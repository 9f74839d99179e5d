import { z } from "zod";

const Usage = z.strictObject({
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  costUsd: z.number().nullable(),
});

/** What a run is busy with, in this order; without a model it goes from the second to the last. */
const phases = ["context", "analyzers", "planning", "review", "merging", "verifying", "placing"] as const;

/** What a run tells while it works. `target` is the file or pattern of a call: repository text, to be escaped when shown. */
export const ProgressEvent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("phase"), phase: z.enum(phases) }),
  z.strictObject({ type: z.literal("turn"), turn: z.int(), total: Usage }),
  z.strictObject({
    type: z.literal("tool"),
    tool: z.string(),
    target: z.string().nullable(),
    status: z.enum(["started", "success", "error", "timeout"]),
  }),
  /** Loops that have ended, where a change is divided or read several times over. */
  z.strictObject({ type: z.literal("unit"), done: z.int(), total: z.int() }),
  /** Second looks that have ended. */
  z.strictObject({ type: z.literal("verdict"), done: z.int(), total: z.int() }),
  z.strictObject({ type: z.literal("coverage"), served: z.int(), total: z.int() }),
  z.strictObject({
    type: z.literal("finding"),
    severity: z.string(),
    path: z.string(),
    line: z.int(),
    title: z.string(),
  }),
  /** Why the model failed, in full: for whoever operates this, never for the public. */
  z.strictObject({ type: z.literal("model_failed"), error: z.string() }),
  /** A tool or analyzer of ours threw: a fault to be reported, not one of the pull request. */
  z.strictObject({ type: z.literal("crash"), where: z.string(), error: z.string() }),
]);
export type ProgressEvent = z.infer<typeof ProgressEvent>;
