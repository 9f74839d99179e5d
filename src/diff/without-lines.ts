import { posix } from "node:path";

/*
 * Changes that no diff shows as lines but that take effect. Their reasons are text for people.
 */

/** A link that is new or has a new target. */
export const LINK = "symbolic link to another place";
export const LINK_OUT = "symbolic link out of the repository";
const SUBMODULE = "submodule at another commit";
const SUBMODULE_ADDED = "new submodule";
/** Only in a work tree: no commit holds what is edited inside. */
export const SUBMODULE_EDITED = "submodule with uncommitted changes";
const BINARY_THAT_RUNS = "binary that runs";
export const RENAMED_INTO_EFFECT = "renamed to where it takes effect";
const RENAMED_OUT_OF_EFFECT = "renamed from where it took effect";
const EXECUTABLE_IN_EFFECT = "made executable where it takes effect";

/** Frequent, and rarely an attack: not reviewed, but does not block anyone either. */
const routine: ReadonlySet<string> = new Set([LINK, SUBMODULE, SUBMODULE_ADDED, SUBMODULE_EDITED]);

const all: ReadonlySet<string> = new Set([
  ...[...routine, LINK_OUT, BINARY_THAT_RUNS],
  ...[RENAMED_INTO_EFFECT, RENAMED_OUT_OF_EFFECT, EXECUTABLE_IN_EFFECT],
]);

/** Whether a skipped file's change has no lines but takes effect unreviewed. */
export const isUnreadWithoutLines = (reason: string): boolean => all.has(reason);

/** Whether this is routine: it prevents a green check, but never makes the check red. */
export const isRoutineWithoutLines = (reason: string): boolean => routine.has(reason);

/**
 * Files that are loaded, run or installed unchanged. Data archives are not included; npm's packages are the `.tgz` files that a lock file
 * may name.
 */
const runnable =
  /\.(?:jar|war|ear|aar|class|dex|apk|aab|exe|dll|com|scr|msi|sys|so(?:\.[\d.]+)?|dylib|ko|a|lib|o|elf|node|wasm|py[cdo]|whl|egg|gem|crate|tgz|nupkg|phar|deb|rpm|pkg|dmg|appimage|vsix|crx|xpi)$/i;

/** A change as git lists it. Modes are git's six octal digits. */
export interface ListedChange {
  path: string;
  oldPath: string | null;
  oldMode: string;
  newMode: string;
  oldOid: string;
  newOid: string;
  /** Null if git considers the file binary. */
  additions: number | null;
}

/** git's mode of an executable file. */
export const EXECUTABLE = "100755";

/** The effect of a change without lines, in a few words; null if it has none. */
export function effectWithoutLines(change: ListedChange): string | null {
  const { path, oldPath, oldMode, newMode, oldOid, newOid, additions } = change;
  if (newMode === "120000") return LINK;
  if (newMode === "160000" && oldMode !== newMode) return SUBMODULE_ADDED;
  if (newMode === "160000") return oldOid === newOid ? null : SUBMODULE;
  if (!newMode.startsWith("100")) return null;
  if (additions === null && (newMode === EXECUTABLE || runnable.test(path) || takesEffect(path)))
    return BINARY_THAT_RUNS;
  if (oldPath !== null) return effectOfRename(path, oldPath);
  const isMadeExecutable = oldMode === "100644" && newMode === EXECUTABLE && oldOid === newOid;
  return isMadeExecutable && takesEffect(path) ? EXECUTABLE_IN_EFFECT : null;
}

function effectOfRename(path: string, oldPath: string): string | null {
  if (staysWorkflow(path, oldPath)) return null;
  if (takesEffect(path)) return RENAMED_INTO_EFFECT;
  return takesEffect(oldPath) ? RENAMED_OUT_OF_EFFECT : null;
}

/** Whether a link at `path` leads out of the repository, into git's own folder, or to an unknown place. */
export function leadsOut(path: string, target: string): boolean {
  if (target === "" || /^[/\\~]|^[a-z]:|\0/i.test(target)) return true;
  const end = posix.normalize(posix.join(posix.dirname(path), target.replaceAll("\\", "/")));
  return end.split("/").some((name) => name === ".." || name.toLowerCase() === ".git");
}

/** Names of files, in lower case, that programs look for and follow automatically. */
const names: readonly RegExp[] = [
  // Continuous integration.
  /^(?:jenkinsfile(?:\..*)?|.*\.jenkinsfile|action\.ya?ml|dangerfile(?:\..*)?)$/,
  /^\.?(?:gitlab-ci|travis|appveyor|cirrus|drone|wercker|codefresh|semaphore)\.(?:ya?ml|star|jsonnet)$/,
  /^(?:azure-pipelines|bitbucket-pipelines|cloudbuild|buildspec)[^/]*\.ya?ml$/,
  // Git, its hooks, and required reviewers.
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
  // Packages: what is fetched, from where, and what is run.
  /^(?:package\.json|\.npmrc|\.yarnrc(?:\.ya?ml)?|\.pnpmfile\..*|pnpm-workspace\.yaml|\.?bunfig\.toml|deno\.jsonc?|composer\.json)$/,
  /^(?:setup\.(?:py|cfg)|pyproject\.toml|pip\.conf|requirements[^/]*\.(?:txt|in)|pipfile|gemfile|.*\.gemspec|podfile|cargo\.toml|go\.(?:mod|work)|package\.swift)$/,
  // Programs of anyone who opens the repository.
  /^(?:agents?\.md|claude\.md|gemini\.md|\.?mcp\.json|\.envrc|\.?mise\.toml|\.gitpod\.ya?ml|\.devcontainer\.json)$/,
];

const workflow = /^\.(?:github|gitea|forgejo)\/workflows\/[^/]+\.ya?ml$/;

/** Folders whose files are run or followed, whatever their names are. */
const folders: readonly RegExp[] = [
  /^\.(?:github|gitea|forgejo)\/(?:workflows|actions)\//,
  /^\.(?:circleci|buildkite|woodpecker|gitlab|gitlab-ci|semaphore|tekton|teamcity)\//,
  /(?:^|\/)\.?(?:husky|githooks|git-hooks|lefthook)\//,
  /(?:^|\/)\.(?:cargo|mvn|bundle|yarn|vscode|idea|devcontainer|cursor|claude)\//,
];

/** Some machines treat names that differ in case or in the form of a letter as the same. */
const folded = (path: string) => path.normalize("NFKC").toLowerCase();

/** Whether CI, git, a build or an editor runs or follows a file at this path automatically. */
export function takesEffect(path: string): boolean {
  const whole = folded(path);
  const name = posix.basename(whole);
  return names.some((one) => one.test(name)) || folders.some((one) => one.test(whole));
}

/** Whether a renamed file was a workflow and still is one: each of them runs, whatever its name is. */
export const staysWorkflow = (path: string, oldPath: string): boolean =>
  workflow.test(path) && workflow.test(oldPath);

/** Whether a renamed file takes effect in the same way as before: CI of one kind does not become CI of another. */
export function keepsEffect(path: string, oldPath: string): boolean {
  const [name, oldName] = [path, oldPath].map((one) => posix.basename(folded(one)));
  const isSame = name === oldName && workflow.test(path) === workflow.test(oldPath);
  return takesEffect(oldPath) && (isSame || staysWorkflow(path, oldPath));
}
