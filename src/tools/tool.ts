import { z } from "zod";
import type { FileDiff } from "../diff/file-diff.ts";
import type { Evidence, Finding, Place, Severity } from "../finding.ts";
import type { Change, EditableWorkspace, Shas, Workspace } from "../git/workspace.ts";

/** Rendering for the model is cut at a line beyond this many bytes (UTF-8). */
export const MAX_RENDERED_BYTES = 32 * 1024;

/** How a file takes part in a review: `reviewable`, or not, with a reason that people read. */
export interface ChangedFile {
  change: Change;
  /** Hunks of the `-U3 -M` diff; 0 for files without a textual diff, or with one too large to be read. */
  totalHunks: number;
  /** Bytes that these hunks take in front of the model, under a heading with the path; 0 when there are none. */
  diffBytes: number;
  /** Of each of these hunks the digests of its changes, by `surveyPatch`; none for a file that is not reviewable. */
  changes: readonly (readonly string[])[];
  reviewable: boolean;
  skipReason: string | null;
}

/** The diff of one changed file at some context width. */
export interface DiffSource {
  /** All changed files in git's order, private ones included and marked so. */
  files(): Promise<readonly ChangedFile[]>;
  /** Parsed diff; `contextLines` 3 is the diff that GitHub shows. Rejects with `too_large` beyond MAX_DIFF_LINES. */
  fileDiff(change: Change, contextLines: number): Promise<FileDiff>;
  /** Warnings about how the files were classified; complete once `files` has answered. */
  warnings(): readonly string[];
}

/** What `report_finding` hands over: everything but what the review itself establishes. */
export type ReportedFinding = Omit<
  Finding,
  "id" | "source" | "symbol" | "verification" | "verification_note" | "places" | "evidence"
> & {
  evidence: Evidence[];
};

/** What becomes of a report: kept, perhaps elsewhere than asked for; understood but not wanted; or refused, to be corrected. */
export type ReportAnswer =
  | { ok: true; finding: Finding; note: string | null }
  | { ok: true; finding: null; note: string }
  | { ok: false; reason: string };

/** Where findings leave the loop. The review implements it; tools only speak it. */
export interface ReportPort {
  /**
   * Anchors and keeps the finding, or says in words why not, and what to try where that helps.
   *
   * @param candidates ids of the rule matches that the finding is the answer to
   */
  report(finding: ReportedFinding, candidates?: readonly string[]): Promise<ReportAnswer>;
  /** Ends the review, or refuses and names what is left to read or to answer. */
  finish(
    summary: string,
    rejected?: readonly Rejection[],
  ): Promise<{ ok: true } | { ok: false; reason: string }>;
}

/** A rule match that the model finds to be no fault. */
export interface Rejection {
  /** "c1", as the first message names it. */
  candidate: string;
  reason: string;
}

/** What a second look makes of a finding. */
export interface Verdict {
  verdict: "confirmed" | "refuted" | "uncertain";
  /** What the code shows; of an uncertain one what stays open. */
  reason: string;
  /** The input, state or order of events on which it goes wrong; never empty for a confirmed one. */
  failingInput: string;
  /** Null leaves it as it was claimed. */
  severity: Severity | null;
  evidence: readonly Evidence[];
  /** Where else the change has the same fault; not anchored yet. */
  places: readonly Place[];
}

/** Where a verdict leaves the loop of a second look. */
interface JudgePort {
  /** Keeps the verdict. Answers what was left out of it, for the model. */
  judge(verdict: Verdict): Promise<string | null>;
}

/** Makes one finding of several. */
export interface JoinPort {
  join(keep: string, others: readonly string[]): { ok: true; note: string } | { ok: false; reason: string };
}

/** Where the answer to a person's question leaves the loop. */
interface ConversePort {
  reply(text: string): void;
}

/** What became of an earlier finding. */
export interface Settlement {
  state: "fixed" | "present" | "unsure";
  /** One sentence that people read. */
  reason: string;
}

/** Where the check of an earlier finding leaves its loop. */
interface SettlePort {
  settle(settlement: Settlement): void;
}

/** A new finding and an earlier comment, by the names that the question gave them. */
export interface SamePair {
  finding: string;
  earlier: string;
}

/** Where the comparison of new findings with earlier comments leaves its loop. */
export interface ComparePort {
  /** Takes the pairs that tell of one problem, or names the first that was not asked for. */
  same(pairs: readonly SamePair[]): { ok: true } | { ok: false; reason: string };
}

/** What `run_command` asks for. */
export interface CommandRequest {
  /** For `sh -c`. */
  command: string;
  /** A folder of the workspace by its path; "." is its root. */
  folder: string;
  timeoutMs: number;
  /** All that its environment holds beside what the sandbox sets. */
  env: Readonly<Record<string, string>>;
}

/** How a command ended. Of output beyond the limit head and tail are kept. */
export interface CommandEnd {
  stdout: string;
  stderr: string;
  /** 128 + number where a signal ended it. */
  exitCode: number;
  /** The limit that ended it early; null if it ended by itself. */
  ended: "timeout" | "memory" | "files" | "output" | null;
  /** Whether output was left out. */
  truncated: boolean;
  /** Paths of the workspace that are different now, in order. */
  changed: readonly string[];
  /** In words, what it left and was not kept. */
  notes: readonly string[];
}

/** Runs commands where they can do no harm. Only there where the machine has a sandbox. */
export interface CommandPort {
  /** What the maintainers let be run, by name: command lines for `sh -c`. */
  readonly allowed: Readonly<Record<string, string>>;
  /** Runs a command line, whether allowed or not. Rejects with `aborted`, or `child_died` where the sandbox breaks. */
  run(request: CommandRequest, signal: AbortSignal): Promise<CommandEnd>;
}

/** A thing that the knowledge graph knows, and why it was found. */
export interface GraphNode {
  id: string;
  kind: "file" | "symbol" | "commit" | "document" | "finding";
  /** What people call it: a path, a name, the first line of a message. */
  name: string;
  path: string | null;
  /** 1-indexed, inclusive. */
  startLine: number | null;
  endLine: number | null;
  /** A few lines that tell what it is. */
  excerpt: string;
  score: number;
}

/** `from` does to `to` what the kind says. */
export interface GraphEdge {
  from: string;
  to: string;
  kind: "defines" | "calls" | "references" | "imports" | "tests" | "documents" | "changed" | "about";
  /** Where in `from`'s file; 1-indexed. */
  line: number | null;
  /** 0 to 1: how sure it is that this very thing is meant. What is less sure than not is left out. */
  certainty: number;
}

export interface GraphAnswer {
  nodes: readonly GraphNode[];
  edges: readonly GraphEdge[];
}

/** Asks the knowledge graph of the repository, as it is at the head. */
export interface GraphPort {
  query(query: string, k: number, signal: AbortSignal): Promise<GraphAnswer>;
}

/** Where a piece of work is written down for people, beside what is recorded anyway. */
export interface JournalPort {
  /** Answers what was done with it, in one sentence. */
  log(page: string, content: string): Promise<string>;
}

/** How files are changed. */
export type EditPort = Pick<EditableWorkspace, "read" | "write" | "remove" | "edits">;

/** What a fix says of what it did. */
export interface FixReport {
  /** As a commit message says it. */
  summary: string;
  /** By the names that the findings were given. */
  repairs: readonly { finding: string; repaired: boolean; note: string }[];
}

/** Where a fix leaves its loop. */
export interface FixPort {
  /** Takes the report, or says what is missing in it. */
  finish(report: FixReport): Promise<{ ok: true } | { ok: false; reason: string }>;
}

/** Told about every `-U3` hunk that was put in front of the model whole. Hunk numbers are 1-indexed. */
export interface CoverageSink {
  serve(path: string, hunk: number): void;
}

/** What a tool may touch. One for each review; nothing in it can write outside the process. */
export interface ToolContext {
  /** Branch or revision the change is to be merged into, as people call it. */
  targetBranch: string;
  workspace: Workspace;
  /** Further absolute paths by which the caller knows the repository, beside the workspace's root. */
  alsoRoots?: readonly string[];
  diffs: DiffSource;
  coverage: CoverageSink;
  report: ReportPort;
  /** Only where a finding is judged. */
  judge?: JudgePort;
  /** Only where findings are merged. */
  join?: JoinPort;
  /** Only where an earlier finding is checked. */
  settle?: SettlePort;
  /** Only where findings are compared with earlier comments. */
  compare?: ComparePort;
  /** Only where a question is answered. */
  converse?: ConversePort;
  /** Only in a fix: the files that may be changed. The reading tools see them as they are. */
  edit?: EditPort;
  /** Only where a fix is made: how it ends. */
  fix?: FixPort;
  /** Only where commands can be run. */
  commands?: CommandPort;
  /** Only where the repository has an index. */
  graph?: GraphPort;
  /** Only where a run is recorded. */
  journal?: JournalPort;
  /** True for paths that the configuration withholds from every model. */
  isPrivate(path: string): boolean;
}

/** The review context of the tool contract, as data. */
interface ReviewContext {
  repo_path: string;
  target_branch: string;
  changed_files: string[];
  head_sha: Shas["head"];
  base_sha: Shas["base"];
  merge_base_sha: Shas["mergeBase"];
}

/** The debug facts of a program that a tool ran; without a return code when it was stopped on purpose. */
export const ProgramRun = z.strictObject({
  command: z.string(),
  return_code: z.int().nullable(),
  stderr: z.string(),
});
type ProgramRun = z.infer<typeof ProgramRun>;

export interface ToolMetadata {
  duration_ms: number;
  /** True when the rendering or the output holds less than there is. */
  truncated: boolean;
  /** The call that continues where this one ended. */
  next?: { tool: string; arguments: Record<string, unknown> };
  /** What the output cannot say by itself: that something was left out, and why. */
  note?: string;
  debug?: ProgramRun;
}

export type ToolResult =
  | { status: "success"; output: unknown; metadata: ToolMetadata }
  | { status: "error" | "timeout"; error: string; metadata: ToolMetadata };

/** What one execution yields. `next` are the arguments of the call that continues, when there is more. */
export interface Executed<Output> {
  output: Output;
  next?: Record<string, unknown>;
  /** One sentence for the model beside the output: what was left out, and why. */
  note?: string;
  /** True when the output holds less than there is and no call continues it. */
  truncated?: boolean;
  debug?: ProgramRun;
  /** Ends the agent loop once all calls of the turn are answered. Only `finish_review` and verdicts set it. */
  endsLoop?: boolean;
}

/** What the model reads. A rendering that had to be cut carries the arguments of the call that continues. */
export interface Rendered {
  text: string;
  next?: Record<string, unknown>;
  /** True when something was left out for which there is no call that continues. */
  truncated?: boolean;
}

interface Tool<Input = unknown, Output = unknown> {
  name: string;
  title: string;
  /** For the model. Limits are interpolated from the constants that the code uses. */
  description: string;
  /** For people: what the output looks like, in Markdown. */
  returns: string;
  /** For people: the arguments of a typical call. */
  example: Record<string, unknown>;
  kind: "read" | "report" | "change";
  /** A call may end the loop: it is executed after all others of its turn, and not when a report among them failed. */
  finishes?: true;
  input: z.ZodType<Input>;
  timeoutMs: number;
  /** A fault that the caller can mend is thrown as ToolError; anything else thrown is a fault of ours. */
  execute(input: Input, context: ToolContext, signal: AbortSignal): Promise<Executed<Output>>;
  /** Renders for the model in at most `maxBytes`, cutting at whole entries. Never escapes: run-tool does. */
  render(output: Output, input: Input, maxBytes: number): Rendered;
}

/** A failed call, in words that a model can act on. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly debug: ProgramRun | undefined;
  /** What the call comes to: "timeout" where what the tool ran took longer than it was given. */
  readonly status: "error" | "timeout";
  constructor(message: string, debug?: ProgramRun, status: "error" | "timeout" = "error") {
    super(message);
    this.debug = debug;
    this.status = status;
  }
}

const DEFAULT_TOOL_TIMEOUT_MS = 30_000;

/** Declares a tool once; OpenAI functions, MCP, docs and snapshots are made from the same object. */
export function defineTool<Input, Output>(
  tool: Omit<Tool<Input, Output>, "timeoutMs"> & { timeoutMs?: number },
): Tool<Input, Output> {
  return { timeoutMs: DEFAULT_TOOL_TIMEOUT_MS, ...tool };
}

// biome-ignore lint/suspicious/noExplicitAny: a registry holds tools of every input; each parses its own.
export type AnyTool = Tool<any, any>;

/** The review context of a run as data. It names private files, as `changed_files` does. */
export async function reviewContext(context: ToolContext): Promise<ReviewContext> {
  const { root, shas } = context.workspace;
  const changes = await context.workspace.changes();
  return {
    repo_path: root,
    target_branch: context.targetBranch,
    changed_files: changes.map((change) => change.path),
    head_sha: shas.head,
    base_sha: shas.base,
    merge_base_sha: shas.mergeBase,
  };
}
