import { afterAll, describe, expect, it } from "vitest";
import type { TestEnd } from "../../../src/agent/record/test-end.ts";
import { ToolError } from "../../../src/agent/tools/tool.ts";
import type { TestPort, TestRun } from "../../../src/tasks/prove/run-prove.ts";
import { answered, edit, FixedRepository, finish, look, nothing, target } from "./fix-fixture.ts";

const repo = new FixedRepository();
afterAll(() => repo[Symbol.asyncDispose]());

const test = { path: "cart.proof.test.ts", text: 'import { rate } from "./cart.ts";\n' };
const tested = { ...target, test };

const passes: TestEnd = {
  ...{ stdout: "", stderr: "", exit_code: 0, ended: null, changed: [], executed: [], duration_ms: 1 },
};
const fails: TestEnd = {
  ...passes,
  exit_code: 1,
  stderr: `file:///work/cart.proof.test.ts:2
assert.equal(rate, 1);
       ^

AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:

3 !== 1

    at file:///work/cart.proof.test.ts:2:8 {
  code: 'ERR_ASSERTION',
}
`,
};

/** Fails before the repair, and after it as long as the rate is not 1. */
function port(more: Partial<TestPort> = {}) {
  const ran: TestRun[] = [];
  const tests = (files: { read(path: string): Promise<Buffer> }): TestPort => ({
    commandFor: ({ path }) => ({ command: `node ${path}` }),
    whyRefused: async () => null,
    async run(order) {
      ran.push(order);
      const isRepaired = (await files.read("cart.ts")).toString().includes("rate = 1;");
      return order.on === "head" && isRepaired ? passes : fails;
    },
    ...more,
  });
  return { ran, tests };
}

describe("a repair with the test of its finding", () => {
  it("The test of a finding runs before and after its repair, with its own text", async () => {
    const { ran, tests } = port();
    const turns = [edit("2", "1"), finish(), look("fixed")];
    const { result, requests } = await repo.fix(turns, nothing, [tested], tests);
    expect(result.repairs).toMatchObject([{ check: { state: "fixed" }, test: { state: "passes" } }]);
    expect(ran.map(({ on, test: one }) => [on, one])).toEqual([
      ["base", test],
      ["head", test],
    ]);
    expect(new Set(ran.map(({ key }) => key)).size).toBe(2);
    expect(requests[0]?.messages.at(-1)?.content).toContain("# Its test, cart.proof.test.ts");
  });

  it("A repair whose test fails goes back to the model once, without a verification", async () => {
    const { tests } = port();
    const turns = [edit("2", "3"), finish(), edit("3", "1"), finish(), look("fixed")];
    const { result, requests } = await repo.fix(turns, nothing, [tested], tests);
    expect(answered(requests[2])).toMatch(/F1: Its test fails: .*3 !== 1|F1: Its test fails: /);
    expect(result).toMatchObject({ rounds: 2, repairs: [{ test: { state: "passes" } }] });
  });

  it("A repair whose test still fails is not confirmed", async () => {
    const { tests } = port();
    const turns = [edit("2", "3"), finish(), edit("3", "4"), finish()];
    const { result } = await repo.fix(turns, nothing, [tested], tests);
    expect(result.repairs).toMatchObject([
      { repaired: true, check: { state: "present" }, test: { state: "fails" } },
    ]);
  });

  it("The model cannot write the test of a finding", async () => {
    const { tests } = port();
    const write = {
      toolCalls: [{ name: "write_file", arguments: { path: test.path, content: "process.exit(0);\n" } }],
    };
    const turns = [write, edit("2", "1"), finish(), look("fixed")];
    const { result, requests, texts } = await repo.fix(turns, nothing, [tested], tests);
    expect(answered(requests[1])).toContain("it is the test of a finding");
    expect(Object.keys(texts)).toEqual(["cart.ts"]);
    expect(result.repairs).toMatchObject([{ test: { state: "passes" } }]);
  });

  it.each<[string, { port?: Partial<TestPort>; test?: typeof test }, string]>([
    ["passes without the repair", { port: { run: async () => passes } }, "it passes without the repair"],
    ["may not run", { port: { whyRefused: async () => "it starts programs" } }, "it starts programs"],
    ["has no command", { port: { commandFor: () => ({ why: "no command" }) } }, "no command"],
    [
      "cannot run",
      {
        port: {
          run: async () => {
            throw new ToolError("too many files");
          },
        },
      },
      "too many files",
    ],
    [
      "has a name that a program takes for an option",
      { test: { ...test, path: "--config=x.test.ts" } },
      "its name is not one that a test may have",
    ],
    [
      "cannot even begin",
      { port: { run: async () => ({ ...fails, exit_code: 127, stderr: "sh: node: not found" }) } },
      "without the repair, it fails before it tests anything: sh: node: not found",
    ],
    ["would replace a file", { test: { ...test, path: "other.ts" } }, "a file of that name exists already"],
    [
      "is none by its path",
      { test: { ...test, path: "src/new.ts" } },
      "it is neither a file of the pull request nor a test",
    ],
    [
      "holds what nobody sees",
      { test: { ...test, text: "// \u202e\nexport {};\n" } },
      "it adds invisible characters",
    ],
  ])("A repair is made without its test, and says why, if the test %s", async (_, how, reason) => {
    const { tests } = port(how.port);
    const turns = [edit("2", "1"), finish(), look("fixed")];
    const targets = [{ ...target, test: how.test ?? test }];
    const { result } = await repo.fix(turns, nothing, targets, tests);
    expect(result.repairs).toMatchObject([{ check: { state: "fixed" }, test: { state: "not_run", reason } }]);
  });

  it("A fix adds one of two tests with the same name", async () => {
    const { tests } = port();
    const targets = [tested, { ...tested, id: "f2" }];
    const turns = [edit("2", "1"), finish(true, true), look("fixed"), look("fixed")];
    const { result } = await repo.fix(turns, nothing, targets, tests);
    expect(result.repairs.map((one) => one.test?.state)).toEqual(["passes", "not_run"]);
  });
});
