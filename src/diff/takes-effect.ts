import { posix } from "node:path";

/** Names of files, in lower case, that programs look for and obey: what such a file says happens without anybody calling it. */
const names: readonly RegExp[] = [
  // Continuous integration.
  /^(?:jenkinsfile(?:\..*)?|.*\.jenkinsfile|action\.ya?ml|dangerfile(?:\..*)?)$/,
  /^\.?(?:gitlab-ci|travis|appveyor|cirrus|drone|wercker|codefresh|semaphore)\.(?:ya?ml|star|jsonnet)$/,
  /^(?:azure-pipelines|bitbucket-pipelines|cloudbuild|buildspec)[^/]*\.ya?ml$/,
  // Git, its hooks, and who has to approve.
  /^(?:codeowners|\.gitattributes|\.gitmodules|\.lfsconfig)$/,
  /^(?:(?:pre|post)-(?:commit|merge-commit|push|merge|rebase|checkout|rewrite|receive|update|applypatch)|(?:prepare-)?commit-msg|applypatch-msg)$/,
  /^(?:\.pre-commit-(?:config|hooks)\.ya?ml|\.?lefthook(?:-local)?\.(?:ya?ml|toml|jsonc?)|\.?(?:lintstagedrc|simple-git-hooks|huskyrc)(?:\..*)?|\.overcommit\.yml)$/,
  // Builds, tests and containers.
  /^(?:(?:gnu)?makefile|.*\.mk|cmakelists\.txt|meson\.build|configure(?:\.ac)?|build(?:\.bazel)?|workspace(?:\.bazel)?|module\.bazel|.*\.bzl|\.bazelrc)$/,
  /^(?:.*\.gradle(?:\.kts)?|gradlew(?:\.bat)?|mvnw(?:\.cmd)?|pom\.xml|(?:gradle|maven)-wrapper\.properties|build\.(?:rs|sbt|zig)|mix\.exs)$/,
  /^(?:.*\.(?:cs|vb|fs|vcx)proj|directory\.(?:build|packages)\.(?:props|targets)|.*\.targets|binding\.gyp)$/,
  /^(?:(?:.*\.)?(?:docker|container)file(?:\..*)?|(?:docker-)?compose[^/]*\.ya?ml|procfile|vagrantfile)$/,
  /^(?:rakefile|justfile|taskfile\.ya?ml|fastfile|gulpfile\..*|gruntfile\..*|[\w.-]+\.config\.[cm]?[jt]s|\.[\w-]+rc\.[cm]?js)$/,
  /^(?:conftest\.py|noxfile\.py|tox\.ini|sitecustomize\.py|usercustomize\.py|.*\.pth)$/,
  // Packages: what is fetched, from where, and what they run.
  /^(?:package\.json|\.npmrc|\.yarnrc(?:\.ya?ml)?|\.pnpmfile\..*|pnpm-workspace\.yaml|\.?bunfig\.toml|deno\.jsonc?|composer\.json)$/,
  /^(?:setup\.(?:py|cfg)|pyproject\.toml|pip\.conf|requirements[^/]*\.(?:txt|in)|pipfile|gemfile|.*\.gemspec|podfile|cargo\.toml|go\.(?:mod|work)|package\.swift)$/,
  // Programs of whoever opens the repository.
  /^(?:agents?\.md|claude\.md|gemini\.md|\.?mcp\.json|\.envrc|\.?mise\.toml|\.gitpod\.ya?ml|\.devcontainer\.json)$/,
];

const workflow = /^\.(?:github|gitea|forgejo)\/workflows\/[^/]+\.ya?ml$/;

/** Folders in which files of any name are run or obeyed. */
const folders: readonly RegExp[] = [
  /^\.(?:github|gitea|forgejo)\/(?:workflows|actions)\//,
  /^\.(?:circleci|buildkite|woodpecker|gitlab|gitlab-ci|semaphore|tekton|teamcity)\//,
  /(?:^|\/)\.?(?:husky|githooks|git-hooks|lefthook)\//,
  /(?:^|\/)\.(?:cargo|mvn|bundle|yarn|vscode|idea|devcontainer|cursor|claude)\//,
];

/** On some machines names that differ in case or in the form of a letter are one. */
const folded = (path: string) => path.normalize("NFKC").toLowerCase();

/** Whether a file at this path is run or obeyed by itself: by CI, by git, by a build, by an editor. */
export function takesEffect(path: string): boolean {
  const whole = folded(path);
  const name = posix.basename(whole);
  return names.some((one) => one.test(name)) || folders.some((one) => one.test(whole));
}

/** Whether a renamed file was a workflow and still is one: each of them runs, whatever its name is. */
export const staysWorkflow = (path: string, oldPath: string): boolean =>
  workflow.test(path) && workflow.test(oldPath);

/** Whether a renamed file that took effect does so in the same way: CI of one kind does not become CI of another. */
export function keepsEffect(path: string, oldPath: string): boolean {
  const [name, oldName] = [path, oldPath].map((one) => posix.basename(folded(one)));
  const isSame = name === oldName && workflow.test(path) === workflow.test(oldPath);
  return takesEffect(oldPath) && (isSame || staysWorkflow(path, oldPath));
}
