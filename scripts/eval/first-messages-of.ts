import { join, resolve } from "node:path";
import { forAllRoles, type Message, type Model } from "../../src/agent/llm/model.ts";
import { createReviewGraph } from "../../src/border/review-graph.ts";
import { loadLocalConfig, type OpenRange, openRange } from "../../src/cli/open-range.ts";
import { inputOf } from "../../src/cli/review-range.ts";
import { AppError } from "../../src/core/errors.ts";
import { createPrivacy } from "../../src/repo/diff/filter.ts";
import { createDiffSource } from "../../src/repo/diff-source.ts";
import { openGraph, sourceOfWorkspace } from "../../src/repo/index/open-graph.ts";
import { createAnchorFiles } from "../../src/tasks/anchor/anchor.ts";
import { startRun, type WorkDependencies } from "../../src/tasks/loop/review-run.ts";
import { windowFor } from "../../src/tasks/loop/run-loop.ts";
import { createReviewCoverage } from "../../src/tasks/review/find/coverage-gate.ts";
import { planReview, startUnit } from "../../src/tasks/review/find/review-units.ts";
import { findReviewedHunks } from "../../src/tasks/reviewed/known-change.ts";
import { ruleMatches, runAnalyzers } from "../../src/tasks/rules/rule-matches.ts";
import type { EvalCase } from "./case-format.ts";
import { openCaseRepository } from "./case-repository.ts";
import { pullTextOf } from "./open-case.ts";

/** The first messages of a case's review. */
export interface FirstMessages {
  /** The messages of each unit of the change. */
  units: Message[][];
  /** Duration of the plan and the messages, without the checkout and the analyzers. */
  milliseconds: number;
}

/** The context window on which the figures are based. */
export const CONTEXT_TOKENS = 128_000;

/** A model with a common window size and tool calls; it is never called. */
const model: Model = {
  ...{ name: "none", contextTokens: CONTEXT_TOKENS, protocol: "native" },
  respond: () => Promise.reject(new AppError("model_failed", "no model is asked here")),
};

export interface FirstMessagesOptions {
  repos: string | null;
  /** Folder of the cases' indexes; a missing index is built. Null: reviews without a graph. */
  graphs: string | null;
  signal: AbortSignal;
}

interface GraphOptions extends Pick<OpenRange, "place" | "workspace"> {
  isPrivate(path: string): boolean;
  graphs: string | null;
  signal: AbortSignal;
}

/** As on a server: an index of the base branch, built beforehand. */
async function graphOf(
  one: EvalCase,
  options: GraphOptions,
): Promise<ReturnType<typeof createReviewGraph> | null> {
  const { place, workspace, isPrivate, graphs, signal } = options;
  if (graphs === null) return null;
  const file = join(resolve(graphs), `${one.name}.db`);
  const source = await sourceOfWorkspace(workspace, isPrivate, "base");
  (await openGraph({ file, source, signal }))[Symbol.dispose]();
  const onCrash = (error: string) => void process.stderr.write(`${one.name}: ${error}\n`);
  return createReviewGraph({ place, workspace, file, isPrivate, earlier: [], onCrash, signal });
}

/** Builds the first messages of all units of a case, as in a review. */
export async function firstMessagesOf(
  one: EvalCase,
  { repos, graphs, signal }: FirstMessagesOptions,
): Promise<FirstMessages> {
  await using repository = await openCaseRepository(one, repos);
  await using range = await openRange({ ...repository, signal });
  const { workspace } = range;
  const { config } = await loadLocalConfig(workspace);
  const models = forAllRoles(model);
  const input = { ...inputOf(range.names.base, config, models), pull: pullTextOf(one) };
  const diffs = createDiffSource(workspace, { ignore: config.paths.ignore, private: config.paths.private });
  const files = await diffs.files();
  const deps: WorkDependencies = {
    ...{ workspace, diffs, models, signal },
    trajectory: { append: async () => {} },
    replay: [],
    isPrivate: createPrivacy(config.paths.private),
    progress: () => {},
    now: Date.now,
    startedAt: Date.now(),
  };
  await using graph = await graphOf(one, { ...range, isPrivate: deps.isPrivate, graphs, signal });
  const analysis = await runAnalyzers(files, deps);
  const began = performance.now();
  const known = findReviewedHunks(files, null, diffs);
  const run = await startRun(
    input,
    { ...deps, ...(graph && { graph }) },
    {
      files,
      analysis,
      matches: ruleMatches(analysis.findings),
      coverage: createReviewCoverage(files),
      known,
      anchorFile: createAnchorFiles(workspace, diffs),
    },
  );
  const { units } = await planReview(run);
  const messages: Message[][] = [];
  for (const unit of units) {
    const window = windowFor(model, unit.diffBytes, units.length === 1);
    messages.push([...(await startUnit(run, { files: unit.files, window })).messages]);
  }
  return { units: messages, milliseconds: performance.now() - began };
}
