import { z } from "zod";

/**
 * The programs that walls are made of, by absolute paths, and what can be seen behind them. Plain data: it is found by a process that
 * may look at the disk, and handed to one that may not.
 */
export const Sandbox = z.strictObject({
  bwrap: z.string(),
  node: z.string(),
  /** Absolute paths of folders that the operator names: tool chains outside of /usr. */
  readable: z.array(z.string()),
  /** Arguments of bubblewrap for the system's own folders. */
  system: z.array(z.string()),
  /** Arguments that cover what must not be seen; behind those for folders in which it may lie. */
  hiding: z.array(z.string()),
});
export type Sandbox = z.infer<typeof Sandbox>;
