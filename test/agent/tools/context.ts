import { changingTools, readingTools, reportingTools } from "../../../src/agent/tools/index.ts";
import { createRegistry, type ToolRun } from "../../../src/agent/tools/run-tool.ts";
import type { EditPort, ReportedFinding, ReportPort, ToolContext } from "../../../src/agent/tools/tool.ts";
import { createPrivacy } from "../../../src/repo/diff/filter.ts";
import { createDiffSource } from "../../../src/repo/diff-source.ts";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../../src/repo/git/range.ts";
import type { RevisionPlace, Workspace } from "../../../src/repo/git/workspace.ts";
import { type GitRepo, gitPath } from "../../support/git-repo.ts";

export interface ContextOptions {
  ignore?: string[];
  private?: string[];
  report?: Partial<ReportPort>;
  /** Where a fix is made. */
  edit?: EditPort;
}

/** Tools on a workspace, and what the review was told. */
export interface TestTools {
  context: ToolContext;
  workspace: Workspace;
  /** `path#hunk` of every hunk that was served, in order. */
  served: string[];
  reported: ReportedFinding[];
  crashes: unknown[];
  run(tool: string, sent?: unknown): Promise<ToolRun>;
  /** The output of a call that must succeed. */
  output<Output>(tool: string, sent?: unknown): Promise<Output>;
  /** The error of a call that must fail. */
  error(tool: string, sent?: unknown): Promise<string>;
}

export const registry = createRegistry([...readingTools, ...reportingTools, ...changingTools]);

function recordingPort(reported: ReportedFinding[], over: Partial<ReportPort> = {}): ReportPort {
  return {
    async report(finding) {
      reported.push(finding);
      const kept = {
        ...finding,
        id: "f1",
        source: "model",
        symbol: null,
        verification: "unverified" as const,
        verification_note: null,
        places: [],
      };
      return { ok: true, finding: kept, note: null };
    },
    finish: async () => ({ ok: true }),
    ...over,
  };
}

/** A review of its own on a workspace that others may share. */
export function toolsOn(workspace: Workspace, options: ContextOptions = {}): TestTools {
  const { ignore = [], private: hidden = [] } = options;
  const served: string[] = [];
  const reported: ReportedFinding[] = [];
  const crashes: unknown[] = [];
  const context: ToolContext = {
    targetBranch: "main",
    workspace,
    diffs: createDiffSource(workspace, { ignore, private: hidden }),
    coverage: { serve: (path, hunk) => served.push(`${path}#${hunk}`) },
    report: recordingPort(reported, options.report),
    ...(options.edit === undefined ? {} : { edit: options.edit }),
    isPrivate: createPrivacy(hidden),
  };
  const run = (tool: string, sent: unknown = {}) =>
    registry.execute(tool, sent, context, { onCrash: (_, error) => crashes.push(error) });
  return {
    context,
    workspace,
    served,
    reported,
    crashes,
    run,
    async output<Output>(tool: string, sent?: unknown) {
      const { result, text } = await run(tool, sent);
      if (result.status !== "success") throw new Error(`${tool} failed: ${text}`, { cause: crashes.at(-1) });
      return result.output as Output;
    },
    async error(tool, sent) {
      const { result } = await run(tool, sent);
      if (result.status !== "error") throw new Error(`${tool} did not fail but answered ${result.status}`);
      return result.error;
    },
  };
}

/** A real repository's workspace, opened as the command line opens it. */
export async function openRepository(
  repo: GitRepo,
  { base = "main", head = "topic" }: { base?: string; head?: string } = {},
): Promise<AsyncDisposable & { workspace: Workspace; place: RevisionPlace }> {
  const range = await openLocalRange({ repo: repo.dir, base, head, gitPath });
  const workspace = openWorkspace(range.place);
  return {
    ...{ workspace, place: range.place },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await range.dispose();
    },
  };
}
