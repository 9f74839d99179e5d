import { setTimeout as delay } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import type { ModelRequest } from "../../../src/agent/llm/model.ts";
import type { TestEnd } from "../../../src/agent/record/test-end.ts";
import { failed, passed, test } from "./proof/test-ends.ts";
import { finish, intent, ProvenRepository, regressed, target, testsThat, tryTest } from "./prove-fixture.ts";

const repo = new ProvenRepository();
afterAll(() => repo[Symbol.asyncDispose]());
const { prove } = repo;

/** A failure without a place in the repository. */
const elsewhere: TestEnd = { ...failed, stderr: failed.stderr.replaceAll("cart.js", "node_modules/x.js") };

const answered = (request: ModelRequest | undefined) => request?.messages.at(-1)?.content ?? "";

describe("a proof", () => {
  it("A test that passes at the merge base and fails at the head shows a regression", async () => {
    const { ran, tests } = regressed();
    const { proof } = await prove([tryTest(), finish(), intent("silent")], tests);
    expect(proof).toMatchObject({
      ...{ kind: "regression", test, command: `node ${test.path}`, before: "total([]) returns 0" },
      now: "total([]) throws a TypeError (TypeError: Reduce of empty array with no initial value)",
      runs: [
        { on: "base", exit_code: 0 },
        { on: "head", exit_code: 1 },
      ],
    });
    expect(ran.map(({ on }) => on)).toEqual(["base", "head", "base", "base", "head", "head"]);
    expect(new Set(ran.map(({ key }) => key)).size).toBe(ran.length);
  });

  it("The runs decide, whatever the model says", async () => {
    const { tests } = testsThat(() => passed);
    const { proof, requests } = await prove([tryTest(), finish(), finish(), finish()], tests);
    expect(answered(requests[2])).toContain("it passes at the head");
    expect(proof).toEqual({
      kind: "not_shown",
      reason: "the test does not show it: it passes at the head, so the fault does not show",
    });
  });

  it("The model may write a better test", async () => {
    const { tests } = testsThat((on, { test: { text } }) =>
      on === "head" && text !== "1\n" ? failed : passed,
    );
    const turns = [tryTest({ content: "1\n" }), finish(), tryTest(), finish(), intent("silent")];
    const { proof } = await prove(turns, tests);
    expect(proof).toMatchObject({ kind: "regression", test });
  });

  it("A test runs only if the rules accept it and its path is new", async () => {
    const { ran, tests } = testsThat(() => failed, {
      whyRefused: async () => "line 1 prints: `console.log`",
    });
    const turns = [
      tryTest(),
      tryTest({ path: "cart.js" }),
      tryTest({ path: "-x.js" }),
      // pytest reads its arguments from a file that is written so.
      tryTest({ path: "@x/test_x.py" }),
      finish(),
      finish("none"),
    ];
    const { requests, proof } = await prove(turns, tests);
    expect(answered(requests[1])).toContain("this test shows nothing: line 1 prints: `console.log`");
    expect(answered(requests[2])).toContain("'cart.js' exists already");
    expect(answered(requests[3])).toContain("only letters, digits");
    expect(answered(requests[4])).toContain("only letters, digits");
    expect(answered(requests[5])).toContain("no test was run");
    expect(proof).toEqual({ kind: "not_shown", reason: "An empty cart is added up" });
    expect(ran).toEqual([]);
  });

  it("A test whose path a runner may confuse with another does not run", async () => {
    // Vitest and Jest run all files whose path contains the one that they are given; Jest reads it as a pattern.
    for (const other of [`packages/a/${test.path}`, `lib/${test.path}x`, "Cart-proof-test.js"]) {
      await using twice = new ProvenRepository("Shorter", { [other]: "throw new Error('own');\n" });
      const { ran, tests } = regressed();
      const { requests } = await twice.prove([tryTest(), finish("none")], tests);
      expect(answered(requests[1])).toContain(`could run '${other}' as well`);
      expect(ran).toEqual([]);
    }
  });

  it("A proof says what happens and judges nothing", async () => {
    const { requests } = await prove(
      [tryTest(), finish("regression", { now: "total([]) is broken" }), finish(), intent("silent")],
      regressed().tests,
    );
    expect(answered(requests[2])).toContain("only what happens, not 'broken'");
  });

  it("A fault of new code is reproduced if the suggestion and the change confirm it", async () => {
    const { ran, tests } = testsThat((on) => (on === "repaired" ? passed : failed));
    const turns = [
      tryTest({ on: ["head", "repaired"] }),
      finish("reproduced"),
      intent("before", "Make total shorter"),
    ];
    const { proof } = await prove(turns, tests);
    expect(proof).toMatchObject({
      kind: "reproduced",
      runs: [
        { on: "base", exit_code: 1 },
        { on: "head", exit_code: 1 },
        { on: "repaired", exit_code: 0 },
      ],
    });
    const repaired = ran.find(({ on }) => on === "repaired")?.replaced;
    expect(Buffer.from(repaired?.bytes ?? []).toString()).toContain("sum + price, 0);\n}\n");
    const silent = await prove([tryTest(), finish("reproduced"), intent("silent")], tests);
    expect(silent.proof).toMatchObject({
      reason: "nothing in the pull request says that it should be otherwise",
    });
  });

  it("A finding without a suggestion has no repaired run", async () => {
    const targets = [{ ...target, suggestion: null }];
    const { requests } = await prove([tryTest({ on: ["repaired"] }), finish("none")], regressed().tests, {
      targets,
    });
    expect(answered(requests[1])).toContain("the finding has no suggestion");
  });

  it("A passing test shows that the head does the right thing", async () => {
    const { proof } = await prove([tryTest(), finish("ran_right")], testsThat(() => passed).tests);
    expect(proof).toMatchObject({
      kind: "ran_right",
      before: "",
      now: "",
      runs: [{ on: "head", exit_code: 0 }],
    });
  });

  it("A test must run the changed code of the finding's file", async () => {
    await using other = new ProvenRepository("Shorter", {
      "version.js": "export function version() {\n  return 2;\n}\n",
      "dist/cart.min.js": `function total(){return 1}//${"x".repeat(5_000)}\n`,
    });
    for (const path of ["version.js", "dist/cart.min.js"]) {
      const executed = [{ path, name: path === "version.js" ? "version" : "total", line: 1 }];
      const runs = testsThat((on) => (on === "base" ? { ...passed, executed } : { ...elsewhere, executed }));
      const { proof } = await other.prove([tryTest(), finish(), finish(), finish()], runs.tests);
      expect(proof).toMatchObject({ reason: expect.stringContaining("does not run the changed code") });
      // It says nothing about this file alone, which has no functions.
      const targets = [{ ...target, path: "other.js", line: 1 }];
      const { proof: wide } = await other.prove([tryTest(), finish(), intent("silent")], runs.tests, {
        targets,
      });
      if (path === "version.js") expect(wide).toMatchObject({ kind: "regression" });
    }
  });

  it("Runs are recorded under other keys if files or environment differ", async () => {
    const keysWith = async (config: object) => {
      const { ran, tests } = regressed();
      await prove([tryTest(), finish("none")], tests, { config });
      return ran.map(({ key }) => key);
    };
    const keys = await keysWith({});
    expect(await keysWith({})).toEqual(keys);
    for (const config of [
      { prove: { enabled: true, prepare: "npm ci" } },
      { paths: { private: ["secrets/**"] } },
    ])
      expect(new Set([...keys, ...(await keysWith(config))]).size).toBe(2 * keys.length);
  });

  it("Runs end when the time of the proof is up", async () => {
    const { promise: isEnded, resolve } = Promise.withResolvers<boolean>();
    const { tests } = testsThat(async (_on, _run, nth, signal) => {
      // The first run on each side is that of try_test.
      if (nth === 1) return passed;
      signal.addEventListener("abort", () => resolve(true));
      return await new Promise<never>((_, reject) => signal.addEventListener("abort", reject));
    });
    const { proof } = await prove([tryTest(), finish()], tests, { milliseconds: 2_000 });
    expect(proof).toMatchObject({ kind: "not_shown", reason: expect.stringContaining("time") });
    expect(await Promise.race([isEnded, delay(5_000, false)])).toBe(true);
  });

  it("A proof that the model does not end is not shown, with the reason", async () => {
    const { proof } = await prove(
      [{ content: "Done." }, { content: "Done." }, { content: "Done." }],
      regressed().tests,
    );
    expect(proof).toEqual({ kind: "not_shown", reason: "the model did not finish the proof" });
  });
});

describe("the intention of a change", () => {
  const pull = { number: 7, title: "Make total shorter", body: "Empty carts are an error from now on." };

  it("A change that asks for what happens now gets no mark", async () => {
    const turns = [tryTest(), finish(), intent("now", "Empty carts are an error from now on.")];
    const { proof } = await prove(turns, regressed().tests, { pull });
    expect(proof).toEqual({
      kind: "not_shown",
      reason: 'the pull request asks for it: "Empty carts are an error from now on"',
    });
  });

  it("The intention must be quoted from the change", async () => {
    const turns = [tryTest(), finish(), intent("now", "Everything is on purpose here."), intent("silent")];
    const { proof, requests } = await prove(turns, regressed().tests, { pull });
    expect(answered(requests[3])).toContain("`quote` is not among what is shown");
    expect(proof).toMatchObject({ kind: "regression" });
  });

  it("A test that is not about the finding shows nothing", async () => {
    const turns = [tryTest(), finish(), intent("silent", "", false)];
    const { proof } = await prove(turns, regressed().tests, { pull });
    expect(proof).toEqual({
      kind: "not_shown",
      reason: "the test shows something else than the finding says",
    });
  });

  it("An intention that is not settled gives no mark", async () => {
    const turns = [tryTest(), finish(), ...Array(4).fill({ content: "I cannot tell." })];
    const { proof } = await prove(turns, regressed().tests, { pull });
    expect(proof).toEqual({
      kind: "not_shown",
      reason: "it is not known whether the pull request asks for it",
    });
  });

  it("The intention is read from tests and documentation, without the finding's text", async () => {
    await using other = new ProvenRepository("Shorter", {
      "cart.test.js": "assert.throws(() => total([]), TypeError);\n",
      "docs/cart.md": "Carts without items are refused.\n",
    });
    const { requests } = await other.prove([tryTest(), finish(), intent("silent")], regressed().tests);
    const asked = answered(requests[2]);
    expect(asked).toContain("assert.throws(() => total([]), TypeError);");
    expect(asked).toContain("Carts without items are refused.");
    expect(asked).toContain(target.title);
    expect(asked).not.toContain(target.text);
  });

  it("An error that the change adds needs words against it", async () => {
    const text =
      "export function total(prices) {\n  if (!prices[0]) throw new Error('a cart needs an item');\n  return 1;\n}\n";
    await using strict = new ProvenRepository("Total of carts; empty ones keep their total 0", {
      "cart.js": text,
    });
    const refused = {
      ...failed,
      stderr: "Error: a cart needs an item\n    at total (file:///work/cart.js:2:25)\n",
    };
    const { tests } = testsThat((on) => (on === "base" ? passed : refused));
    const silent = await strict.prove([tryTest(), finish(), intent("silent")], tests);
    expect(silent.proof).toMatchObject({ reason: expect.stringContaining("the change adds this error") });
    const promised = intent("before", "empty ones keep their total 0");
    const { proof } = await strict.prove([tryTest(), finish(), promised], tests);
    expect(proof).toMatchObject({ kind: "regression" });
  });
});
