import { posix } from "node:path";

/* Paths that programs find by themselves: what is read whole when it moves, what no fix may change, and what attributes cannot skip. */

const APPROVAL = "it decides who must approve changes";
const GITHUB = "it configures the repository on GitHub";
const GIT = "it changes the behavior of git";
const CI = "it decides what runs in CI, with the rights of the repository";
const HOOKS = "git runs what it names";
const SOURCES = "it decides where packages come from, and what they may run";
const INSTALLED = "it decides what is fetched and run when packages are installed";
const PEOPLE = "it controls programs of people who open the repository";

/** Names of files, in lower case, that only a person may change, with the reason. */
const names: readonly (readonly [reason: string, name: RegExp])[] = [
  [APPROVAL, /^codeowners$/],
  [GIT, /^\.(?:gitattributes|gitmodules|gitconfig|lfsconfig)$/],
  [
    CI,
    /^(?:jenkinsfile(?:\..*)?|.*\.jenkinsfile|\.?(?:gitlab-ci|travis|appveyor|cirrus|drone|wercker|codefresh|semaphore)\.(?:ya?ml|star|jsonnet)|(?:azure-pipelines|bitbucket-pipelines|cloudbuild|buildspec)[^/]*\.ya?ml)$/,
  ],
  [
    HOOKS,
    /^(?:\.pre-commit-(?:config|hooks)\.ya?ml|\.?lefthook(?:-local)?\.(?:ya?ml|toml|jsonc?)|\.?(?:lintstagedrc|lint-staged|simple-git-hooks|huskyrc|captainhook)(?:\..*)?|lint-staged\.config\..*|\.overcommit\.yml)$/,
  ],
  [
    SOURCES,
    /^(?:\.npmrc|\.yarnrc(?:\.ya?ml)?|\.pnpmfile\..*|pnpm-workspace\.yaml|\.?bunfig\.toml|pip\.(?:conf|ini)|\.pypirc|\.condarc|\.netrc|_netrc|\.gemrc|nuget\.config|uv\.toml|poetry\.toml|gradle-wrapper\.properties|maven-wrapper\.properties|\.bazelrc|\.bazelversion)$/,
  ],
  [
    INSTALLED,
    /^(?:(?:dev-|test-)?requirements[^/]*\.(?:txt|in)|constraints\.txt|pyproject\.toml|setup\.(?:py|cfg)|pipfile|environment\.ya?ml|gemfile|gems\.rb|.*\.gemspec|cargo\.toml|go\.(?:mod|work)|composer\.json|deno\.jsonc?|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|libs\.versions\.toml|mix\.exs|package\.swift|podfile|pubspec\.yaml|flake\.nix|module\.bazel)$/,
  ],
  [
    PEOPLE,
    /^(?:agents?\.md|agents\.override\.md|claude(?:\.local)?\.md|gemini\.md|copilot-instructions\.md|\.?mcp\.json|opencode\.jsonc?|\.(?:cursor|windsurf|cline|roo)rules.*|\.goosehints|\.aider.*|\.envrc|\.?mise(?:\..*)?\.toml|\.tool-versions|.*\.code-workspace|\.devcontainer\.json|devfile\.ya?ml|\.gitpod\..*|\.replit|\.dir-locals\.el|\.n?vimrc|\.exrc|\.nvim\.lua|\.(?:gdb|lldb)init)$/,
  ],
];

/** Names of files, in lower case, that a fix may edit, because people read its lines before they merge them. */
const editableNames: readonly RegExp[] = [
  /^(?:action\.ya?ml|dangerfile(?:\..*)?|(?:renovate|netlify|vercel|wrangler|fly|dependabot)\.(?:json[5c]?|toml|ya?ml))$/,
  /^(?:(?:pre|post)-(?:commit|merge-commit|push|merge|rebase|checkout|rewrite|receive|update|applypatch)|(?:prepare-)?commit-msg|applypatch-msg)$/,
  /^(?:review\.md|skill\.md|.*\.(?:prompt|instructions|chatmode)\.md|\.?hunkwise\.ya?ml)$/,
  /^(?:(?:gnu)?makefile|.*\.mk|cmakelists\.txt|meson\.build|configure(?:\.ac)?|build(?:\.bazel)?|workspace(?:\.bazel)?|.*\.bzl)$/,
  /^(?:package\.json|.*\.gradle(?:\.kts)?|gradlew(?:\.bat)?|mvnw(?:\.cmd)?|build\.(?:rs|sbt|zig)|.*\.pth)$/,
  /^(?:.*\.(?:cs|vb|fs|vcx)proj|directory\.(?:build|packages)\.(?:props|targets)|.*\.targets|binding\.gyp)$/,
  /^(?:(?:.*\.)?(?:docker|container)file(?:\..*)?|(?:docker-)?compose[^/]*\.ya?ml|procfile|vagrantfile)$/,
  /^(?:rakefile|justfile|taskfile\.ya?ml|fastfile|gulpfile\..*|gruntfile\..*|[\w.-]+\.config\.[cm]?[jt]s|\.[\w-]+rc\.[cm]?js|tsconfig[\w.-]*\.json)$/,
  /^(?:conftest\.py|noxfile\.py|tox\.ini|pytest\.ini|sitecustomize\.py|usercustomize\.py)$/,
];

/** The same for folders with everything in them; paths in lower case. */
const folders: readonly (readonly [reason: string, path: RegExp])[] = [
  [CI, /^\.(?:github|gitea|forgejo)\/(?:workflows|actions)\//],
  [GITHUB, /^\.github\/[^/]+\.ya?ml$/],
  [
    CI,
    /^\.(?:circleci|buildkite|woodpecker|teamcity|gitea|forgejo|gitlab|gitlab-ci|semaphore|harness|tekton|azuredevops|azure-pipelines|jenkins|drone|dagger)\//,
  ],
  [INSTALLED, /(?:^|\/)requirements\/[^/]+\.(?:txt|in)$/],
  ["git runs the files there", /(?:^|\/)\.?(?:husky|githooks|git-hooks|lefthook)\//],
  [SOURCES, /(?:^|\/)\.(?:cargo|mvn|bundle|yarn|pnpm)\//],
  [
    PEOPLE,
    /(?:^|\/)\.(?:vscode|vs|idea|fleet|zed|nova|cursor|claude|codex|gemini|agents?|opencode|roo|kiro|amazonq|augment|clinerules|aider|continue|windsurf|devcontainer|codesandbox|idx)\//,
  ],
];

/** Paths in lower case by which frameworks, containers and init systems find routes, guards, migrations and programs. */
const registered: readonly RegExp[] = [
  /(?:^|\/)(?:middleware|proxy|instrumentation(?:-client)?)\.[cm]?[jt]sx?$/,
  /(?:^|\/)pages\/.*\.(?:[cm]?[jt]sx?|vue|astro)$/,
  /(?:^|\/)app\/(?:.*\/)?(?:page|route|layout|template|default|(?:global-)?error|not-found|loading|sitemap|robots|manifest)\.[jt]sx?$/,
  /(?:^|\/)(?:routes|server\/(?:api|middleware|plugins))\//,
  /^(?:(?:netlify\/|supabase\/)?functions|api)\/.*\.(?:[cm]?[jt]sx?|py|go|rb|php)$/,
  /(?:^|\/)(?:config\/(?:initializers|environments)|migrations|db\/migrat(?:e|ion)|alembic\/versions|management\/commands)\//,
  /(?:^|\/)app\/(?:providers|http\/middleware|console\/commands)\//,
  /(?:^|\/)(?:docker-entrypoint(?:-init\w*)?|cron|init|rc\d?|profile|conf|sudoers|udev\/rules)\.d\//,
  /\.tf$|(?:^|\/)(?:lib\/tasks|mu-plugins|web-inf|vars|roles|k8s|kubernetes|manifests)\/|(?:^|\/)(?:public\/.*\.php|hooks\.(?:server|client)\.[jt]s|crontab)$/,
  /(?:^|\/)(?:cron\.(?:hourly|daily|weekly|monthly)|systemd\/system)\/|\.(?:service|timer|socket)$/,
];

/** Some machines treat names that differ in case or in the form of a letter as the same. */
const folded = (path: string) => path.normalize("NFKC").toUpperCase().toLowerCase();

/** Whether CI, git, a build, an editor or an agent runs or follows a file at this path automatically. */
export function takesEffect(path: string): boolean {
  const whole = folded(path);
  const name = posix.basename(whole);
  const isNamed = names.some(([, one]) => one.test(name)) || editableNames.some((one) => one.test(name));
  return isNamed || folders.some(([, one]) => one.test(whole));
}

/** Whether it takes effect, or a framework finds it, at this path: what moves there or away, or gets another mode, is read whole. */
export const isFoundByPath = (path: string): boolean =>
  takesEffect(path) || registered.some((one) => one.test(folded(path)));

/** Why only a person may change a file at this path; null if a fix may. A folder of such a name would replace the file. */
export function whyOnlyPeople(path: string): string | null {
  const whole = folded(path);
  const isNamed = (name: string) => names.find(([, one]) => one.test(name));
  const named = whole
    .split("/")
    .map(isNamed)
    .find((row) => row !== undefined);
  const inFolder = () => folders.find(([, one]) => one.test(whole))?.[0];
  return named?.[0] ?? inFolder() ?? (whole.startsWith(".github/") ? GITHUB : null);
}
