import { z } from "zod";

const Usage = z.strictObject({
  promptTokens: z.number(),
  cachedTokens: z.number(),
  completionTokens: z.number(),
  costUsd: z.number().nullable(),
});

/** The phases of a run, in order. Without a model, only the first two and "placing". */
const phases = [
  "context",
  "analyzers",
  "planning",
  "review",
  "merging",
  "verifying",
  "placing",
  "proving",
] as const;

/** Progress of a run. `target` is the file or pattern of a call: repository text, to be escaped for display. */
export const ProgressEvent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("phase"), phase: z.enum(phases) }),
  z.strictObject({ type: z.literal("turn"), turn: z.int(), total: Usage }),
  z.strictObject({
    type: z.literal("tool"),
    tool: z.string(),
    target: z.string().nullable(),
    status: z.enum(["started", "success", "error", "timeout"]),
  }),
  /** Loops that have ended, if there are several. */
  z.strictObject({ type: z.literal("unit"), done: z.int(), total: z.int() }),
  /** Verifications that have ended. */
  z.strictObject({ type: z.literal("verdict"), done: z.int(), total: z.int() }),
  /** Proofs that have ended. */
  z.strictObject({ type: z.literal("proof"), done: z.int(), total: z.int() }),
  z.strictObject({ type: z.literal("coverage"), served: z.int(), total: z.int() }),
  z.strictObject({
    type: z.literal("finding"),
    severity: z.string(),
    path: z.string(),
    line: z.int(),
    title: z.string(),
  }),
  /** The full error of the model: for the operator, never for the public. */
  z.strictObject({ type: z.literal("model_failed"), error: z.string() }),
  /** A tool or analyzer of ours threw: a bug. */
  z.strictObject({ type: z.literal("crash"), where: z.string(), error: z.string() }),
]);
export type ProgressEvent = z.infer<typeof ProgressEvent>;
