import { z } from "zod";

/** A function of the repository that ran. `name` is empty for the statements of a file, and "(anonymous)" for a function without one. Untrusted. */
export const ExecutedFunction = z.strictObject({
  path: z.string(),
  name: z.string(),
  /** Its first line, as the program that ran it counts; 1 for a file itself. */
  line: z.int(),
});
export type ExecutedFunction = z.infer<typeof ExecutedFunction>;

/** What one run of a test left. Recorded, so that no run happens twice. */
export const TestEnd = z.strictObject({
  /** Head and tail of what it printed. */
  stdout: z.string(),
  stderr: z.string(),
  /** 128 + signal number if a signal ended it. */
  exit_code: z.int(),
  ended: z.enum(["timeout", "memory", "files", "output"]).nullable(),
  /** Files of the repository or of its environment that the run changed, removed or added, caches left out. */
  changed: z.array(z.string()),
  /** Functions of the repository's own files that ran, the test's left out; null if the program reports none. */
  executed: z.array(ExecutedFunction).nullable(),
  duration_ms: z.int(),
});
export type TestEnd = z.infer<typeof TestEnd>;
