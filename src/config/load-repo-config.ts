import { AppError } from "../errors.ts";
import { rootPaths } from "./config-files.ts";
import { type ConfigProblem, type ParsedRepoConfig, parseRepoConfig } from "./parse-repo-config.ts";
import { defaultRepoConfig } from "./repo-config.ts";

export type { ConfigProblem, ParsedRepoConfig };
export { parseRepoConfig };

/** Gives a file's text, undefined when there is none. Bound to one repository and one ref. */
export type ReadFile = (path: string) => Promise<string | undefined>;

export interface LoadedRepoConfig extends Omit<ParsedRepoConfig, "unreadable"> {
  /** The file that counts; null where there is none and the defaults hold. */
  path: string | null;
  /** Whether it is the organisation's. */
  inherited: boolean;
}

/**
 * Loads the configuration of a repository. `read` must be bound to the BASE ref: the head belongs to whoever opened the pull
 * request. `readOrganization` reads the default branch of the organisation's `.github` repository and is asked when the
 * repository has no file of its own. Rejects as the readers reject, because then nobody knows which paths are private.
 * @throws AppError `config_invalid` for a file that cannot be read so far that its private paths are known.
 */
export async function loadRepoConfig(read: ReadFile, readOrganization?: ReadFile): Promise<LoadedRepoConfig> {
  for (const reader of [read, readOrganization]) {
    for (const path of reader ? rootPaths : []) {
      const text = await reader?.(path);
      if (text !== undefined) return parsedOrRefused(text, path, reader === readOrganization);
    }
  }
  return { config: defaultRepoConfig, problems: [], path: null, inherited: false };
}

function parsedOrRefused(text: string, path: string, inherited: boolean): LoadedRepoConfig {
  const { config, problems, unreadable } = parseRepoConfig(text);
  if (!unreadable) return { config, problems, path, inherited };
  const file = inherited ? `the organisation's ${path}` : path;
  throw new AppError("config_invalid", `${file} ${unreadable.reason}`, { remedy: unreadable.remedy });
}
