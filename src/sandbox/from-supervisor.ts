import { z } from "zod";

const LeftFile = z.strictObject({
  path: z.string(),
  kind: z.enum(["new", "changed", "gone"]),
  /** Its length, holes included; 0 if it is gone. */
  bytes: z.int().min(0),
});
export type LeftFile = z.infer<typeof LeftFile>;

/** What the supervisor sends. The command may have taken it over, so every message is checked. */
export const FromSupervisor = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.enum(["stdout", "stderr"]) }),
  z.strictObject({
    kind: z.literal("end"),
    /** Null if the inner sandbox could not be built (stderr says why) or the command was ended. */
    exitCode: z.int().min(0).max(255).nullable(),
    ended: z.enum(["timeout", "memory", "files", "output"]).nullable(),
    truncated: z.boolean(),
    left: z.array(LeftFile),
    /** The paths of links, pipes, sockets and the like that the command made or changed. */
    odd: z.array(z.string()),
    /** Whether there were too many files to list; then none is listed. */
    tooMany: z.boolean(),
  }),
  /** A requested file; the body is its bytes. */
  z.strictObject({ kind: z.literal("file"), path: z.string(), executable: z.boolean() }),
  /** A requested link; the body is its target. */
  z.strictObject({ kind: z.literal("link"), path: z.string() }),
  /** All requested files have been sent. */
  z.strictObject({ kind: z.literal("taken") }),
  z.strictObject({ kind: z.literal("fault"), message: z.string() }),
]);
export type FromSupervisor = z.infer<typeof FromSupervisor>;

/** How a command ended, and what it left. */
export type End = Extract<FromSupervisor, { kind: "end" }>;
