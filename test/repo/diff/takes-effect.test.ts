import { describe, expect, it } from "vitest";
import { isFoundByPath, takesEffect } from "../../../src/repo/diff/takes-effect.ts";

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
    ...".gitconfig lint-staged.config.mjs .tool-versions vercel.json pytest.ini tsconfig.build.json".split(
      " ",
    ),
    ..."prompts/a.prompt.md .github/dependabot.yml requirements/dev.txt .codex/config.toml".split(" "),
  ])("A file at %s takes effect", (path) => expect(takesEffect(path)).toBe(true));

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
  ])("A file at %s takes no effect", (path) => expect(takesEffect(path)).toBe(false));
});

describe("a file that a framework or a machine finds", () => {
  const found =
    "src/middleware.ts pages/admin/index.vue app/(shop)/cart/route.ts server/api/users.ts src/routes/about.svelte supabase/functions/pay/index.ts config/initializers/cors.rb db/migrate/1_drop.rb shop/migrations/0002.py etc/cron.d/backup deploy/app.service package.json";
  const others = "src/app/cart.ts docs/pages.md src/api/client.ts app/pager.ts README.md";

  it.each(found.split(" "))("A framework or a machine finds a file at %s", (path) =>
    expect(isFoundByPath(path)).toBe(true),
  );

  it.each(others.split(" "))("No framework or machine finds a file at %s", (path) =>
    expect(isFoundByPath(path)).toBe(false),
  );

  it("The base's attributes can skip a file that a framework finds", () => {
    expect(takesEffect("src/middleware.ts")).toBe(false);
  });
});
