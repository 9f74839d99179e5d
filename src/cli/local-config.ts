import { defaultRepoConfig, type RepoConfig } from "../config/repo-config.ts";
import type { Workspace } from "../git/workspace.ts";

/** The configuration that counts for a local range, and what was wrong with it in one line. */
export interface LocalConfig {
  config: RepoConfig;
  notice: string | null;
}

export async function loadLocalConfig(_workspace: Workspace): Promise<LocalConfig> {
  return { config: defaultRepoConfig, notice: null };
}
