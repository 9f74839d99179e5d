import { z } from "zod";

/** Everything that is needed to read a checkout, and nothing that may write to it or reach a remote. */
export const CheckoutPlace = z.strictObject({
  /** Absolute path of the git program. */
  gitPath: z.string(),
  /** Absolute path of the (bare) repository; git is always told by `--git-dir`. */
  gitDir: z.string(),
  /** Absolute path of the working tree of the head. */
  root: z.string(),
  /** An empty folder that serves as HOME of every git process. */
  emptyHome: z.string(),
  /** Full object names. */
  shas: z.strictObject({
    head: z.string(),
    base: z.string(),
    mergeBase: z.string(),
    mergeBases: z.int().optional(),
  }),
});
export type CheckoutPlace = z.infer<typeof CheckoutPlace>;

/** What reading git's objects needs. Where nothing is checked out, `root` may name a folder under which people know the files. */
export type ObjectPlace = Omit<CheckoutPlace, "root"> & { root?: string | undefined };
