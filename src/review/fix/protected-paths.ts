import { isNestedName } from "../../config/config-files.ts";
import { pathFault } from "../../diff/path-fault.ts";
import { reasonByName } from "../../diff/skipped-names.ts";

const runsInCi = "it decides what runs in CI, with the rights of the repository";
const steersPrograms = "it steers programs of whoever opens the repository";

/** Folders and files by the end of their path, in lower case: `/name/` at any depth, `/name` at the root alone with `^`. */
const folders: readonly (readonly [RegExp, string])[] = [
  [/^\.github\/(?:workflows|actions)\//, runsInCi],
  [/^\.github\/[^/]+\.ya?ml$/, "it configures the repository on GitHub"],
  [/^\.(?:circleci|buildkite|woodpecker|teamcity|gitea|forgejo)\//, runsInCi],
  [/(?:^|\/)\.?(?:husky|githooks|git-hooks)\//, "git runs what stands there"],
  [/(?:^|\/)\.(?:vscode|idea|cursor|claude|codex|gemini|devcontainer|continue|windsurf)\//, steersPrograms],
];

const names = new Map<string, string>([
  ...["codeowners"].map((name) => [name, "it says who has to approve what"] as const),
  ...[".gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig"].map(
    (name) => [name, "it changes what git does"] as const,
  ),
  ...["jenkinsfile", ".gitlab-ci.yml", ".travis.yml", ".drone.yml", "bitbucket-pipelines.yml"].map(
    (name) => [name, runsInCi] as const,
  ),
  ...["azure-pipelines.yml", "appveyor.yml", ".appveyor.yml", "cloudbuild.yaml", ".cirrus.yml"].map(
    (name) => [name, runsInCi] as const,
  ),
  ...[".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", ".lintstagedrc", ".lintstagedrc.json"].map(
    (name) => [name, "git runs what it names"] as const,
  ),
  ...[".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "pip.conf", ".pypirc", ".netrc"].map(
    (name) => [name, "it says where packages come from"] as const,
  ),
  ...["agents.md", "claude.md", "gemini.md", ".mcp.json", ".cursorrules", ".envrc"].map(
    (name) => [name, steersPrograms] as const,
  ),
]);

/**
 * Why nobody but a person changes the file at this path; null for one that a fix may change. Upper and lower case are one: on some
 * machines they are one file.
 */
export function protectionOf(path: string): string | null {
  if (pathFault(path) !== undefined) return "it is no path of a file in the repository";
  const lower = path.toLowerCase();
  const name = lower.slice(lower.lastIndexOf("/") + 1);
  if (isNestedName(lower)) return "it is the configuration of these reviews";
  const named = names.get(name);
  if (named !== undefined) return named;
  if (reasonByName(path) === "lock file") return "it is a lock file, which a package program writes";
  return folders.find(([pattern]) => pattern.test(lower))?.[1] ?? null;
}
