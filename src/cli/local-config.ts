import { configText, loadRepoConfig, refuseIrregular, withNested } from "../config/load-config.ts";
import type { EffectiveConfig } from "../config/repo-config.ts";
import type { Workspace } from "../git/workspace.ts";

/** The configuration that counts for a local range: the base's, because the head belongs to whoever wrote the change. */
export interface LocalConfig {
  config: EffectiveConfig;
  /** The repository's file at the base; null if there is none and the defaults hold. */
  path: string | null;
}

/** Rejects with `config_invalid` if a file is refused: nobody knows then what is private. */
export async function loadLocalConfig(workspace: Workspace): Promise<LocalConfig> {
  const { config, path } = await loadRepoConfig((file) => textAtBase(workspace, file));
  return { config: await withNested(config, workspace), path };
}

async function textAtBase(workspace: Workspace, path: string): Promise<string | undefined> {
  const entry = (await workspace.tree("base")).get(path);
  if (!entry) return undefined;
  if (!entry.mode.startsWith("100")) return refuseIrregular(path);
  return configText(await workspace.readBlob(entry.oid));
}
