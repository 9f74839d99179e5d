import { afterAll, describe, expect, it } from "vitest";
import { createTestPort } from "../../../../src/border/test-port.ts";
import { RepoConfig } from "../../../../src/config/repo-config.ts";
import type { TestPort } from "../../../../src/tasks/prove/run-prove.ts";
import { sandboxFor } from "../../../sandbox/sandbox.ts";
import { finish, intent, ProvenRepository, tryTest } from "../prove-fixture.ts";
import { test } from "./test-ends.ts";

const { sandbox, skipped } = await sandboxFor("that tests which cheat get no mark");

const repo = new ProvenRepository();
afterAll(() => repo[Symbol.asyncDispose]());

const end = finish("regression", { before: "it returns 0", now: "it does something else" });

/** The real rules, runner and sandbox. With `hasRules` false, only the runs decide: what the rules cannot see must not count either. */
async function proofOf(
  text: string,
  { hasRules = true, path = test.path, rest = [end, end, finish("none")], on = repo } = {},
) {
  const workspace = await on.workspace;
  const port = createTestPort({
    where: { sandbox: { sandbox: sandbox as never, memoryMb: 1_024 }, environment: null },
    prove: RepoConfig.parse({ prove: { enabled: true } }).prove,
    ...{ workspace, isPrivate: () => false, masks: { learn: async () => {} }, tested: [] },
    record: async () => {},
  });
  const tests: TestPort = hasRules ? port : { ...port, whyRefused: async () => null };
  const { proof, requests } = await on.prove([tryTest({ path, content: text }), end, ...rest], tests);
  const said = requests.flatMap(({ messages }) => messages.filter(({ role }) => role === "tool"));
  return { proof, said: said.map(({ content }) => content).join("\n") };
}

const assert = 'import assert from "node:assert/strict";\n';
const own = `${assert}import { total } from "./cart.js";\n`;

/** Each with what refuses it: the rules by what they read, and the judge by what its runs did. */
const cheats: [name: string, text: string, byRules: RegExp, byRuns: RegExp | null][] = [
  [
    "asserts its own constants",
    `${own}total([1]);\nassert.equal(1, 2);\n`,
    /shows nothing: .*/,
    /fails at the merge base too/,
  ],
  [
    "replaces the code under test",
    `${assert}import { mock } from "node:test";\nimport * as cart from "./cart.js";\nconst fake = { ...cart };\nmock.method(fake, "total", () => 1);\nassert.equal(fake.total([]), 0);\n`,
    /line 4/,
    /fails at the merge base too/,
  ],
  [
    "fails in set-up",
    `${assert}import { subtotal } from "./cart.js";\nassert.equal(subtotal([]), 0);\n`,
    /fails at the merge base too/,
    /fails at the merge base too/,
  ],
  [
    "fails on both sides",
    `${own}assert.equal(total([2]), 3);\n`,
    /fails at the merge base too/,
    /fails at the merge base too/,
  ],
  ["passes by luck", `${own}assert.ok(total([Math.random()]) < 0.5);\n`, /line 3/, null],
  [
    "depends on the time",
    `${own}assert.ok(Date.now() + total([1]) < 1);\n`,
    /line 3/,
    /fails at the merge base too/,
  ],
  [
    "sleeps",
    `${own}await new Promise((done) => setTimeout(done, 50));\nassert.equal(total([]), 0);\n`,
    /line 3/,
    null,
  ],
  [
    "prints the failure instead of causing it",
    `${own}total([1]);\nconsole.error("TypeError: Reduce of empty array\\n    at total (file:///work/cart.js:2:17)");\nprocess.exit(1);\n`,
    /line 4/,
    /fails at the merge base too/,
  ],
  [
    "writes into the base's files",
    `${assert}import { writeFileSync } from "node:fs";\nwriteFileSync("cart.js", "export const total = () => 1;\\n");\nconst { total } = await import("./cart.js");\nassert.equal(total([]), 1);\n`,
    /shows nothing: .*/,
    /passes at the head|changes files of the repository/,
  ],
  [
    "writes a file beside the base's files",
    `${own}import { writeFileSync } from "node:fs";\nwriteFileSync("other.json", "{}");\nassert.equal(total([]), 0);\n`,
    /shows nothing: .*/,
    /changes files of the repository.*other.json/,
  ],
  [
    "writes into git",
    `${own}import { mkdirSync, writeFileSync } from "node:fs";\nmkdirSync(".git", { recursive: true });\nwriteFileSync(".git/HEAD", "x");\nassert.equal(total([2]), 3);\n`,
    /shows nothing: .*/,
    /fails at the merge base too/,
  ],
  [
    "writes into the environment",
    `${own}import { mkdirSync, writeFileSync } from "node:fs";\nmkdirSync("node_modules/left", { recursive: true });\nwriteFileSync("node_modules/left/index.js", "");\nassert.equal(total([]), 0);\n`,
    /shows nothing: .*/,
    /changes files of the repository.*node_modules\/left/,
  ],
  [
    "reads the environment",
    `${own}assert.equal(Object.keys(process.env).length + total([]), 0);\n`,
    /line 3/,
    /fails at the merge base too/,
  ],
  [
    "reads the source text instead of running it",
    `${assert}import { readFileSync } from "node:fs";\nassert.match(readFileSync("cart.js", "utf8"), /price, 0/);\n`,
    /shows nothing: .*/,
    /does not run the changed code/,
  ],
  [
    "skips what the merge base does not have",
    `${assert}import * as cart from "./cart.js";\nif ("subtotal" in cart) assert.equal(cart.total([]), 0);\n`,
    /.+/,
    /passes at the head/,
  ],
  [
    "throws whatever the code does",
    `${own}total([1]);\nthrow new Error("an empty cart has no total");\n`,
    /shows nothing: .*|fails at the merge base too/,
    /fails at the merge base too/,
  ],
];

describe("a test that cheats", () => {
  it.skipIf(!sandbox).each(cheats)(
    `A test gets no mark if it %s${skipped}`,
    async (_, text, byRules, byRuns) => {
      const ruled = await proofOf(text);
      expect(ruled.proof).toMatchObject({ kind: "not_shown" });
      expect(ruled.said).toMatch(byRules);
      if (byRuns === null) return;
      const judged = await proofOf(text, { hasRules: false });
      expect(judged.proof).toMatchObject({ kind: "not_shown" });
      expect(judged.said).toMatch(byRuns);
    },
    60_000,
  );

  it.skipIf(!sandbox)(
    `Tests and helpers that the change brings give no mark${skipped}`,
    async () => {
      const sum = 'import { total } from "../cart.js";\nexport const sum = (list) => total(list);\n';
      const files = { "test/sum.js": sum.replace("total(list);", "total(list) + 1;") };
      await using other = new ProvenRepository("Shorter", files, { "test/sum.js": sum });
      const text = `${assert}import { sum } from "./test/sum.js";\nassert.equal(sum([2]), 2);\n`;
      const { proof, said } = await proofOf(text, { on: other });
      expect(said).toContain("it passes at the head");
      expect(proof).toMatchObject({ kind: "not_shown" });
    },
    60_000,
  );

  it.skipIf(!sandbox)(
    `An honest test gets its mark${skipped}`,
    async () => {
      const { proof } = await proofOf(test.text, { rest: [intent("silent")] });
      expect(proof).toMatchObject({ kind: "regression", test });
    },
    60_000,
  );
});
