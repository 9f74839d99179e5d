import { loadRepoConfig, mostFiles, withNested } from "../config/load-config.ts";
import {
  defaultRepoConfig,
  type EffectiveConfig,
  nestedNames,
  type RepoConfig,
} from "../config/repo-config.ts";
import { AppError } from "../errors.ts";
import { listNamed } from "../git/object-listing.ts";
import { openWorkspace } from "../git/object-workspace.ts";
import type { CheckoutPlace } from "../git/workspace.ts";
import type { PullRequest, RepositoryApi } from "../github/pull-request-api.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { JobDependencies } from "./job-dependencies.ts";

export interface ConfigOf {
  api: Pick<RepositoryApi, "fileAt">;
  pull: Pick<PullRequest, "baseSha">;
  repository: RepositoryRef;
}

/**
 * The configuration for a pull request as a whole: its base's, or its organisation's. Folders may keep more from a model
 * (`withFolders`). Rejects if GitHub cannot be asked, and with `config_invalid`, because then nobody knows what is private.
 */
export async function loadConfig(
  { api, pull, repository }: ConfigOf,
  { github }: Pick<JobDependencies, "github">,
  signal: AbortSignal,
): Promise<RepoConfig> {
  const organization = await github.organization(repository, signal);
  return (await loadRepoConfig((path) => api.fileAt(path, pull.baseSha), organization)).config;
}

/**
 * The same with what the base's own files in folders add. It takes a checkout, and before it no model may be told of any path.
 * Rejects with `config_invalid` as well.
 */
export async function withFolders(config: RepoConfig, place: CheckoutPlace): Promise<EffectiveConfig> {
  await using workspace = openWorkspace(place);
  const query = { commit: place.shas.base, names: nestedNames, max: mostFiles + 1 };
  return await withNested(config, {
    tree: () => listNamed(place, query),
    readBlob: (oid) => workspace.readBlob(oid),
  });
}

/** What a review goes by. */
export interface ReviewConfig {
  config: EffectiveConfig;
  /**
   * Why the configuration was refused, one line for people; null if it was not. Nobody knows then what is private: no model
   * reads anything, and `config` is only what can be said without the refused file.
   */
  refused: string | null;
}

/** What a review goes by if a configuration may be refused: `otherwise` is left of it. Rejects for every other reason. */
export async function orRefused(
  loading: Promise<EffectiveConfig>,
  otherwise: EffectiveConfig = defaultRepoConfig,
): Promise<ReviewConfig> {
  try {
    return { config: await loading, refused: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "config_invalid") throw error;
    return { config: otherwise, refused: error.line };
  }
}
