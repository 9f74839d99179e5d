import { forAllRoles } from "../../src/agent/llm/model.ts";
import { RepoConfig } from "../../src/config/repo-config.ts";
import type { ReviewInput } from "../../src/tasks/shapes/review-input.ts";

/** A review with generous limits; `config` is the content of a repository's configuration file. */
export function reviewInput(
  over: Partial<Omit<ReviewInput, "config">> & { config?: unknown } = {},
): ReviewInput {
  const { config, ...rest } = over;
  return {
    targetBranch: "main",
    pull: null,
    history: null,
    limits: { turns: 20, tokens: 1_000_000, costUsd: null, milliseconds: 60_000 },
    models: forAllRoles({ name: "scripted", contextTokens: 128_000, protocol: "native" }),
    ...rest,
    config: RepoConfig.parse({ effort: "low", ...(config ?? {}) }),
  };
}
