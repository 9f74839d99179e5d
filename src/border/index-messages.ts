import { z } from "zod";

// The messages between a server and the process that updates the index of a repository. Separate from `messages.ts`, whose schemas the
// index process need not load.

/** To the process: everything that it needs, and nothing of any pull request. */
export const IndexTask = z.strictObject({
  gitPath: z.string(),
  gitDir: z.string(),
  emptyHome: z.string(),
  sha: z.string(),
  file: z.string(),
  /** Globs of paths that are not indexed. */
  privatePaths: z.array(z.string()),
});
export type IndexTask = z.infer<typeof IndexTask>;

export const IndexReport = z.strictObject({
  files: z.int(),
  parsed: z.int(),
  known: z.int(),
  skipped: z.int(),
  milliseconds: z.number(),
});
export type IndexReport = z.infer<typeof IndexReport>;

/** From the process. */
export const IndexAnswer = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ready") }),
  z.strictObject({ type: z.literal("done"), report: IndexReport }),
  z.strictObject({ type: z.literal("failed"), error: z.string() }),
]);
export type IndexAnswer = z.infer<typeof IndexAnswer>;
