import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  changesTo,
  commitFix,
  patchTo,
  type UncheckedFix,
} from "../../../../src/server/jobs/commands/commit-fix.ts";
import type { EditedFile, FixResult, Repair } from "../../../../src/tasks/fix/fix-input.ts";
import { placeOf } from "../../../support/checkout-place.ts";
import { GitRepo } from "../../../support/git-repo.ts";

// The process that hands a repair over has read hostile text: all of it may be false.

const repo = GitRepo.create();
let held: Awaited<ReturnType<typeof placeOf>>;
beforeAll(async () => {
  repo.importCommits([
    {
      branch: "main",
      files: [
        ["src/cart.js", "export const rate = 1;\n"],
        ["src/other.js", "other\n"],
        ["run.sh", { mode: "100755", data: "true\n" }],
        ["CODEOWNERS", "* @octo\n"],
        ["link", { mode: "120000", data: "src" }],
        ["src/wide.js", `${"1,".repeat(1_200_000)}\n`],
      ],
    },
    {
      branch: "change",
      parents: ["main"],
      files: [
        ["src/cart.js", "export const rate = 2;\n"],
        ["run.sh", { mode: "100755", data: "false\n" }],
        ["src/huge.js", Buffer.alloc(20 * 1024 * 1024 + 1, "x\n")],
        ["src/wide.js", "1\n2\n"],
      ],
    },
  ]);
  held = await placeOf(repo, "main", "change");
});
afterAll(() => {
  held[Symbol.dispose]();
  repo.dispose();
});

const file = (path: string, text: string, mode: "100644" | "100755" = "100644"): EditedFile => ({
  path,
  after: { mode, base64: Buffer.from(text).toString("base64") },
});

/** What the finding's comment shows. */
const shown = { path: "test/rate.proof.test.js", text: "// as shown\n" };

const commit = (
  edits: EditedFile[],
  over: Partial<FixResult> = {},
  testOf: UncheckedFix["testOf"] = () => undefined,
) => {
  const fix: FixResult = {
    repairs: [{ id: "f1", repaired: true, note: "Done.", check: null }],
    ...{ summary: "Charge it", edits, model: "m", stop_reason: "finished" },
    ...{ tried_out: { commands: [], why_none: "none is named" }, refused: [], rounds: 1 },
    usage: { requests: 1, prompt_tokens: 1, cached_tokens: 0, completion_tokens: 1, cost_usd: null },
    ...over,
  };
  const unchecked: UncheckedFix = {
    ...{ fix, place: held.place, named: [], isPrivate: () => false, testOf, at: 0 },
    author: { name: "hunkwise[bot]", email: "hunkwise[bot]@users.noreply.github.com" },
    signal: AbortSignal.timeout(30_000),
  };
  return commitFix(unchecked);
};

const rate = file("src/cart.js", "export const rate = 3;\n");
const tested = (
  state: NonNullable<Repair["test"]>["state"],
  check: Repair["check"] = null,
): Partial<FixResult> => ({
  repairs: [{ id: "f1", repaired: true, note: "Done.", check, test: { state, reason: "" } }],
});

describe("the test of a finding", () => {
  const testOf = (id: string) => (id === "f1" ? shown : undefined);

  it("The test of a finding is committed with a repair that it passes, as its comment shows it", async () => {
    const made = await commit([rate], tested("passes"), testOf);
    if (made.kind !== "committed") throw new Error(made.kind);
    expect(repo.git("diff", "--name-only", "change", made.commit)).toBe(
      "src/cart.js\ntest/rate.proof.test.js",
    );
    expect(repo.git("show", `${made.commit}:${shown.path}`)).toBe("// as shown");
  });

  it.each([
    ["did not run", tested("not_run")],
    [
      "passes, but the repair is not confirmed",
      {
        repairs: [
          ...(tested("passes", { state: "present", reason: "It is." }).repairs ?? []),
          { id: "f2", repaired: true, note: "Done.", check: null },
        ],
      },
    ],
  ])("The test of a finding is left out if it %s", async (_, over) => {
    const made = await commit([rate], over, testOf);
    if (made.kind !== "committed") throw new Error(made.kind);
    expect(repo.git("diff", "--name-only", "change", made.commit)).toBe("src/cart.js");
  });

  it("A commit has no test that nobody asked for, whatever the process claims", async () => {
    const made = await commit([rate], tested("passes"));
    if (made.kind !== "committed") throw new Error(made.kind);
    expect(repo.git("diff", "--name-only", "change", made.commit)).toBe("src/cart.js");
  });

  it("The test of a finding is not replaced by the repair, and is not committed without one", async () => {
    const other = file(shown.path, "// always passes\n");
    expect(await commit([rate, other], tested("passes"), testOf)).toMatchObject({ kind: "refused" });
    expect(await commit([], tested("passes"), testOf)).toEqual({ kind: "none" });
  });

  it("The test of a finding is refused if no repair may write its file", async () => {
    const at = { ...shown, path: ".github/workflows/a.test.js" };
    expect(await commit([rate], tested("passes"), () => at)).toMatchObject({
      kind: "refused",
      refusals: [{ path: at.path }],
    });
  });
});

it("An unchecked repair becomes a commit if it is one", async () => {
  const made = await commit([
    file("src/cart.js", "export const rate = 3;\n"),
    file("run.sh", "exit 0\n", "100755"),
  ]);
  if (made.kind !== "committed") throw new Error(made.kind);
  expect(repo.git("diff", "--name-only", "change", made.commit)).toBe("run.sh\nsrc/cart.js");
  expect(repo.git("ls-tree", made.commit, "run.sh")).toMatch(/^100755/);
});

it.each([
  [".github/workflows/ci.yml", "it decides what runs in CI"],
  ["CODEOWNERS", "it decides who must approve changes"],
  ["src/other.js", "it is neither a file of the pull request nor a test"],
  ["src/.git/hooks/pre-commit", "it is not a path of a file in the repository"],
  ["../outside.js", "it is not a path of a file in the repository"],
  ["/etc/passwd", "it is not a path of a file in the repository"],
  ["src/a\0.js", "it is not a path of a file in the repository"],
  ["src", "it is neither a file of the pull request nor a test"],
])("An unchecked repair is refused as a whole for %j", async (path, reason) => {
  const made = await commit([file("src/cart.js", "export const rate = 3;\n"), file(path, "x\n")]);
  expect(made).toMatchObject({ kind: "refused" });
  expect(JSON.stringify(made)).toContain(reason);
});

it("An unchecked repair that changes nothing, or leaves the fault, makes no commit", async () => {
  expect(await commit([file("src/cart.js", "export const rate = 2;\n")])).toEqual({ kind: "none" });
  expect(await commit([{ path: "src/not-there.js", after: null }])).toEqual({ kind: "none" });
  const check = { state: "present" as const, reason: "It is." };
  const repairs = [{ id: "f1", repaired: true, note: "Done.", check }];
  expect(await commit([file("src/cart.js", "3\n")], { repairs })).toEqual({ kind: "none" });
});

it.each([
  ["src/other.js/deep/a.test.js", "src/other.js"],
  ["CODEOWNERS/tests/a.test.js", "CODEOWNERS"],
  ["link/a.test.js", "link"],
])("An unchecked repair that would replace a file by the folder of %j is refused", async (path, gone) => {
  const made = await commit([file("src/cart.js", "export const rate = 3;\n"), file(path, "x\n")]);
  expect(made.kind).toBe("refused");
  expect(JSON.stringify(made)).toContain(gone);
});

it("An unchecked repair that deletes what nobody could look at is refused", async () => {
  expect(await commit([{ path: "src/huge.js", after: null }])).toMatchObject({
    kind: "refused",
    refusals: [{ path: null, reason: "it changes a file that is too large to be checked" }],
  });
});

it("An unchecked repair is shown as a patch, however much the pull request itself does to the file", async () => {
  // Edits that change nothing lead nowhere, wherever they are said to be.
  const made = await commit([file("src/wide.js", "1\n3\n"), { path: "../outside.js", after: null }]);
  if (made.kind !== "committed") throw new Error(JSON.stringify(made));
  const at = { place: held.place, signal: AbortSignal.timeout(30_000) };
  expect(await patchTo(made.commit, at)).toContain("\n-2\n+3\n");
  expect(await changesTo(made.commit, at)).toMatchObject([
    { path: "src/wide.js", fix: expect.stringContaining("+3"), change: "" },
  ]);
});

it("An unchecked repair that is too large is refused unread", async () => {
  const many = Array.from({ length: 5_000 }, (_, n) => file(`test/t${n}.js`, "x\n"));
  expect(await commit(many)).toMatchObject({ kind: "refused", refusals: [{ path: null }] });
});
