import type { Models } from "../../src/agent/llm/model.ts";
import { createDiffSource } from "../../src/repo/diff-source.ts";
import type { Workspace } from "../../src/repo/git/workspace.ts";
import type { ReviewDependencies } from "../../src/tasks/loop/review-run.ts";

/** The ports of a review that records nothing, keeps no file private, and has no end. */
export const reviewDependencies = <Asked extends Models | null>(
  workspace: Workspace,
  models: Asked,
  over: Partial<Omit<ReviewDependencies, "models">> = {},
): ReviewDependencies & { models: Asked } => ({
  workspace,
  diffs: createDiffSource(workspace, { ignore: [], private: [] }),
  trajectory: { append: async () => {} },
  replay: [],
  isPrivate: () => false,
  progress: () => {},
  signal: new AbortController().signal,
  now: () => 0,
  startedAt: 0,
  ...over,
  models,
});
