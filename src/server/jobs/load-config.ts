import { loadRepoConfig, mostListed, withNested } from "../../config/load-config.ts";
import { defaultRepoConfig, type EffectiveConfig, isConfigName } from "../../config/repo-config.ts";
import { AppError } from "../../core/errors.ts";
import type { PullRequest, RepositoryApi } from "../../pull/github/pull-request-api.ts";
import { listNamed } from "../../repo/git/object-listing.ts";
import { openWorkspace } from "../../repo/git/object-workspace.ts";
import type { RevisionPlace } from "../../repo/git/workspace.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { JobDependencies } from "./job-dependencies.ts";

interface ConfigOf {
  api: Pick<RepositoryApi, "fileAt">;
  pull: Pick<PullRequest, "baseSha">;
  repository: RepositoryRef;
}

/**
 * The configuration for a pull request as a whole. Rejects if GitHub cannot be reached, and with `config_invalid`, because the private paths
 * are then unknown.
 */
export async function loadConfig(
  { api, pull, repository }: ConfigOf,
  { github, settings }: Pick<JobDependencies, "github" | "settings">,
  signal: AbortSignal,
): Promise<EffectiveConfig> {
  const readOrganization = await github.organization(repository, signal);
  const read = (path: string) => api.fileAt(path, pull.baseSha);
  const { requiresPolicy } = settings;
  return settings.narrow((await loadRepoConfig(read, { readOrganization, requiresPolicy })).config);
}

/** The same, with the base's own configuration files in folders: no model may see any path before. Also rejects with `config_invalid`. */
export async function withFolders(
  config: EffectiveConfig,
  place: RevisionPlace,
  { settings }: Pick<JobDependencies, "settings">,
): Promise<EffectiveConfig> {
  await using workspace = openWorkspace(place);
  const query = { commit: place.shas.base, isWanted: isConfigName, max: mostListed };
  const nested = await withNested(config, {
    tree: () => listNamed(place, query),
    readBlob: (oid) => workspace.readBlob(oid),
  });
  return settings.narrow(nested);
}

export interface ReviewConfig {
  config: EffectiveConfig;
  /**
   * Why the configuration was refused, as one line for people; null if it was not. The private paths are then unknown: no model reads
   * anything, and `config` holds only what is known without the refused file.
   */
  refused: string | null;
}

/** The configuration for a review, which goes on without a refused file. */
export const reviewConfig = (
  of: ConfigOf,
  deps: Pick<JobDependencies, "github" | "settings">,
  signal: AbortSignal,
): Promise<ReviewConfig> => orRefused(loadConfig(of, deps, signal), deps.settings.narrow(defaultRepoConfig));

/** `otherwise` is what is left of a refused configuration. */
export async function orRefused(
  loading: Promise<EffectiveConfig>,
  otherwise: EffectiveConfig,
): Promise<ReviewConfig> {
  try {
    return { config: await loading, refused: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "config_invalid") throw error;
    return { config: otherwise, refused: error.line };
  }
}
