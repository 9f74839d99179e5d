import { type EffectiveConfig, mildestMinimum } from "../config/repo-config.ts";
import { errorLine } from "../errors.ts";
import type { ToolDefinition } from "../llm/model.ts";
import { createAnchorFiles } from "../review/anchor-files.ts";
import { createCoverageGate, createReviewCoverage } from "../review/coverage-gate.ts";
import { createFindingCollector } from "../review/finding-collector.ts";
import { createDiffSource } from "../tools/diff-source.ts";
import { graphTools, readingTools, reportingTools } from "../tools/index.ts";
import { privacyOf } from "../tools/private-text.ts";
import { createRegistry } from "../tools/run-tool.ts";
import type { ToolContext, ToolResult } from "../tools/tool.ts";
import { KeptGraph } from "./kept-graph.ts";
import type { OpenRange } from "./open-range.ts";

const registry = createRegistry([...readingTools, ...graphTools, ...reportingTools]);

/** What a model is told about the tools. */
export const definitions = (): ToolDefinition[] => registry.definitions();

export interface ToolCallOptions {
  config: EffectiveConfig;
  /** Absolute path of the repository's folder. */
  repo: string;
  signal: AbortSignal;
  /** Takes one line for whoever runs this, such as a fault of ours, which the result itself does not explain. */
  warn(line: string): void;
}

/** Runs one tool as a review would. */
export async function callTool(
  name: string,
  args: string,
  range: OpenRange,
  { config, repo, signal, warn }: ToolCallOptions,
): Promise<ToolResult> {
  const context = await toolContext(range, config);
  await using graph = new KeptGraph({ range, repo, isPrivate: context.isPrivate, warn, makesVectors: false });
  const { result } = await registry.execute(
    name,
    args,
    { ...context, graph },
    { signal, onCrash: (tool, error) => warn(`fault in ${tool}: ${errorLine(error)}`) },
  );
  return result;
}

/** What the tools see of a range, in a review of its own: nothing was read or reported before. */
export async function toolContext(
  { workspace, names, roots }: OpenRange,
  config: EffectiveConfig,
): Promise<ToolContext> {
  const isPrivate = await privacyOf(workspace, config.paths.private);
  const diffs = createDiffSource(workspace, { ...config.paths, isPrivate });
  const files = await diffs.files();
  const coverage = createReviewCoverage(files);
  const gate = createCoverageGate({ files, diffs, coverage, portionBytes: 0 });
  return {
    targetBranch: names.base,
    workspace,
    alsoRoots: roots,
    diffs,
    coverage,
    report: createFindingCollector({
      anchorFile: createAnchorFiles(workspace, diffs),
      refuseToFinish: gate.refuseToFinish,
      minimumSeverity: mildestMinimum(config),
      isPrivate,
      onFinding: () => {},
    }),
    isPrivate,
  };
}
