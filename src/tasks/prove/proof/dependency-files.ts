import { isLockFile } from "../../../repo/diff/skipped-names.ts";
import type { Change } from "../../../repo/git/workspace.ts";

/** Names of files that decide what a package manager installs or how, besides lock files; in lower case. */
const names = new Set(
  [
    // npm, Yarn, pnpm, Bun, Deno, and what chooses their versions
    "package.json package.json5 package.yaml .npmrc .yarnrc .yarnrc.yml .pnp.cjs .pnp.loader.mjs",
    "pnpm-workspace.yaml .pnpmfile.cjs .pnpmfile.mjs bunfig.toml deno.json deno.jsonc lerna.json",
    "rush.json jsr.json binding.gyp .node-version .nvmrc .tool-versions mise.toml",
    // Python
    "setup.py setup.cfg pyproject.toml pipfile pip.conf pip.ini poetry.toml uv.toml environment.yml",
    "environment.yaml conda.yml meta.yaml .condarc pixi.toml pdm.toml manifest.in .python-version",
    "runtime.txt .pydistutils.cfg tox.ini noxfile.py",
    // Rust, Go
    "cargo.toml build.rs rust-toolchain rust-toolchain.toml go.mod go.work",
    // The Java virtual machine
    "pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties",
    "libs.versions.toml gradlew mvnw gradle-wrapper.properties gradle-wrapper.jar",
    "maven-wrapper.properties maven-wrapper.jar build.sbt deps.edn project.clj",
    // Ruby, PHP, .NET, Elixir, Swift, Dart, C++
    "gemfile gems.rb .ruby-version composer.json nuget.config packages.config",
    "directory.packages.props mix.exs rebar.config package.swift podfile cartfile pubspec.yaml",
    "conanfile.txt conanfile.py vcpkg.json",
  ].flatMap((line) => line.split(" ")),
);

/** Other names and places, in lower case. Packages that are kept in the repository are dependencies, too. */
const patterns = [
  /(^|\/)[^/]*(requirements|constraints)[^/]*\.(txt|in)$/,
  /(^|\/)(requirements|constraints)\/[^/]+\.(txt|in)$/,
  /\.(gemspec|cabal|csproj|fsproj|vbproj|podspec)$/,
  /(^|\/)\.(cargo|yarn|mvn|bundle|pip|npm|pnpm)\//,
  /(^|\/)gradle\/[^/]+\.(gradle|kts|toml|properties)$/,
  /(^|\/)(buildsrc|node_modules|site-packages|\.?venv)(\/|$)/,
  /^vendor\//,
  /(^|\/)patches\/[^/]+\.patch$/,
];

/** What `make` and its kin read without being told. */
const recipes = new Set(
  "makefile gnumakefile justfile .justfile taskfile.yml taskfile.yaml rakefile".split(" "),
);
const runners = new Set(["make", "gmake", "just", "task", "rake"]);

interface Word {
  text: string;
  /** Whether it is written like a path; any other word may be the name of a folder by chance (`npm ci`). */
  isPath: boolean;
}

/** A folder in which a command runs: it names none of its files. */
const workingFolder = /(?:\bcd|--prefix|--dir|--cwd|\s-C)[\s=]+[^\s;&|]+/g;

const wordsOf = (command: string): Word[] =>
  command
    .replaceAll(workingFolder, " ")
    .split(/[\s'"`;&|()<>=,:]+/)
    .map((word) => ({
      text: word.replace(/^(\.\/)+/, "").replace(/\/+$/, ""),
      isPath: word.includes("/"),
    }))
    .filter(({ text }) => !["", ".", ".."].includes(text));

/** The paths that decide what a command installs: manifests, lock files, settings, packages, and what the command names. */
export function dependencyFiles(paths: Iterable<string>, command: string): string[] {
  const words = wordsOf(command);
  const readsRecipes = words.some(({ text }) => runners.has(text));
  const isNamed = (path: string) =>
    words.some(
      ({ text, isPath }) => `/${path}`.endsWith(`/${text}`) || (isPath && `/${path}`.includes(`/${text}/`)),
    );
  return [...paths].filter((path) => {
    const lower = path.toLowerCase();
    const name = lower.slice(lower.lastIndexOf("/") + 1);
    return (
      names.has(name) ||
      isLockFile(name) ||
      (readsRecipes && recipes.has(name)) ||
      patterns.some((pattern) => pattern.test(lower)) ||
      isNamed(path)
    );
  });
}

/** The changed files that decide what a command installs; sorted. An environment is made of the merge base alone. */
export function changedDependencies(
  changes: Iterable<Pick<Change, "path" | "oldPath">>,
  command: string,
): string[] {
  const paths = [...changes].flatMap(({ path, oldPath }) => (oldPath === null ? [path] : [path, oldPath]));
  return [...new Set(dependencyFiles(paths, command))].toSorted();
}
