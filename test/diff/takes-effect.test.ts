import { describe, expect, it } from "vitest";
import { staysWorkflow, takesEffect } from "../../src/diff/without-lines.ts";

describe("a file", () => {
  it.each([
    ".github/workflows/ci.yml",
    ".github/actions/build/index.js",
    ".GitHub/Workflows/ci.YML",
    "action.yml",
    ".gitlab-ci.yml",
    "Jenkinsfile",
    "CODEOWNERS",
    ".gitattributes",
    ".husky/pre-commit",
    "hooks/pre-push",
    ".pre-commit-config.yaml",
    "web/package.json",
    ".npmrc",
    "Makefile",
    "rules.mk",
    "app/build.gradle.kts",
    "gradlew",
    "setup.py",
    "tests/conftest.py",
    "Dockerfile",
    "Dockerfile.dev",
    "api.dockerfile",
    "compose.prod.yaml",
    "vite.config.ts",
    ".eslintrc.cjs",
    "build.rs",
    ".vscode/tasks.json",
    "AGENTS.md",
  ])("at %s takes effect by itself", (path) => expect(takesEffect(path)).toBe(true));

  it.each([
    "docs/workflows/ci.yml",
    "examples/.github/workflows/ci.yml",
    ".github/ISSUE_TEMPLATE/bug.md",
    "src/hooks/use-cart.ts",
    "src/makefile.ts",
    "src/config.ts",
    "docs/package.json.md",
    "src/build/index.ts",
    "README.md",
  ])("at %s does not", (path) => expect(takesEffect(path)).toBe(false));
});

it("A workflow under another name is still one, until it is put where it does not run", () => {
  expect(staysWorkflow(".github/workflows/b.yml", ".github/workflows/a.yaml")).toBe(true);
  expect(staysWorkflow(".github/workflows/a.yml", ".github/workflows/a.yml.off")).toBe(false);
  expect(staysWorkflow(".github/workflows/a.yml", "examples/.github/workflows/a.yml")).toBe(false);
});
