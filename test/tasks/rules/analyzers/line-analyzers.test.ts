import { describe, expect, it } from "vitest";
import {
  debuggerLeftoversAnalyzer,
  focusedTestsAnalyzer,
} from "../../../../src/tasks/rules/analyzers/leftovers.ts";
import { editedFile, wholeFile } from "./analyzed-file.ts";

const { signal } = new AbortController();
const debuggers = debuggerLeftoversAnalyzer;
const focus = focusedTestsAnalyzer;

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
  ])("A breakpoint is found in %s: %s", async (path, line) => {
    const found = await debuggers.analyze(wholeFile(path, `x\n${line}\n`), signal);
    expect(found).toMatchObject([{ line: 2, severity: "high" }]);
  });

  it.each([
    ["A word in a template", "a.ts", "const help = `\ndebugger;\n`;"],
    ["A word in a comment", "a.ts", "/*\ndebugger;\n*/"],
    ["A word in a docstring", "a.py", '"""\nbreakpoint()\n"""'],
    ["A property", "a.ts", "options.debugger;"],
    ["An argument", "a.py", "run(breakpoint())"],
    ["A word of another language", "a.md", "debugger;"],
    ["A line that logs", "a.ts", "console.log(user);"],
  ])("%s is no breakpoint", async (_, path, text) => {
    expect(await debuggers.analyze(wholeFile(path, `${text}\n`), signal)).toEqual([]);
  });

  it.each([
    ["a.ts", `debugger${" ".repeat(1_000_000)}x`, 0],
    ["a.py", `breakpoint()${" ".repeat(1_000_000)}x`, 0],
    ["a.php", `dd(${");//".repeat(250_000)}\u2028`, 1],
  ])(
    "A long line of %s is searched for breakpoints in one pass",
    { timeout: 120_000 },
    async (path, line, count) => {
      expect(await debuggers.analyze(wholeFile(path, line), signal)).toHaveLength(count);
    },
  );

  it("Only breakpoints on added lines are found", async () => {
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
  ])("A focused test is found in %s: %s", async (path, line) => {
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
  ])("A skipped test is found in %s: %s", async (path, line) => {
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
  ])("A skipped or focused test is excused by %s", async (_, path, text) => {
    expect(await find(path, text)).toEqual([]);
  });

  it.each([
    'import { test } from "node:test";\ntest.only("adds", () => {});',
    'const { describe, test: it } = require("node:test");\nit.only("adds", () => {});',
    'const { test } = await import("node:test");\ntest.only("adds", () => {});',
    'import assert from "node:assert";\nimport {\n  describe,\n  it,\n} from "node:test";\nit.only("adds", () => {});',
  ])("A focus with node:test, which needs --test-only, is ordinary: %s", async (text) => {
    expect(await find("a.test.ts", text)).toEqual([]);
  });

  it("A focus in a file that only mentions node:test is found", async () => {
    const text = "// Like node:test\nconst name = 'node:test';\nit.only(\"adds\", () => {});";
    expect(await find("a.test.ts", text)).toHaveLength(1);
  });

  it("A skipped test of node:test is found", async () => {
    const text = 'import { it } from "node:test";\nit.skip("adds", () => {});';
    expect(await find("a.test.ts", text)).toMatchObject([
      { line: 2, source: "focused-tests/javascript-skip" },
    ]);
  });

  it.each([
    ["test_a.py", `@pytest.mark.skip(${" ".repeat(1_000_000)}x`, 0],
    ["src/test/ATest.java", `@Disabled(${" ".repeat(1_000_000)}x`, 0],
    ["a.test.js", "xit('a', () => {});\n".repeat(100_000), 100_000],
  ])(
    "A long text of %s is searched for skipped tests in one pass",
    { timeout: 120_000 },
    async (path, text, count) => {
      expect(await focus.analyze(wholeFile(path, text), signal)).toHaveLength(count);
    },
  );
});
