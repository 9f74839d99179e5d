import { type ConfigProblem, loadRepoConfig } from "../config/load-repo-config.ts";
import { withNested } from "../config/nested/load-nested.ts";
import { isPrivateName } from "../config/private-places.ts";
import type { EffectiveConfig } from "../config/repo-config.ts";
import { AppError } from "../errors.ts";
import type { Workspace } from "../git/workspace.ts";

/** The configuration that counts for a local range: the base's, because the head belongs to whoever wrote the change. */
export interface LocalConfig {
  config: EffectiveConfig;
  /** The repository's file at the base; null where there is none and the defaults hold. */
  path: string | null;
  /** What was wrong with the files, one line each. */
  notices: string[];
}

export async function loadLocalConfig(workspace: Workspace): Promise<LocalConfig> {
  const root = await loadRepoConfig((file) => textAtBase(workspace, file));
  const nested = await withNested(root.config, workspace);
  const problems = [
    ...root.problems.map((problem) => ({ file: root.path ?? "", ...problem })),
    ...nested.problems,
  ];
  const notices = problems.map((problem) => `${problemLine(problem.file, problem)}${effectOf(problem)}`);
  return { config: nested.config, path: root.path, notices };
}

/** Private paths hold also where they stand wrongly, an unknown key and an entry of a list have no default, and of a whole file the message says what counts. */
function effectOf({ key, message }: ConfigProblem): string {
  if (key === null) return message.includes("count") ? "" : ". The defaults hold";
  if (isPrivateName(key) || message.startsWith("is not known")) return "";
  return key.includes("[") ? ". The entry is ignored" : ". Its default holds";
}

/** "FILE:3: review.drafts must be true or false", as editors and terminals jump to it. */
export function problemLine(file: string, { line, key, message }: ConfigProblem): string {
  return `${file}${line === null ? "" : `:${line}`}: ${key === null ? "" : `${key} `}${message}`;
}

async function textAtBase(workspace: Workspace, path: string): Promise<string | undefined> {
  const entry = (await workspace.tree("base")).get(path);
  if (!entry) return undefined;
  // The target of a symbolic link need not be of this revision, and without it nobody knows which paths are private.
  if (!entry.mode.startsWith("100")) {
    throw new AppError(
      "config_invalid",
      `${path} is not a regular file, so nobody knows which paths are private`,
      {
        remedy: "Replace it by the file itself.",
      },
    );
  }
  return (await workspace.readBlob(entry.oid)).text;
}
