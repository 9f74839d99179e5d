import { z } from "zod";
import type { CodeLocation, Evidence, Finding, Severity } from "../../core/finding.ts";
import type { CoverageSink } from "../../repo/diff-pages.ts";
import type { DiffSource } from "../../repo/diff-source.ts";
import type { EditableWorkspace, Workspace } from "../../repo/git/workspace.ts";
import type { GraphAnswer } from "../../repo/index/graph.ts";

/** The output of `report_finding`, without the parts that the review itself adds. */
export type ReportedFinding = Omit<
  Finding,
  "id" | "source" | "symbol" | "verification" | "verification_note" | "places"
>;

/** The result of a report: kept, perhaps at another place; understood but not wanted; or refused, to be corrected. */
export type ReportAnswer =
  | { ok: true; finding: Finding; note: string | null }
  | { ok: true; finding: null; note: string }
  /** `isWithheld`: refused on purpose, so there is nothing to correct. */
  | { ok: false; reason: string; isWithheld?: true };

/** Whether a port takes what a model hands over; the reason is for the model. */
export type Taken<More = unknown> = ({ ok: true } & More) | { ok: false; reason: string };

/** Receives the findings of a loop. The review implements it; tools only use it. */
export interface ReportPort {
  /**
   * Keeps the finding, or returns why not.
   * @param candidates ids of the rule matches that the finding answers
   */
  report(finding: ReportedFinding, candidates?: readonly string[]): Promise<ReportAnswer>;
  /** Ends the review, or refuses and names what is left to read or to answer. */
  finish(summary: string, rejected?: readonly Rejection[]): Promise<Taken>;
}

export interface Rejection {
  /** "c1", as the first message names it. */
  candidate: string;
  reason: string;
}

/** What a second look says of one sentence of a finding's text that does not hold. */
export interface Correction {
  /** Number of the sentence, from 1. */
  sentence: number;
  /** The sentence as it should read; null to strike it. */
  text: string | null;
}

export interface Verdict {
  verdict: "confirmed" | "refuted" | "uncertain";
  /** What the code shows; for an uncertain finding, what remains open. */
  reason: string;
  /** The input, state or order of events that triggers the fault; never empty for a confirmed one. */
  failingInput: string;
  /** Null keeps the claimed severity. */
  severity: Severity | null;
  /** False if nothing in the repository reaches the fault yet; null keeps what was claimed. */
  reached: boolean | null;
  /** The claim as it should read if only a part of it is true; null keeps the finding's title. */
  title: string | null;
  /** Of the sentences of the finding's text; the others hold. */
  corrections: readonly Correction[];
  /** Never empty for a refuted finding: the lines that make it impossible. */
  evidence: readonly Evidence[];
  /** Other places of the same fault in the change; not anchored yet. */
  places: readonly CodeLocation[];
}

/** Receives the verdicts of a verification, which may be about several claims. */
interface VerdictSink {
  /**
   * @param claim its number, from 1; null if the model gave none, which is enough if there is one claim
   * @returns the numbers of the claims that are still `open`, and a `note` on what was left out of the verdict
   */
  judge(
    claim: number | null,
    verdict: Verdict,
  ): Promise<Taken<{ claim: number; open: readonly number[]; note: string | null }>>;
}

export interface MergeSink {
  join(keep: string, others: readonly string[]): Taken<{ note: string }>;
}

export interface Settlement {
  state: "fixed" | "present" | "unsure";
  /** One sentence for people. */
  reason: string;
}

/** A new finding and an earlier comment, by their names in the question. */
export interface SamePair {
  finding: string;
  earlier: string;
}

/** Receives the result of comparing new findings with earlier comments. */
export interface DuplicateSink {
  /** Takes the pairs that are one problem, or names the first pair that was not asked about. */
  same(pairs: readonly SamePair[]): Taken;
}

export interface CommandRequest {
  command: string;
  /** Path of a folder of the workspace; "." is its root. */
  folder: string;
  timeoutMs: number;
  /** Its whole environment, besides the sandbox's own variables. */
  env: Readonly<Record<string, string>>;
}

/** The result of a command. Of output beyond the limit, head and tail are kept. */
export interface CommandEnd {
  stdout: string;
  stderr: string;
  exitCode: number;
  /** The limit that ended it early; null if it ended by itself. */
  ended: "timeout" | "memory" | "files" | "output" | null;
  truncated: boolean;
  /** Paths of the workspace that have changed, in order. */
  changed: readonly string[];
  notes: readonly string[];
}

/** Runs commands in a sandbox. Only available if the machine has one. */
export interface CommandPort {
  /** The maintainers' allowed commands, by name: command lines for `sh -c`. */
  readonly allowed: Readonly<Record<string, string>>;
  /** Runs a command line, without checking whether it is allowed. Rejects with `aborted`, or `child_died` if the sandbox breaks. */
  run(request: CommandRequest, signal: AbortSignal): Promise<CommandEnd>;
}

export interface GraphPort {
  query(query: string, k: number, signal: AbortSignal): Promise<GraphAnswer>;
}

export interface JournalPort {
  /** Resolves to one sentence about what was done with it. */
  log(page: string, content: string): Promise<string>;
}

export type EditPort = Pick<EditableWorkspace, "read" | "write" | "remove" | "edits">;

export interface FixReport {
  summary: string;
  /** By the names of the findings in the conversation. */
  repairs: readonly { finding: string; repaired: boolean; note: string }[];
}

export interface FixPort {
  finish(report: FixReport): Promise<Taken>;
}

export interface TriedTest {
  on: "base" | "head" | "repaired";
  passed: boolean;
  exitCode: number;
  stdout: string;
  stderr: string;
  /** What a reader of its result must know: that a limit ended it, that it ran none of the changed code; null if there is nothing. */
  note: string | null;
}

/** How a proof ends, by the model that wrote its test. Code decides whether it is true. */
export interface ProofReport {
  outcome: "regression" | "reproduced" | "ran_right" | "none";
  /** For people, one line each; empty for `ran_right` and `none`. */
  before: string;
  now: string;
  reason: string;
}

interface ProofPort {
  /** Runs a test on each of these revisions; the last one is the test of the proof. Throws a ToolError if it is refused. */
  tryTest(
    test: { path: string; text: string },
    on: readonly TriedTest["on"][],
    signal: AbortSignal,
  ): Promise<readonly TriedTest[]>;
  /** Runs the last test again and decides; or returns why it shows nothing, so that the model can write a better one. */
  finish(report: ProofReport, signal: AbortSignal): Promise<Taken>;
}

/** Whether a change means to do what a test shows. */
export interface Intent {
  /** `now`: it asks for what happens now. `before`: it asks for what does not happen any more, or not yet. `silent`: it asks for neither. */
  asks: "now" | "before" | "silent";
  /** Words of the change that ask for it; empty if it is silent. */
  quote: string;
  /** Whether the test shows what is claimed, and what is said of it is what it asserts. */
  fits: boolean;
}

/** Everything that a tool may access. One for each review; no part of it can write outside the process. */
export interface ToolContext {
  targetBranch: string;
  workspace: Workspace;
  /** Further absolute paths by which the caller knows the repository, besides the workspace's root. */
  alsoRoots?: readonly string[];
  diffs: DiffSource;
  coverage: CoverageSink;
  /** Only in loops that may report findings. */
  report?: ReportPort;
  /** Only in verifications. */
  judge?: VerdictSink;
  /** Only in merge loops. */
  join?: MergeSink;
  /** Only in checks of earlier findings. */
  settle?: { settle(settlement: Settlement): void };
  /** Only in comparisons with earlier comments. */
  compare?: DuplicateSink;
  /** Only in the choice of comments: takes the numbers of findings. */
  choose?: { choose(comments: readonly number[]): Taken };
  /** Only for questions. */
  converse?: { reply(text: string): void };
  /** Only in a fix: the files that may be changed. The reading tools see their current state. */
  edit?: EditPort;
  /** Only in a fix: how it ends. */
  fix?: FixPort;
  /** Only if commands can run. */
  commands?: CommandPort;
  /** Only in a proof. */
  proof?: ProofPort;
  /** Only for the question what a change asks for. */
  intent?: { answer(intent: Intent): Taken };
  /** Only if the repository has an index. */
  graph?: GraphPort;
  /** Only if a run is recorded. */
  journal?: JournalPort;
  /** True for paths that the configuration withholds from every model. */
  isPrivate(path: string): boolean;
}

/** The debug facts of a program that a tool ran; without a return code if it was stopped on purpose. */
export const ProgramRun = z.strictObject({
  command: z.string(),
  return_code: z.int().nullable(),
  stderr: z.string(),
});
type ProgramRun = z.infer<typeof ProgramRun>;

export interface ToolMetadata {
  duration_ms: number;
  truncated: boolean;
  /** The call that continues where this one ended. */
  next?: { tool: string; arguments: Record<string, unknown> };
  /** A fact that the output does not contain: that something was left out, and why. */
  note?: string;
  debug?: ProgramRun;
}

export type ToolResult =
  | { status: "success"; output: unknown; metadata: ToolMetadata }
  | { status: "error" | "timeout"; error: string; metadata: ToolMetadata };

/** The result of one execution. `next` has the arguments of the call that continues, if there is more. */
export interface Executed<Output> {
  output: Output;
  next?: Record<string, unknown>;
  /** One sentence for the model besides the output: what was left out, and why. */
  note?: string;
  /** True if the output is incomplete and no call continues it. */
  truncated?: boolean;
  debug?: ProgramRun;
  /** Ends the agent loop after all calls of the turn are answered. Only tools that hand over a result set it. */
  endsLoop?: boolean;
}

/** The text for the model. A rendering that was cut has the arguments of the call that continues. */
export interface Rendered {
  text: string;
  next?: Record<string, unknown>;
  /** True if something was left out and no call continues it. */
  truncated?: boolean;
}

interface Tool<Input = unknown, Output = unknown> {
  name: string;
  title: string;
  /** For the model. Limits are interpolated from the constants in the code. */
  description: string;
  /** For people: what the output looks like, in Markdown. */
  returns: string;
  /** For people: the arguments of a typical call. */
  example: Record<string, unknown>;
  kind: "read" | "report" | "change";
  /** A call may end the loop: it is executed after all others of its turn, and not if a report among them failed or one of them reads. */
  finishes?: true;
  input: z.ZodType<Input>;
  timeoutMs: number;
  /** An error that the caller can correct is thrown as ToolError; any other error is a bug of ours. */
  execute(input: Input, context: ToolContext, signal: AbortSignal): Promise<Executed<Output>>;
  /** Renders for the model in at most `maxBytes`, cut at whole entries. Never escapes: run-tool does. */
  render(output: Output, input: Input, maxBytes: number): Rendered;
}

/** A failed call, described so that a model can act on it. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly debug: ProgramRun | undefined;
  /** The status of the call: "timeout" if a program of the tool exceeded its time limit. */
  readonly status: "error" | "timeout";
  constructor(message: string, debug?: ProgramRun, status: "error" | "timeout" = "error") {
    super(message);
    this.debug = debug;
    this.status = status;
  }
}

/** A call that is refused on purpose: there is nothing to correct in it. */
export class WithheldError extends ToolError {}

const DEFAULT_TOOL_TIMEOUT_MS = 30_000;

/** Declares a tool once; OpenAI functions, MCP, docs and snapshots are derived from the same object. */
export function defineTool<Input, Output>(
  tool: Omit<Tool<Input, Output>, "timeoutMs"> & { timeoutMs?: number },
): Tool<Input, Output> {
  return { timeoutMs: DEFAULT_TOOL_TIMEOUT_MS, ...tool };
}

// biome-ignore lint/suspicious/noExplicitAny: a registry holds tools of every input; each parses its own.
export type AnyTool = Tool<any, any>;
