import { z } from "zod";

/** A test file that a model wrote for one finding. */
export const ProofTest = z.strictObject({
  /** A new file of the repository, as a key of its tree. */
  path: z.string().min(1).max(300),
  text: z.string().min(1).max(20_000),
});
export type ProofTest = z.infer<typeof ProofTest>;

/**
 * The files that a test runs on: those of the merge base, those of the head, or those of the head with the finding's suggestion in place of
 * its lines.
 */
export const Revision = z.enum(["base", "head", "repaired"]);
export type Revision = z.infer<typeof Revision>;

/**
 * A function of the repository that ran. `name` is empty for the statements of a file itself, and "(anonymous)" for a function without a
 * name. In a file that was compiled, the name is right more often than the line. Untrusted: the test can write it.
 */
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
  /** The limit that ended it; null if it ended by itself. */
  ended: z.enum(["timeout", "memory", "files", "output"]).nullable(),
  /** Files of the repository or of its environment that the run changed, removed or added, caches left out. */
  changed: z.array(z.string()),
  /** Functions of the repository's own files that ran, the test's left out; null if the program reports none. */
  executed: z.array(ExecutedFunction).nullable(),
  duration_ms: z.int(),
});
export type TestEnd = z.infer<typeof TestEnd>;

/** One run of a test, as people see it. */
export const ProofRun = z.strictObject({
  on: Revision,
  exit_code: z.int(),
  /** What it printed, cut. Untrusted text. */
  output: z.string(),
});
export type ProofRun = z.infer<typeof ProofRun>;

/**
 * What running a test says about a finding.
 *
 * `regression`: the test passes at the merge base and fails at the head. `reproduced`: it fails at the head and passes with the finding's
 * suggestion. `ran_right`: the input of the claim was run at the head and does the right thing. Only code decides which one it is
 * (`judge.ts`). `not_shown` says nothing against the finding.
 */
export const Proof = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.enum(["regression", "reproduced", "ran_right"]),
    test: ProofTest,
    /** The command line that ran it. */
    command: z.string(),
    /** What happens before the change, and now; for `reproduced`, now and with the suggestion. Untrusted text, one line each. */
    before: z.string(),
    now: z.string(),
    /** One run for each revision. */
    runs: z.array(ProofRun).min(1),
  }),
  z.strictObject({
    kind: z.literal("not_shown"),
    /** For people, as the end of a sentence: "Not shown: ...". */
    reason: z.string(),
  }),
]);
export type Proof = z.infer<typeof Proof>;
