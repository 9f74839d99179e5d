import { describe, expect, it } from "vitest";
import { changedDependencies, dependencyFiles } from "../../../../src/tasks/prove/proof/dependency-files.ts";

describe("the files that decide what a command installs", () => {
  it.each([
    ...[
      "package.json",
      "sub/package-lock.json",
      "npm-shrinkwrap.json",
      "yarn.lock",
      "pnpm-lock.yaml",
      "bun.lockb",
    ],
    ...[
      "deno.json",
      ".npmrc",
      "a/b/.yarnrc.yml",
      ".yarn/releases/yarn-4.cjs",
      ".pnpmfile.cjs",
      "Package.JSON",
    ],
    ...[
      "requirements.txt",
      "requirements-dev.txt",
      "requirements/test.in",
      "dev-constraints.txt",
      "setup.py",
    ],
    ...["pyproject.toml", "poetry.lock", "uv.lock", "Pipfile", "Pipfile.lock", "pip.conf", "environment.yml"],
    ...["Cargo.toml", ".cargo/config.toml", "build.rs", "go.mod", "go.sum", "pom.xml", "build.gradle.kts"],
    ...["gradle/libs.versions.toml", "Gemfile", "x.gemspec", "composer.json", "node_modules/left/index.js"],
    // Links, where packages would be.
    ...["packages/a/node_modules", "py/.venv", "Node_Modules"],
    ...["vendor/github.com/x/y.go", "patches/left+1.0.0.patch", ".mvn/extensions.xml", "py/.venv/bin/python"],
  ])("%s decides what is installed", (path) => expect(dependencyFiles([path], "npm ci")).toEqual([path]));

  it.each([
    ...[
      "src/package.ts",
      "README.md",
      "src/vendor/list.ts",
      "ci/build.yml",
      "locales/en/auth.json",
      "Makefile",
    ],
    ...["docs/requirements.md", "npm/readme.md", "test/lock.ts"],
  ])("%s decides nothing about what is installed", (path) =>
    expect(dependencyFiles([path], "npm ci")).toEqual([]),
  );

  it("Files and folders that the command names decide what is installed", () => {
    const paths = [
      "scripts/setup.sh",
      "scripts/other.sh",
      "lib/a.py",
      "lib/deep/b.py",
      "libs/c.py",
      "Makefile",
    ];
    expect(dependencyFiles(paths, "sh ./scripts/setup.sh && pip install './lib'")).toEqual([
      ...["scripts/setup.sh", "lib/a.py", "lib/deep/b.py"],
    ]);
    expect(dependencyFiles(paths, "cd scripts; sh setup.sh")).toEqual(["scripts/setup.sh"]);
    expect(dependencyFiles(paths, "cd ./lib/deep && npm ci --prefix lib/deep")).toEqual([]);
    expect(dependencyFiles(paths, "make deps")).toEqual(["Makefile"]);
  });

  it("A change of dependencies adds, removes or renames such a file", () => {
    const changes = [
      { path: "src/a.ts", oldPath: null },
      { path: "attic/old.json", oldPath: "package.json" },
      { path: "tools/.npmrc", oldPath: null },
      { path: "tools/.npmrc", oldPath: null },
    ];
    expect(changedDependencies(changes, "npm ci")).toEqual(["package.json", "tools/.npmrc"]);
    expect(changedDependencies([{ path: "src/a.ts", oldPath: "src/b.ts" }], "npm ci")).toEqual([]);
  });
});
