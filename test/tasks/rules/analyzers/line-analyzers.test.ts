import { describe, expect, it } from "vitest";
import {
  createDebuggerLeftoversAnalyzer,
  createFocusedTestsAnalyzer,
} from "../../../../src/tasks/rules/analyzers/leftovers.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const { signal } = new AbortController();
const debuggers = createDebuggerLeftoversAnalyzer();
const focus = createFocusedTestsAnalyzer();

describe("debugger leftovers", () => {
  it.each([
    ["a.ts", "  debugger;"],
    ["a.jsx", "debugger // why?"],
    ["a.py", "    breakpoint()"],
    ["a.py", "import pdb; pdb.set_trace()"],
    ["a.py", "    ipdb.set_trace()  # look"],
    ["a.rb", "  binding.pry"],
    ["a.erb", "<% byebug %>"],
    ["a.php", "  dd($user, $cart);"],
    ["a.go", "\truntime.Breakpoint()"],
    ["a.exs", "  require IEx; IEx.pry()"],
  ])("are found in %s: %s", async (path, line) => {
    const found = await debuggers.analyze(wholeFile(path, `x\n${line}\n`), signal);
    expect(found).toMatchObject([{ line: 2, severity: "high" }]);
  });

  it.each([
    ["a word in a template", "a.ts", "const help = `\ndebugger;\n`;"],
    ["a word in a comment", "a.ts", "/*\ndebugger;\n*/"],
    ["a word in a docstring", "a.py", '"""\nbreakpoint()\n"""'],
    ["a property", "a.ts", "options.debugger;"],
    ["an argument", "a.py", "run(breakpoint())"],
    ["another language", "a.md", "debugger;"],
    ["a line that logs", "a.ts", "console.log(user);"],
  ])("are not %s", async (_, path, text) => {
    expect(await debuggers.analyze(wholeFile(path, `${text}\n`), signal)).toEqual([]);
  });

  it.each([
    ["a.ts", `debugger${" ".repeat(1_000_000)}x`, 0],
    ["a.py", `breakpoint()${" ".repeat(1_000_000)}x`, 0],
    ["a.php", `dd(${");//".repeat(250_000)}\u2028`, 1],
  ])("are looked for in one pass over a long line of %s", { timeout: 120_000 }, async (path, line, count) => {
    expect(await debuggers.analyze(wholeFile(path, line), signal)).toHaveLength(count);
  });

  it("count on added lines alone", async () => {
    const file = editedFile("a.ts", " debugger;\n+debugger;");
    expect((await debuggers.analyze(file, signal)).map((one) => one.line)).toEqual([2]);
  });
});

describe("focused and skipped tests", () => {
  const find = (path: string, text: string) => focus.analyze(wholeFile(path, `${text}\n`), signal);

  it.each([
    ["a.test.ts", 'it.only("adds", () => {});'],
    ["a.spec.js", "describe.only.each([1])('x', () => {});"],
    ["test/a.js", "  fdescribe('x', () => {});"],
    ["test/a.js", "  fit('x', () => {});"],
    ["e2e/a.ts", 'test.describe.only("x", () => {});'],
    ["spec/a_spec.rb", '  fit "adds" do'],
    ["spec/a_spec.rb", '  it "adds", focus: true do'],
  ])("focus in %s: %s", async (path, line) => {
    expect(await find(path, line)).toMatchObject([{ line: 1, severity: "medium", category: "test" }]);
  });

  it.each([
    ["a.test.ts", 'it.skip("adds", () => {});'],
    ["a.test.ts", 'xdescribe("adds", () => {});'],
    ["tests/test_a.py", "@pytest.mark.skip"],
    ["tests/test_a.py", "    @unittest.skip('')"],
    ["a_test.go", "\tt.Skip()"],
    ["src/test/java/ATest.java", "  @Disabled"],
    ["src/test/java/ATest.java", "  @Ignore"],
  ])("skip in %s: %s", async (path, line) => {
    expect(await find(path, line)).toMatchObject([{ line: 1, severity: "low", category: "test" }]);
  });

  it.each([
    ["a reason in the call", "tests/test_a.py", '@pytest.mark.skip(reason="needs a printer")'],
    ["a condition", "tests/test_a.py", '@pytest.mark.skipif(windows, reason="x")'],
    ["a condition around it", "a_test.go", "\tif testing.Short() {\n\t\tt.Skip()\n\t}"],
    ["a reason in Java", "src/test/java/ATest.java", '@Disabled("until the server is back")'],
    ["a comment above", "a.test.ts", '// The service is down until May.\nit.skip("adds", () => {});'],
    ["a comment below", "a.test.ts", 'it.skip("adds", () => {\n\n  // The service is down until May.\n});'],
    ["a condition as the argument", "e2e/a.ts", 'test.skip(({ browserName }) => browserName === "webkit");'],
    ["code that is no test", "src/parser.ts", 'it.only("adds", () => {});'],
    ["a function of that name", "a.test.ts", "fit(model, data);"],
    ["a text that a test is about", "a.test.ts", 'const text = `\nit.only("x", () => {});\n`;'],
  ])("are excused by %s", async (_, path, text) => {
    expect(await find(path, text)).toEqual([]);
  });

  it.each([
    'import { test } from "node:test";\ntest.only("adds", () => {});',
    'import test from "node:test";\ntest.only("adds", () => {});',
    "import * as test from 'node:test';\ntest.only('adds', () => {});",
    'import test, { describe } from "node:test";\ndescribe.only("sums", () => {});',
    'import { test as it, type TestContext } from "node:test";\nit.only("adds", () => {});',
    'import test = require("node:test");\ntest.only("adds", () => {});',
    'const test = require("node:test");\ntest.only("adds", () => {});',
    'const { describe, test: it } = require("node:test");\nit.only("adds", () => {});',
    'const it = require("node:test").test;\nit.only("adds", () => {});',
    'const { test } = await import("node:test");\ntest.only("adds", () => {});',
    'import assert from "node:assert";\nimport {\n  describe,\n  it,\n} from "node:test";\nit.only("adds", () => {});',
  ])("focus nothing with node:test, which needs --test-only: %s", async (text) => {
    expect(await find("a.test.ts", text)).toEqual([]);
  });

  it.each([
    ["another runner's", 'import { mock } from "node:test";\nimport { it } from "vitest";'],
    [
      "another runner's, beside a renamed one",
      'import { it as nodeIt } from "node:test";\nimport { it } from "vitest";',
    ],
    ["a global", "// Like node:test\nconst name = 'node:test';"],
  ])("focus beside node:test where the function is %s", async (_, imports) => {
    expect(await find("a.test.ts", `${imports}\nit.only("adds", () => {});`)).toHaveLength(1);
  });

  it("skip in node:test as elsewhere", async () => {
    const text = 'import { it } from "node:test";\nit.skip("adds", () => {});';
    expect(await find("a.test.ts", text)).toMatchObject([
      { line: 2, source: "focused-tests/javascript-skip" },
    ]);
  });

  it.each([
    ["test_a.py", `@pytest.mark.skip(${" ".repeat(1_000_000)}x`, 0],
    ["src/test/ATest.java", `@Disabled(${" ".repeat(1_000_000)}x`, 0],
    ["a.test.js", "xit('a', () => {});\n".repeat(100_000), 100_000],
  ])("are looked for in one pass over a long text of %s", { timeout: 120_000 }, async (path, text, count) => {
    expect(await focus.analyze(wholeFile(path, text), signal)).toHaveLength(count);
  });
});
