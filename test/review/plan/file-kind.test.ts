import { describe, expect, it } from "vitest";
import { kindOf } from "../../../src/review/plan/risk.ts";

describe("kindOf", () => {
  it.each([
    ["src/login.ts", "code"],
    ["db/migrations/0001_users.sql", "code"],
    ["docs/example.py", "code"],
    ["bin/deploy", "code"],
    ["src/latest.ts", "code"],
    ["k8s/PodSpec.java", "code"],
    ["src/login.test.ts", "test"],
    ["test_login.py", "test"],
    ["pkg/login_test.go", "test"],
    ["src/LoginTest.java", "test"],
    ["app/LoginServiceIT.kt", "test"],
    ["spec/login_spec.rb", "test"],
    ["src/__tests__/login.tsx", "test"],
    ["tests/helpers/server.py", "test"],
    ["api/types.gen.ts", "test"],
    ["internal/generated/client.go", "test"],
    ["package.json", "configuration"],
    ["tsconfig.build.json", "configuration"],
    [".github/workflows/ci.yml", "configuration"],
    ["Dockerfile", "configuration"],
    ["requirements-dev.txt", "configuration"],
    ["vite.config.ts", "configuration"],
    ["README", "documentation"],
    ["docs/guide.md", "documentation"],
    ["locales/de.json", "data"],
    ["test/fixtures/users.csv", "data"],
  ])("%s is %s", (path, kind) => {
    expect(kindOf(path)).toBe(kind);
  });
});
