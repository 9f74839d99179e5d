import { isNestedName } from "../../config/repo-config.ts";
import { pathFault } from "../../diff/paths.ts";
import { isLockFile } from "../../diff/skipped-names.ts";
import { foldedPath, isPlainPath } from "./plain-path.ts";

/** Reasons, and names of files by what they have in common: what takes effect before anybody has looked at it. */
const rules: readonly (readonly [reason: string, names: RegExp])[] = [
  ["it says who has to approve what", /^codeowners$/],
  ["it changes what git does", /^\.(?:gitattributes|gitmodules|gitconfig|lfsconfig)$/],
  [
    "it decides what runs in CI, with the rights of the repository",
    /^(?:jenkinsfile(?:\..*)?|.*\.jenkinsfile|\.?(?:gitlab-ci|travis|appveyor|cirrus|drone|wercker|codefresh|semaphore)\.(?:ya?ml|star|jsonnet)|(?:azure-pipelines|bitbucket-pipelines|cloudbuild|buildspec)[^/]*\.ya?ml)$/,
  ],
  [
    "git runs what it names",
    /^(?:\.pre-commit-(?:config|hooks)\.ya?ml|\.?lefthook(?:-local)?\.(?:ya?ml|toml|jsonc?)|\.?(?:lintstagedrc|lint-staged|simple-git-hooks|huskyrc|captainhook)(?:\..*)?|lint-staged\.config\..*|\.overcommit\.yml)$/,
  ],
  [
    "it says where packages come from, and what they may run",
    /^(?:\.npmrc|\.yarnrc(?:\.ya?ml)?|\.pnpmfile\..*|pnpm-workspace\.yaml|\.?bunfig\.toml|pip\.(?:conf|ini)|\.pypirc|\.condarc|\.netrc|_netrc|\.gemrc|nuget\.config|uv\.toml|poetry\.toml|gradle-wrapper\.properties|maven-wrapper\.properties|\.bazelrc|\.bazelversion)$/,
  ],
  [
    "it names what is fetched and run when packages are installed",
    /^(?:(?:dev-|test-)?requirements[^/]*\.(?:txt|in)|constraints\.txt|pyproject\.toml|setup\.(?:py|cfg)|pipfile|environment\.ya?ml|gemfile|gems\.rb|.*\.gemspec|cargo\.toml|go\.(?:mod|work)|composer\.json|deno\.jsonc?|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|libs\.versions\.toml|mix\.exs|package\.swift|podfile|pubspec\.yaml|flake\.nix|module\.bazel)$/,
  ],
  [
    "it steers programs of whoever opens the repository",
    /^(?:agents?\.md|agents\.override\.md|claude(?:\.local)?\.md|gemini\.md|copilot-instructions\.md|\.?mcp\.json|opencode\.jsonc?|\.(?:cursor|windsurf|cline|roo)rules.*|\.goosehints|\.aider.*|\.envrc|\.?mise(?:\..*)?\.toml|\.tool-versions|.*\.code-workspace|\.devcontainer\.json|devfile\.ya?ml|\.gitpod\..*|\.replit|\.dir-locals\.el|\.n?vimrc|\.exrc|\.nvim\.lua|\.(?:gdb|lldb)init)$/,
  ],
];

/** The same for folders with all that is in them: of the root where their pattern has no other place. */
const folders: readonly (readonly [reason: string, path: RegExp])[] = [
  ["it decides what runs in CI, with the rights of the repository", /^\.github\/(?:workflows|actions)\//],
  ["it configures the repository on GitHub", /^\.github\//],
  [
    "it decides what runs in CI, with the rights of the repository",
    /^\.(?:circleci|buildkite|woodpecker|teamcity|gitea|forgejo|gitlab|gitlab-ci|semaphore|harness|tekton|azuredevops|azure-pipelines|jenkins|drone|dagger)\//,
  ],
  [
    "it names what is fetched and run when packages are installed",
    /(?:^|\/)requirements\/[^/]+\.(?:txt|in)$/,
  ],
  ["git runs what stands there", /(?:^|\/)\.?(?:husky|githooks|git-hooks|lefthook)\//],
  ["it says where packages come from, and what they may run", /(?:^|\/)\.(?:cargo|mvn|bundle|yarn|pnpm)\//],
  [
    "it steers programs of whoever opens the repository",
    /(?:^|\/)\.(?:vscode|vs|idea|fleet|zed|nova|cursor|claude|codex|gemini|agents?|opencode|roo|kiro|amazonq|augment|clinerules|aider|continue|windsurf|devcontainer|codesandbox|idx)\//,
  ],
];

/**
 * Why nobody but a person changes the file at this path; null for one that a fix may change. Upper and lower case are one: on some
 * machines they are one file. A name is looked at as one of a folder too, which would take the place of the file.
 */
export function protectionOf(path: string): string | null {
  if (pathFault(path) !== undefined) return "it is no path of a file in the repository";
  if (!isPlainPath(path)) return "its name is not that of the same file on every machine";
  const folded = foldedPath(path);
  for (const name of folded.split("/")) {
    if (isNestedName(name)) return "it is the configuration of these reviews";
    const rule = rules.find(([, names]) => names.test(name));
    if (rule) return rule[0];
    if (isLockFile(name)) return "it is a lock file, which a package program writes";
  }
  return folders.find(([, pattern]) => pattern.test(folded))?.[0] ?? null;
}
