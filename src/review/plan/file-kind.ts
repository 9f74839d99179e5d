import { extensionOf } from "../../code/languages.ts";

/** The purpose of a file, by its path only. */
export type FileKind = "code" | "configuration" | "test" | "documentation" | "data";

const documentation = new Set([
  "md",
  "mdx",
  "markdown",
  "rst",
  "adoc",
  "asciidoc",
  "txt",
  "org",
  "tex",
  "pod",
]);

const data = new Set([
  ...["json", "json5", "jsonl", "ndjson", "csv", "tsv", "dat", "po", "pot", "xlf", "resx", "strings"],
  ...["svg", "geojson", "golden", "snap", "out", "log", "diff", "patch", "pem", "crt", "lock", "sum"],
]);

const configuration = new Set([
  ...["yml", "yaml", "toml", "ini", "cfg", "conf", "env", "properties", "xml", "plist", "editorconfig"],
  ...[
    "gradle",
    "cmake",
    "mk",
    "mak",
    "bzl",
    "bazel",
    "nix",
    "tf",
    "tfvars",
    "hcl",
    "csproj",
    "vbproj",
    "props",
  ],
  ...["targets", "sln", "gemspec", "podspec", "cabal", "dockerfile", "service", "gitattributes", "gitignore"],
]);

/** Names of build, dependency and CI files that have no telling extension. */
const configurationName =
  /^(?:Dockerfile|Containerfile|Makefile|GNUmakefile|Jenkinsfile|Vagrantfile|Procfile|Rakefile|Gemfile|Pipfile|Brewfile|Justfile|BUILD|WORKSPACE|CODEOWNERS|go\.mod|go\.work|CMakeLists\.txt|requirements[\w.-]*\.txt|(?:package|composer|deno|turbo|nx|lerna|renovate|vercel|firebase|[jt]sconfig[\w.-]*)\.json|[\w.-]+\.config\.\w+|\.[\w.-]+rc(?:\.\w+)?)$/;

const documentationName =
  /^(?:README|CHANGELOG|CHANGES|LICENSE|COPYING|NOTICE|AUTHORS|CONTRIBUTING|HISTORY)\b/;

const testFolders = new Set(
  "test tests __tests__ spec specs testing e2e testdata test-data fixtures __fixtures__ __mocks__ cypress".split(
    " ",
  ),
);

const testName =
  /^(?:test_.*|.*_test|.*_spec|.*[.-](?:test|spec|cy|e2e)|conftest|Test[A-Z].*|.*[a-z\d](?:Tests?|TestCase|IT))$/;

/** Generated code: it is shipped, but its faults come from its source. */
const generatedPath = /(?:^|\/)(?:gen|generated|autogen)\/|[._-](?:gen|generated|g)\.\w+$/;

/** The file name without its folder and last extension: `login.test` for `src/login.test.ts`, `.env` for `.env`. */
export function stemOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/**
 * The kind of a file. Its extension comes first, so a program in `docs/` is code; a folder or a name makes code a test. An unknown file is
 * code, because it is better to read it too early than too late. Code that looks generated counts as a test and not as data, because the
 * pull request chooses its paths.
 */
export function kindOf(path: string): FileKind {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const extension = extensionOf(path);
  if (configurationName.test(name)) return "configuration";
  if (documentation.has(extension) || documentationName.test(name)) return "documentation";
  if (data.has(extension)) return "data";
  if (isTestPath(path)) return "test";
  if (configuration.has(extension) || path.startsWith(".github/")) return "configuration";
  return generatedPath.test(path) ? "test" : "code";
}

/** Whether a path is one of tests, or of files that tests need. */
export function isTestPath(path: string): boolean {
  const folders = path.split("/").slice(0, -1);
  return folders.some((folder) => testFolders.has(folder)) || testName.test(stemOf(path));
}
