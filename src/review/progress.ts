import { z } from "zod";

const Usage = z.strictObject({
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  costUsd: z.number().nullable(),
});

/** What a run tells while it works. `target` is the file or pattern of a call: repository text, to be escaped when shown. */
export const ProgressEvent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("phase"), phase: z.enum(["context", "analyzers", "review", "placing"]) }),
  z.strictObject({ type: z.literal("turn"), turn: z.int(), total: Usage }),
  z.strictObject({
    type: z.literal("tool"),
    tool: z.string(),
    target: z.string().nullable(),
    status: z.enum(["started", "success", "error", "timeout"]),
  }),
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
