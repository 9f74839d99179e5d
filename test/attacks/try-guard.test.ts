import { describe, expect, it } from "vitest";
import type { FileRun, TestRun } from "../../scripts/remove-guards/run-tests.ts";
import { judge, troubleOf } from "../../scripts/remove-guards/try-guard.ts";
import { without } from "./all-guards.ts";
import type { Guard } from "./guard.ts";

const guard: Guard = {
  guard: "nobody is let in",
  row: "strangers-commands",
  file: "src/door.ts",
  from: "if (isStranger) return;",
  to: "",
  test: "test/door.test.ts",
  title: "a door is closed",
};
const test = (status: TestRun["status"], message = "", fullName = "a door is closed"): TestRun => ({
  ...{ title: fullName.replace("a door ", ""), fullName, status, message },
});
const run = (tests: TestRun[], over: Partial<FileRun> = {}): FileRun => ({
  ...{ tests, trouble: "", isOutOfTime: false, seconds: 1, ...over },
});

describe("a guard that was taken away", () => {
  it("is missed where its test fails, or never ends", () => {
    expect(judge(guard, run([test("failed", "AssertionError: expected 1 to be 2\n  at x")]))).toEqual([
      "red",
      "AssertionError: expected 1 to be 2",
    ]);
    expect(judge(guard, run([], { isOutOfTime: true }))[0]).toBe("endless");
  });

  it("survives where its test passes", () => {
    expect(judge(guard, run([test("passed")]))[0]).toBe("SURVIVED");
  });

  it.each([
    ["has no tests any more", run([], { trouble: "Error: Cannot find module './lock.ts'" })],
    ["does not run its test", run([test("skipped")], { trouble: "a hook failed" })],
    ["names what is not there", run([test("failed", "ReferenceError: lock is not defined")])],
    ["cannot be read", run([test("failed", "SyntaxError: Unexpected token '}'")])],
    [
      "starts a program that cannot be loaded",
      run([test("failed", "Error: The process ended with 1:\nError [ERR_MODULE_NOT_FOUND]: lock.ts")]),
    ],
  ])("proves nothing where the file %s", (_, crashed) => {
    expect(judge(guard, crashed)[0]).toBe("CRASHED");
  });
});

describe("a guard that is there", () => {
  it("has one green test", () => {
    expect(troubleOf(guard, run([test("passed"), test("skipped", "", "a door has a key")]))).toBeUndefined();
  });

  it.each([
    ["NOT GREEN", run([test("failed")])],
    ["NOT GREEN", run([test("skipped")])],
    ["NOT GREEN", run([], { isOutOfTime: true })],
    ["NO TEST", run([test("passed", "", "a door is open")])],
    ["NO TEST", run([test("passed"), test("passed", "", "a door is closed twice")])],
    ["NO TEST", run([], { trouble: "Error: no such file" })],
  ])("is told of as %s where it has none", (verdict, told) => {
    expect(troubleOf(guard, told)?.verdict).toBe(verdict);
  });

  it("stands once in a source that can be read without it", () => {
    const source = `export const open = (isStranger: boolean) => { ${guard.from} unlock(); };`;
    expect(without(guard, source)).toBe("export const open = (isStranger: boolean) => {  unlock(); };");
    expect(() => without(guard, source.repeat(2))).toThrow("its text stands 2 times");
    expect(() => without({ ...guard, to: guard.from }, source)).toThrow("nothing is taken away");
    expect(() => without({ ...guard, to: "{" }, source)).toThrow("cannot be read");
  });
});
