import { extensionOf } from "../../../repo/code/languages.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import type { ChangedFile } from "../../../repo/diff-source.ts";

/** The purpose of a file, by its path only. */
type FileKind = "code" | "configuration" | "test" | "documentation" | "data";

const documentation = new Set("md mdx markdown rst adoc asciidoc txt org tex pod".split(" "));

const data = new Set(
  (
    "json json5 jsonl ndjson csv tsv dat po pot xlf resx strings svg geojson golden snap out log diff " +
    "patch pem crt lock sum"
  ).split(" "),
);

const configuration = new Set(
  (
    "yml yaml toml ini cfg conf env properties xml plist editorconfig gradle cmake mk mak bzl bazel " +
    "nix tf tfvars hcl csproj vbproj props targets sln gemspec podspec cabal dockerfile service " +
    "gitattributes gitignore"
  ).split(" "),
);

/** Names of build, dependency and CI files that have no extension that says so. */
const configurationName =
  /^(?:Dockerfile|Containerfile|Makefile|GNUmakefile|Jenkinsfile|Vagrantfile|Procfile|Rakefile|Gemfile|Pipfile|Brewfile|Justfile|BUILD|WORKSPACE|CODEOWNERS|go\.mod|go\.work|CMakeLists\.txt|requirements[\w.-]*\.txt|(?:package|composer|deno|turbo|nx|lerna|renovate|vercel|firebase|[jt]sconfig[\w.-]*)\.json|[\w.-]+\.config\.\w+|\.[\w.-]+rc(?:\.\w+)?)$/;

const documentationName =
  /^(?:README|CHANGELOG|CHANGES|LICENSE|COPYING|NOTICE|AUTHORS|CONTRIBUTING|HISTORY)\b/;

/** Generated code: it is shipped, but its faults come from its source. */
const generatedPath = /(?:^|\/)(?:gen|generated|autogen)\/|[._-](?:gen|generated|g)\.\w+$/;

/** The file name without its folder and last extension: `login.test` for `src/login.test.ts`, `.env` for `.env`. */
export function stemOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  return dot > 0 ? name.slice(0, dot) : name;
}

/** An unknown file is code: better read too early. Code that looks generated is a test, because the author chooses its path. */
export function kindOf(path: string): FileKind {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const extension = extensionOf(path);
  if (configurationName.test(name)) return "configuration";
  if (documentation.has(extension) || documentationName.test(name)) return "documentation";
  if (data.has(extension)) return "data";
  if (isTestFile(path)) return "test";
  if (configuration.has(extension) || path.startsWith(".github/")) return "configuration";
  return generatedPath.test(path) ? "test" : "code";
}

/**
 * The possible loss by a fault in a file, as a number without a unit:
 *
 *     weight of its kind x (1 + size + removals + rules + users)
 *
 * | what it counts                                                        | at most |
 * |-----------------------------------------------------------------------|---------|
 * | size: changed lines, on a logarithmic scale; 1,000 are the maximum    | 0.8     |
 * | removals: removed lines in the same way; removed code may be missed   | 0.3     |
 * | rules: lines that analyzers matched; three are the maximum            | 0.5     |
 * | users: changed files that import it; 32 are the maximum               | 0.4     |
 *
 * The second factor is 3 at most. With these weights, tests, documentation and data never rank above code, documentation never above a
 * test, and data never above documentation, however much of them changed; code and configuration compete.
 */
export function fileRisk(
  { change }: ChangedFile,
  { matches, users }: Readonly<Record<"matches" | "users", number>>,
): number {
  const [added, removed] = [change.additions ?? 0, change.deletions ?? 0];
  const factor =
    1 +
    0.8 * share(added + removed, 1_000) +
    0.3 * share(removed, 1_000) +
    0.5 * Math.min(1, matches / 3) +
    0.4 * share(users, 32);
  return round(weights[kindOf(change.path)] * factor);
}

/** The weights of code, tests, documentation and data are each more than 3.5 times the next one. */
const weights: Record<FileKind, number> = {
  code: 10,
  configuration: 7,
  test: 2.8,
  documentation: 0.7,
  data: 0.15,
};

/** `count` as a share of `many`, at most 1, on a scale on which each doubling counts the same. */
const share = (count: number, many: number) => Math.min(1, Math.log2(1 + count) / Math.log2(1 + many));

/** Equal files have equal risks on every machine. */
const round = (value: number) => Math.round(value * 1_000) / 1_000;
