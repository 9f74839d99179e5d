import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fileRisk, kindOf } from "../../../../src/tasks/review/plan/risk.ts";
import { changedFile, type FileFacts } from "./changed-file.ts";

const calm = { matches: 0, users: 0 };
const risk = (facts: FileFacts, circumstances = calm) => fileRisk(changedFile(facts), circumstances);

const count = fc.nat(100_000);
const circumstances = fc.record({ matches: count, users: count });
const folders = fc.array(fc.constantFrom("src", "auth", "crypto", "lib", "payment"), { maxLength: 3 });
const fileNamed = (...names: string[]) =>
  fc
    .record({ folders, name: fc.constantFrom(...names), added: count, removed: count })
    .map(({ folders: above, name, ...lines }) => ({ ...lines, path: [...above, name].join("/") }));

const code = fileNamed("a.ts", "login.py", "Lock.java", "run");
const tests = fileNamed("a.test.ts", "test_login.py", "LockTest.java");
const documentation = fileNamed("a.md", "auth-token.rst");
const data = fileNamed("a.csv", "secrets.json");

describe("the risk of a file", () => {
  it.each([
    ["a test", tests, "code", code],
    ["documentation", documentation, "a test", tests],
    ["data", data, "documentation", documentation],
  ])("The risk of %s is never above that of %s, however much changed", (_, less, __, more) => {
    fc.assert(
      fc.property(less, more, circumstances, circumstances, (a, b, ofA, ofB) => risk(a, ofA) < risk(b, ofB)),
    );
  });

  it("The risk grows with changed lines, each further one counting less", () => {
    const [one, two, three] = [10, 20, 30].map((added) => risk({ path: "a.ts", added })) as [
      number,
      number,
      number,
    ];
    expect(two).toBeGreaterThan(one);
    expect(three).toBeGreaterThan(two);
    expect(three - two).toBeLessThan(two - one);
  });

  it("The risk never falls with more changes, matches or users", () => {
    fc.assert(
      fc.property(code, circumstances, count, (file, facts, more) => {
        const before = risk(file, facts);
        return (
          risk({ ...file, added: file.added + more }, facts) >= before &&
          risk({ ...file, removed: file.removed + more }, facts) >= before &&
          risk(file, { ...facts, matches: facts.matches + more }) >= before &&
          risk(file, { ...facts, users: facts.users + more }) >= before
        );
      }),
    );
  });

  it("Removed lines count more than added ones", () => {
    expect(risk({ path: "a.ts", added: 0, removed: 9 })).toBeGreaterThan(risk({ path: "a.ts", added: 9 }));
  });
});

describe("the kind of a file", () => {
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
  ])("The kind of %s is %s", (path, kind) => {
    expect(kindOf(path)).toBe(kind);
  });
});
