import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TestEnd } from "../../../../src/agent/record/test-end.ts";
import type { ChangedCode } from "../../../../src/tasks/prove/proof/changed-code.ts";
import { judge, type RanCode, type TestRuns } from "../../../../src/tasks/prove/proof/judge.ts";
import { failed, passed, test } from "./test-ends.ts";

const other = { path: "other.js", name: "other", line: 1 };

/** A change of `total` in lines 1 to 3 of cart.js; nothing else calls it. */
const changed: ChangedCode = {
  includes: ({ path, name }) => path === "cart.js" && name === "total",
  includesLine: ({ path, line }) => path === "cart.js" && line <= 3,
  named: (name) => (name === "total" ? "cart.js\ntotal" : null),
  isThrownOnPurpose: () => false,
  about: () => changed,
  leadingTo: async () => new Set(),
};
const code: RanCode = { changed, leading: new Set(["cart.js\ntotal"]) };

const twice = (end: TestEnd) => [end, end];
const regression = (runs: TestRuns) => judge("regression", test, runs, code);
const reasonOf = (runs: TestRuns, claimed: Parameters<typeof judge>[0] = "regression") => {
  const judgment = judge(claimed, test, runs, code);
  return judgment.ok ? null : judgment.reason;
};

const asserted: TestEnd = {
  ...passed,
  exit_code: 1,
  stderr: `node:assert:126
  throw new AssertionError(obj);
  ^

AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

1 !== 0

    at file:///work/cart.proof.test.js:4:8 {
  code: 'ERR_ASSERTION',
  actual: 1,
  expected: 0,
  operator: 'strictEqual'
}

Node.js v24.21.0
`,
};

/** The test's file imports what is not there. */
const unlinked: TestEnd = {
  ...passed,
  exit_code: 1,
  stderr: `file:///work/cart.proof.test.js:2
import { total } from "./cart.js";
         ^^^^^
SyntaxError: The requested module './cart.js' does not provide an export named 'total'
    at ModuleJob._instantiate (node:internal/modules/esm/module_job:180:21)

Node.js v24.21.0
`,
};

describe("a regression", () => {
  it("A regression needs two passes before the change and two equal failures after it", () => {
    expect(regression({ base: twice(passed), head: twice(failed) })).toMatchObject({ ok: true });
    expect(regression({ base: twice(passed), head: twice(asserted) })).toMatchObject({ ok: true });
  });

  const printed = { ...passed, exit_code: 1, stdout: "", stderr: "it does not work\n" };
  const elsewhere = { ...asserted, executed: [other] };
  it.each<[string, TestEnd[], TestEnd[], string]>([
    ["A test that fails on both sides", [failed, failed], [failed, failed], "fails at the merge base too"],
    ["A test that passes on both sides", [passed, passed], [passed, passed], "passes at the head"],
    ["Different results before the change", [passed, failed], [failed, failed], "passes once and fails once"],
    ["Different results after the change", [passed, passed], [failed, passed], "passes once and fails once"],
    ["A single run", [passed], [failed, failed], "did not run 2 times"],
    ["Two ways to fail", [passed, passed], [failed, asserted], "fails in two ways"],
    ["A failure in set-up", [passed, passed], [unlinked, unlinked], "fails before it tests anything"],
    ["A failure without a reason", [passed, passed], [printed, printed], "not known why it fails"],
    [
      "A printed failure",
      [passed, passed],
      twice({ ...passed, stdout: failed.stderr }),
      "passes at the head",
    ],
    [
      "A run that a limit ended",
      [passed, passed],
      twice({ ...failed, ended: "timeout", exit_code: 137 }),
      "it took too long",
    ],
    ["A changed file", [passed, passed], twice({ ...failed, changed: ["cart.js"] }), "it changes files"],
    [
      "A changed package",
      twice({ ...passed, changed: ["node_modules/x"] }),
      [failed, failed],
      "node_modules/x",
    ],
    ["Another function that ran", [passed, passed], [elsewhere, elsewhere], "does not run the changed code"],
    [
      "An unknown function that ran",
      [passed, passed],
      twice({ ...asserted, executed: null }),
      "it is not known",
    ],
    [
      "A test that skips what the merge base lacks",
      twice({ ...passed, executed: [other] }),
      [failed, failed],
      "nothing is compared",
    ],
  ])("%s shows no regression", (_, base, head, reason) => {
    expect(reasonOf({ base, head })).toContain(reason);
  });
});

describe("a changed list of parameters", () => {
  const pythonTest = { path: "test_cart.py", text: "from cart import total\n\ntotal([])\n" };
  const ofPython = (base: TestEnd, head: TestEnd) =>
    judge("regression", pythonTest, { base: twice(base), head: twice(head) }, code);
  const python = (line: string): TestEnd => ({
    ...passed,
    exit_code: 1,
    stderr: `Traceback (most recent call last):\n  File "/work/test_cart.py", line 3, in <module>\n    total([])\n${line}\n`,
    executed: [other],
  });

  it("A call that Python refuses shows a regression of the function", () => {
    const refused = python("TypeError: total() missing 1 required positional argument: 'tax'");
    expect(ofPython(passed, refused)).toMatchObject({ ok: true });
    expect(ofPython({ ...passed, executed: [other] }, refused)).toMatchObject({
      reason: expect.stringContaining("nothing is compared"),
    });
  });

  it("Another function that refuses its arguments, or a missing name, shows nothing", () => {
    const another = python("TypeError: other() takes 1 positional argument but 2 were given");
    expect(ofPython(passed, another)).toMatchObject({
      reason: expect.stringContaining("does not run the changed code"),
    });
    const gone = {
      ...python("AttributeError: module 'cart' has no attribute 'total'"),
      executed: passed.executed,
    };
    expect(ofPython(passed, gone)).toMatchObject({ reason: expect.stringContaining("is gone at the head") });
  });
});

describe("a reproduction", () => {
  it("A reproduction fails at the head, passes with the suggestion, and not before", () => {
    const runs = { base: twice(unlinked), head: twice(failed), repaired: twice(passed) };
    expect(reasonOf(runs, "reproduced")).toBeNull();
    expect(reasonOf({ ...runs, repaired: twice(failed) }, "reproduced")).toContain(
      "fails with the suggestion too",
    );
    expect(reasonOf({ ...runs, base: twice(passed) }, "reproduced")).toContain("a regression");
    expect(reasonOf({ ...runs, head: twice(passed) }, "reproduced")).toContain("passes at the head");
  });
});

describe("an input that was run and does the right thing", () => {
  it("A right result needs two passes at the head that run the changed code", () => {
    expect(reasonOf({ head: twice(passed) }, "ran_right")).toBeNull();
    expect(reasonOf({ head: twice(failed) }, "ran_right")).toContain("fails at the head");
    expect(reasonOf({ head: twice({ ...passed, executed: [other] }) }, "ran_right")).toContain(
      "does not run the changed code",
    );
  });
});

describe("for any runs", () => {
  const end = fc.constantFrom<TestEnd>(
    ...[passed, failed, asserted, unlinked],
    { ...passed, changed: ["cart.js"] },
    { ...failed, changed: ["cart.js"] },
    { ...failed, ended: "memory" },
    { ...passed, executed: [other] },
    { ...asserted, executed: null },
  );
  const ends = fc.array(end, { maxLength: 3 });

  it("A regression is shown only by clean passes before and equal failures after", () => {
    fc.assert(
      fc.property(ends, ends, (base, head) => {
        const all = [...base, ...head];
        const isClean = all.every((one) => one.ended === null && one.changed.length === 0);
        const isOne = new Set(head.map(({ stderr }) => stderr)).size === 1;
        const isReal = head.every(({ stderr }) => stderr === failed.stderr || stderr === asserted.stderr);
        const isCompared = all.every(({ executed }) => executed?.includes(passed.executed?.[0] as never));
        const isShown =
          base.length >= 2 &&
          head.length >= 2 &&
          base.every(({ exit_code }) => exit_code === 0) &&
          head.every(({ exit_code }) => exit_code !== 0) &&
          [isClean, isOne, isReal, isCompared].every(Boolean);
        expect(regression({ base, head }).ok).toBe(isShown);
      }),
      { numRuns: 500 },
    );
  });

  it("No runs at all show nothing", () => {
    for (const claimed of ["regression", "reproduced", "ran_right"] as const)
      expect(reasonOf({}, claimed)).toContain("did not run 2 times");
  });
});
