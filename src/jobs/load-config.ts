import { type LoadedRepoConfig, loadRepoConfig } from "../config/load-repo-config.ts";
import type { PullRequest, RepositoryApi } from "../github/pull-request-api.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { JobDependencies } from "./job-dependencies.ts";

export interface ConfigOf {
  api: Pick<RepositoryApi, "fileAt">;
  pull: Pick<PullRequest, "baseSha">;
  repository: RepositoryRef;
}

/**
 * The configuration that holds for a pull request, whatever is asked about it: its base's, or its organisation's. Rejects where
 * GitHub cannot be asked, and with `config_invalid`, for then nobody knows what is private.
 */
export async function loadConfig(
  { api, pull, repository }: ConfigOf,
  { github }: Pick<JobDependencies, "github">,
  signal: AbortSignal,
): Promise<LoadedRepoConfig> {
  const organization = await github.organization(repository, signal);
  return loadRepoConfig((path) => api.fileAt(path, pull.baseSha), organization);
}
