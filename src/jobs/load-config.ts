import { nestedNames } from "../config/config-files.ts";
import { type ConfigProblem, type LoadedRepoConfig, loadRepoConfig } from "../config/load-repo-config.ts";
import { mostFiles, withNested } from "../config/nested/load-nested.ts";
import type { FileProblem } from "../config/nested/merge-nested.ts";
import type { EffectiveConfig } from "../config/repo-config.ts";
import type { CheckoutPlace } from "../git/checkout-place.ts";
import { openWorkspace } from "../git/object-workspace.ts";
import { listNamed } from "../git/object-listing.ts";
import type { PullRequest, RepositoryApi } from "../github/pull-request-api.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { JobDependencies } from "./job-dependencies.ts";

export interface ConfigOf {
  api: Pick<RepositoryApi, "fileAt">;
  pull: Pick<PullRequest, "baseSha">;
  repository: RepositoryRef;
}

/**
 * The configuration that holds for a pull request as a whole, whatever is asked about it: its base's, or its organisation's.
 * Folders may keep more from a model (`withFolders`). Rejects where GitHub cannot be asked, and with `config_invalid`, for then
 * nobody knows what is private.
 */
export async function loadConfig(
  { api, pull, repository }: ConfigOf,
  { github }: Pick<JobDependencies, "github">,
  signal: AbortSignal,
): Promise<LoadedRepoConfig> {
  const organization = await github.organization(repository, signal);
  return loadRepoConfig((path) => api.fileAt(path, pull.baseSha), organization);
}

/** What holds for a pull request, folder by folder. */
export interface FolderConfig extends Omit<LoadedRepoConfig, "config" | "problems"> {
  config: EffectiveConfig;
  problems: (ConfigProblem | FileProblem)[];
}

/**
 * The same with what the base's own files in folders add. It takes a checkout, and before it no model may be told of any path.
 * Rejects with `config_invalid` as well.
 */
export async function withFolders(loaded: LoadedRepoConfig, place: CheckoutPlace): Promise<FolderConfig> {
  await using workspace = openWorkspace(place);
  const query = { commit: place.shas.base, names: nestedNames, max: mostFiles + 1 };
  const { config, problems } = await withNested(loaded.config, {
    tree: () => listNamed(place, query),
    readBlob: (oid) => workspace.readBlob(oid),
  });
  return { ...loaded, config, problems: [...loaded.problems, ...problems] };
}
