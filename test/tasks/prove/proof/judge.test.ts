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
  const judgement = judge(claimed, test, runs, code);
  return judgement.ok ? null : judgement.reason;
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
  it("is shown by a test that passes twice before the change and fails twice after it, by an error or an assertion", () => {
    expect(regression({ base: twice(passed), head: twice(failed) })).toMatchObject({ ok: true });
    expect(regression({ base: twice(passed), head: twice(asserted) })).toMatchObject({ ok: true });
  });

  it("is not shown by a test that fails on both sides, or on none", () => {
    expect(reasonOf({ base: twice(failed), head: twice(failed) })).toContain("fails at the merge base too");
    expect(reasonOf({ base: twice(passed), head: twice(passed) })).toContain("passes at the head");
  });

  it("is not shown by luck", () => {
    expect(reasonOf({ base: [passed, failed], head: twice(failed) })).toContain("passes once and fails once");
    expect(reasonOf({ base: twice(passed), head: [failed, passed] })).toContain("passes once and fails once");
    expect(reasonOf({ base: [passed], head: twice(failed) })).toContain("did not run 2 times");
    expect(reasonOf({ base: twice(passed), head: [failed, asserted] })).toContain("fails in two ways");
  });

  it("is not shown by a test that fails in set-up", () => {
    expect(reasonOf({ base: twice(passed), head: twice(unlinked) })).toContain(
      "fails before it tests anything",
    );
  });

  it("is not shown by a test that prints a failure, or that ends without one", () => {
    const printed = { ...passed, exit_code: 1, stdout: "", stderr: "it does not work\n" };
    expect(reasonOf({ base: twice(passed), head: twice(printed) })).toContain("not known why it fails");
    const printing = { ...passed, stdout: failed.stderr };
    expect(reasonOf({ base: twice(passed), head: twice(printing) })).toContain("passes at the head");
  });

  it("is not shown by a run that a limit ended", () => {
    const late: TestEnd = { ...failed, ended: "timeout", exit_code: 137 };
    expect(reasonOf({ base: twice(passed), head: twice(late) })).toContain("it took too long");
  });

  it("is not shown by a test that changes files of the repository or its environment", () => {
    const writing = { ...failed, changed: ["cart.js"] };
    expect(reasonOf({ base: twice(passed), head: twice(writing) })).toContain("it changes files");
    expect(
      reasonOf({ base: twice({ ...passed, changed: ["node_modules/x"] }), head: twice(failed) }),
    ).toContain("node_modules/x");
  });

  it("is not shown by a test that does not run the changed code, or of which that is not known", () => {
    const elsewhere = { ...asserted, executed: [other] };
    expect(reasonOf({ base: twice(passed), head: twice(elsewhere) })).toContain(
      "does not run the changed code",
    );
    const unknown = { ...asserted, executed: null };
    expect(reasonOf({ base: twice(passed), head: twice(unknown) })).toContain("it is not known");
  });

  it("is not shown by a test that skips what the merge base does not have", () => {
    expect(reasonOf({ base: twice({ ...passed, executed: [other] }), head: twice(failed) })).toContain(
      "nothing is compared",
    );
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

  it("shows a regression although the function is not entered at the head", () => {
    const refused = python("TypeError: total() missing 1 required positional argument: 'tax'");
    expect(ofPython(passed, refused)).toMatchObject({ ok: true });
    expect(ofPython({ ...passed, executed: [other] }, refused)).toMatchObject({
      reason: expect.stringContaining("nothing is compared"),
    });
  });

  it("is none if another function refuses its arguments, and a name that is gone shows nothing", () => {
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
  it("needs a failure at the head, a pass with the suggestion, and no pass at the merge base", () => {
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
  it("needs two passes at the head that run the changed code", () => {
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

  it("a regression is shown only if every run at the merge base passes, every run at the head fails, and none did anything else", () => {
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

  it("no runs at all show nothing", () => {
    for (const claimed of ["regression", "reproduced", "ran_right"] as const)
      expect(reasonOf({}, claimed)).toContain("did not run 2 times");
  });
});
