import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { TestEnd } from "../../../../src/agent/record/test-end.ts";
import { type Failure, readFailure } from "../../../../src/tasks/prove/proof/read-failure.ts";

/** What the programs printed for the same few tests: Node 24.21, Vitest 5.1, Jest 29.7, Mocha 11.1, AVA 6.2, tap 21.1, pytest 7.2, Go 1.19. */
const folder = join(import.meta.dirname, "../../../../fixtures/test-runs");
const recorded = (name: string) => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));

const end = (over: Partial<TestEnd>): TestEnd => ({
  ...{ stdout: "", stderr: "", exit_code: 1, ended: null, changed: [], executed: null, duration_ms: 1 },
  ...over,
});

function read(name: string): Failure {
  const { test, ...run } = recorded(name);
  return readFailure(end(run), { path: test, text: "" });
}

it("A failure of a test marked as TODO is not taken for the one that fails a run in TAP", () => {
  const stdout = `TAP version 13
not ok 1 - later # TODO not there yet
  ---
  error: 'nothing works'
  code: 'ERR_TEST_FAILURE'
  ...
not ok 2 - a list \\# TODO
  ---
  error: 'the list is empty'
  code: 'ERR_TEST_FAILURE'
  ...
`;
  expect(readFailure(end({ stdout }), { path: "a.test.js", text: "" }).line).toBe("the list is empty");
});

const strictly = "AssertionError: Expected values to be strictly equal: 'hello x' !== 'hi x'";

it.each([
  ["plain", "AssertionError: 'hello x' == 'hi x'"],
  ["node", strictly],
  ["node-tap", strictly.replace("AssertionError: ", "")],
  ["node-run", strictly],
  ["nodemsg", "AssertionError: the greeting is wrong"],
  ["nodemsg-tap", "the greeting is wrong"],
  ["mocha", strictly],
  ["mochachai", "AssertionError: expected 'hello x' to equal 'hi x'"],
  ["ava", "Difference (- actual, + expected): - 'hello x' + 'hi x'"],
  ["jest", 'expect(received).toBe(expected) // Object.is equality Expected: "hi x" Received: "hello x"'],
  ["vi", "AssertionError: expected 'hello x' to be 'hi x' // Object.is equality"],
  ["videep", "AssertionError: expected { a: 'hello x', b: [ 1 ] } to deeply equal { a: 'hi x', b: [ 2 ] }"],
  ["nodedeep", "AssertionError: Expected values to be strictly deep-equal"],
  ["nodedeep-tap", "Expected values to be strictly deep-equal"],
  ["py-p", "AssertionError: assert 'hello x' == 'hi x'"],
  ["py-pu", "AssertionError: 'hello x' != 'hi x'"],
  ["plain-pu", "AssertionError: 'hello x' != 'hi x'"],
  ["plain-p", 'AssertionError: assert greet("x") == "hi x"'],
  ["pyplain", "AssertionError: hello x"],
  ["py-praises", "Failed: DID NOT RAISE <class 'ValueError'>"],
  ["go", "Sum(1, 1) = 2, want 3"],
])("The output of %s shows an assertion that failed", (name, line) => {
  expect(read(name)).toEqual({ kind: "failed", line, frames: [] });
});

const undefinedB = "TypeError: Cannot read properties of undefined (reading 'b')";
const inJs = [
  { path: "src/a.js", line: 3 },
  { path: "src/a.js", line: 2 },
];

it.each([
  ...["plainerr", "nodeerr", "mochaerr", "avaerr", "jesterr", "vierr"].map(
    (name) => [name, undefinedB, inJs] as const,
  ),
  ["nodeerr-tap", undefinedB.replace("TypeError: ", ""), inJs] as const,
  ["py-perr", "KeyError: 'a'", [{ path: "src/m.py", line: 6 }]] as const,
  ["plain-perr", "KeyError: 'a'", [{ path: "src/m.py", line: 6 }]] as const,
  [
    "gopanic",
    "panic: runtime error: index out of range [3] with length 0",
    [{ path: "sum/sum.go", line: 8 }],
  ] as const,
])("The output of %s shows an error and where the repository's code threw it", (name, line, frames) => {
  expect(read(name)).toEqual({ kind: "failed", line, frames });
});

it.each([
  ["syntax", "SyntaxError: Unexpected token ';'"],
  ["refer", "ReferenceError: notDefined is not defined"],
  ["noexport", "SyntaxError: The requested module '../src/b.mjs' does not provide an export named 'none'"],
  [
    "nomodule",
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find module 'src/c.mjs' imported from test/nomodule.mjs",
  ],
  ["jestmissing", "Cannot find module '../src/none.js' from 'test/jestmissing.test.js'"],
  ["jestnone", "No tests found, exiting with code 1"],
  ["mochamissing", "Exception during run: Error: Cannot find module '../src/none.js'"],
  ["vimissing", "Error: Cannot find module '../src/none.js' imported from test/vimissing.test.ts"],
  ["vinone", "Error: No test suite found in file test/vinone.test.ts"],
  ["vinofile", "No test files found, exiting with code 1"],
  ["py-perror", "ModuleNotFoundError: No module named 'not_there'"],
  ["py-pfix", "fixture 'nofixture' not found"],
  ["py-psyn", "SyntaxError: invalid syntax"],
  ["py-pnone", "no tests ran in (duration)"],
  ["plain-perror", "ModuleNotFoundError: No module named 'not_there'"],
  ["plain-psyn", "SyntaxError: invalid syntax"],
  ["plain-pnone", "no tests ran"],
  ["pyunit", "ModuleNotFoundError: No module named 'test.test_pu'"],
  ["gobuild", "sum/a_test.go:6:2: undefined: None"],
])("The output of %s shows that no test ran, or that the test is broken", (name, line) => {
  expect(read(name)).toMatchObject({ kind: "setup", line });
});

it("No recorded failure is unknown, except one in TAP without a message", () => {
  const names = readdirSync(folder).map((name) => name.replace(/\.json$/, ""));
  expect(names.filter((name) => read(name).kind === "unknown")).toEqual(["tap"]);
});

const test = { path: "it.test.mjs", text: "" };

it.each<[string, Partial<TestEnd>, Failure["kind"], string]>([
  [
    "a limit",
    { ended: "timeout", exit_code: 137, stderr: "AssertionError: x\n    at a.js:1:1" },
    "unknown",
    "Ended by a limit: timeout",
  ],
  [
    "a test runner's own limit",
    { stderr: " FAIL  it.test.mjs > a\nError: Test timed out in 5000ms.\n ❯ it.test.mjs:1:1\n" },
    "unknown",
    "Error: Test timed out in (duration).",
  ],
  ["a code beyond all signals", { exit_code: 255 }, "unknown", "Exit code 255"],
  ["another language", { stdout: "=== FAILURES ===\n_ a _\nE   Error: x\n" }, "unknown", "E Error: x"],
  ["a signal", { exit_code: 139 }, "unknown", "Ended by signal 11"],
  ["nothing", { exit_code: 0, stdout: "Error: x\n    at /work/a.js:1:1\n" }, "unknown", "It did not fail"],
  ["no program", { exit_code: 127, stderr: "sh: 1: go: not found\n" }, "setup", "sh: 1: go: not found"],
  ["an exit code alone", { exit_code: 3, stdout: "said\n\n" }, "unknown", "said"],
])("A failure names what ended the run: %s", (_, over, kind, line) => {
  expect(readFailure(end(over), test)).toMatchObject({ kind, line });
});

it("Two runs that differ in times, addresses, folders and colors have the same line", () => {
  const of = (text: string) =>
    readFailure(end({ stderr: `${text}\n    at x (/work/it.test.mjs:1:1)\n` }), test).line;
  const first = of(
    "\u001b[31mError: at 2026-01-02T03:04:05.678Z <Obj at 0x7f12ab34> in file:///work/.hunkwise-0a1b2c3d/x took 12.5ms: '10:00:00'\u001b[0m",
  );
  expect(first).toBe(
    of(
      "Error: at 2027-01-02T03:04:05Z <Obj at 0x7f99ab34> in /work/.hunkwise-ffffffff/x took 2 s: '10:00:00'",
    ),
  );
  expect(first).not.toBe(
    of(
      "Error: at 2027-01-02T03:04:05Z <Obj at 0x7f99ab34> in /work/.hunkwise-ffffffff/x took 2 s: '11:00:00'",
    ),
  );
});

it("The error that ends a program counts, not one that it printed before", () => {
  const stack = "    at f (/work/src/a.mjs:2:3)\n    at file:///work/it.test.mjs:4:1\n";
  const stderr = `Error: handled\n${stack}\n/work/src/a.mjs:2\n  throw\n  ^\n\nRangeError: too far\n${stack}\nNode.js v24.21.0\n`;
  expect(readFailure(end({ stderr }), test)).toMatchObject({ kind: "failed", line: "RangeError: too far" });
});

it("A SyntaxError of JSON.parse in the repository is a failure of the test", () => {
  const stderr = `SyntaxError: Unexpected end of JSON input\n    at JSON.parse (<anonymous>)\n    at read (/work/src/a.mjs:2:3)\n    at file:///work/it.test.mjs:4:1\n`;
  expect(readFailure(end({ stderr }), test)).toMatchObject({
    ...{ kind: "failed", frames: [{ path: "src/a.mjs", line: 2 }] },
  });
});

it("An error that is thrown while modules are loaded is no failure of a test", () => {
  const stderr = `TypeError: no\n    at file:///work/src/a.mjs:2:3\n    at ModuleJob.run (node:internal/modules/esm/module_job:561:25)\n`;
  expect(readFailure(end({ stderr }), test).kind).toBe("setup");
});

it("A failure has no frames of packages, of the runner and of other folders", () => {
  const stderr = `Error: x\n    at a (/work/node_modules/p/a.js:1:1)\n    at b (/work/.hunkwise-0a1b2c3d/load.mjs:1:1)\n    at c (/etc/x.js:1:1)\n    at d (node:fs:1:1)\n    at e (/work/../x.js:1:1)\n    at async g (/work/src/g.js:9:1)\n    at /work/it.test.mjs:1:1\n`;
  expect(readFailure(end({ stderr }), test).frames).toEqual([{ path: "src/g.js", line: 9 }]);
});

it("Hostile output of any kind is read", () => {
  const pieces = [
    "'",
    "expected ",
    " to be ",
    "\\",
    " == ",
    "E  ",
    "Error: ",
    "    at ",
    "● ",
    "not ok 1\n",
    "(",
    "\t",
    " ",
  ];
  for (const piece of pieces) {
    const stdout = piece.repeat(65_536 / piece.length);
    expect(readFailure(end({ stdout, stderr: `TAP version 13\n${stdout}` }), test).line.length).toBeLessThan(
      310,
    );
  }
});
