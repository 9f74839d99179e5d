import { z } from "zod";

const size = z.int().min(0);

/** What comes from behind the first wall. It may have been taken over by what it watches, so that each word of it is looked at. */
export const Answer = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.enum(["stdout", "stderr"]) }),
  z.strictObject({
    kind: z.literal("end"),
    exitCode: z.int().min(0).max(255).nullable(),
    ended: z.enum(["timeout", "memory", "files", "output"]).nullable(),
    truncated: z.boolean(),
    left: z.array(
      z.strictObject({ path: z.string(), kind: z.enum(["new", "changed", "gone"]), bytes: size }),
    ),
    odd: size,
    tooMany: z.boolean(),
  }),
  z.strictObject({ kind: z.literal("file"), path: z.string(), executable: z.boolean() }),
  z.strictObject({ kind: z.literal("taken") }),
  z.strictObject({ kind: z.literal("fault"), message: z.string() }),
]);
export type Answer = z.infer<typeof Answer>;
export type End = Extract<Answer, { kind: "end" }>;
