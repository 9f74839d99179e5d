import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

let repo: CommandedRepository;
let on: Commanded;
beforeAll(() => {
  repo = new CommandedRepository();
});
beforeEach(() => {
  on = new Commanded(repo);
});
afterAll(() => repo[Symbol.asyncDispose]());

const remember = (rule: string, commentId = 9_001) => on.command({ name: "remember", rule }, { commentId });

it("Remember proposes the rule as a pull request to the branch that this one is to be merged into", async () => {
  on.files.set(".github/hunkwise.yml", "effort: low # for now\n");
  await remember("Test every public function.");

  expect(on.proposals).toEqual([
    expect.objectContaining({
      ...{ branch: "hunkwise/remember-9001", base: "main", path: ".github/hunkwise.yml" },
      text: 'effort: low # for now\ninstructions:\n  - path: "**"\n    text: Test every public function.\n',
      body: expect.stringContaining("```\nTest every public function.\n```"),
    }),
  ]);
  expect(on.said()).toEqual([expect.stringContaining("https://github.example/octo/shop/pull/8")]);
});

it("Remember uses the existing file, and makes one if there is none", async () => {
  on.files.set(".github/hunkwise.yaml", "effort: low\n");
  await remember("One.");
  on.files.clear();
  await remember("Two.", 9_002);
  expect(on.proposals.map(({ path }) => path)).toEqual([".github/hunkwise.yaml", ".github/hunkwise.yml"]);
});

it("Remember takes a branch of its own for each comment, on a line too, whose ids may coincide", async () => {
  const thread = await on.finding("f1");
  await remember("One.");
  await on.command({ name: "remember", rule: "Two." }, { thread });
  expect(on.proposals.map(({ branch }) => branch)).toEqual([
    "hunkwise/remember-9001",
    "hunkwise/remember-review-9001",
  ]);
});

it("Remember shows a patch and the missing permission if it may not write", async () => {
  on.mayWriteContents = false;
  on.files.set(".github/hunkwise.yml", "effort: low\n");
  await remember("Test @everyone's functions.");
  const [text = ""] = on.said();
  expect(text).toContain("`Contents: Read and write`");
  expect(text).toContain(
    "```diff\n--- a/.github/hunkwise.yml\n+++ b/.github/hunkwise.yml\n@@ -1,1 +1,4 @@\n",
  );
  expect(text).toContain("+    text: Test @everyone's functions.\n```");
});

it("Remember shows no more of a patch than fits into a comment, and says so", async () => {
  on.mayWriteContents = false;
  on.files.set(".github/hunkwise.yml", `effort: low\n# ${"\u200b".repeat(20_000)}\n`);
  await remember("Test it.");
  const [text = ""] = on.said();
  expect(Buffer.byteLength(text)).toBeLessThan(65_536);
  expect(text).toContain("too long to be shown in full");
  expect(text).toContain("--- a/.github/hunkwise.yml");
});

it("Remember proposes no known rule, none that is too long, and none for a broken file", async () => {
  on.files.set(".github/hunkwise.yml", 'instructions:\n  - path: "**"\n    text: Test it.\n');
  await remember("Test it.");
  await remember("x".repeat(501), 9_002);
  on.files.set(".github/hunkwise.yml", "paths: {private: [");
  await remember("Test it.", 9_003);

  expect(on.proposals).toEqual([]);
  expect(on.said()[0]).toContain("already has this rule");
  expect(on.said()[1]).toContain("at most 500 characters");
  expect(on.said()[2]).toContain("Not added: ");
});

it("Remember begins no file that would take the place of the organization's", async () => {
  on.organization.set(".github/hunkwise.yml", "paths: { private: [secret/**] }\n");
  await remember("Test it.");
  expect(on.proposals).toEqual([]);
  expect(on.said()[0]).toContain("the configuration of its organization");
});

it("Remember begins a file that is joined with the organization's, unless its policy enforces the instructions", async () => {
  on.organization.set(".github/hunkwise.yml", "policy: { enforce: [check] }\n");
  await remember("Test it.");
  expect(on.proposals).toHaveLength(1);
  on.organization.set(".github/hunkwise.yml", "policy: { enforce: [instructions] }\n");
  await remember("Test it.", 9_002);
  expect(on.proposals).toHaveLength(1);
  expect(on.said()[1]).toContain("the organization's policy enforces `instructions`");
});

it("Remember is done once, however often it is delivered", async () => {
  await remember("Test it.");
  await remember("Test it.");
  expect(on.proposals).toHaveLength(1);
  expect(on.said()).toHaveLength(1);
});
