import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { parseRepoConfig } from "../../../../src/config/parse-config.ts";
import { switchOff } from "../../../../src/server/jobs/commands/remember.ts";
import type { Act } from "../../../../src/server/queue/job.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

let repo: CommandedRepository;
let on: Commanded;
beforeAll(() => {
  repo = new CommandedRepository();
});
beforeEach(() => {
  on = new Commanded(repo);
  on.github.state.state = "closed";
});
afterAll(() => repo[Symbol.asyncDispose]());

const demote = (over: Partial<Extract<Act, { name: "demote" }>> = {}): Act => ({
  ...{ name: "demote", dimension: "source", value: "ast-grep/py-eval", dismissed: 7, findings: 9, ...over },
});
const file = ".github/hunkwise.yml";

it("A proposal switches an analyzer's rule off in a pull request that says why, and one comment says where", async () => {
  on.files.set(file, "effort: low # for now\n");
  await on.act(demote());
  expect(on.proposals).toEqual([
    expect.objectContaining({
      ...{ branch: `hunkwise/demote-${"A".repeat(22)}`, base: "main", path: file },
      text: "effort: low # for now\nrules:\n  ast-grep/py-eval: off\n",
      body: expect.stringMatching(/grace.*people dismissed 7 of 9 such findings/s),
    }),
  ]);
  expect(on.said()).toEqual([
    expect.stringMatching(
      /Asked for by `grace` on a page of Hunkwise. Proposed in https:\/\/github.example\/octo\/shop\/pull\/8/,
    ),
  ]);
  await on.act(demote());
  expect([on.proposals.length, on.said().length]).toEqual([1, 1]);
});

it("A proposal asks for severe findings only, if they are of a category", async () => {
  await on.act(demote({ dimension: "category", value: "docs" }));
  expect(on.proposals.map(({ text }) => text)).toEqual([
    'instructions:\n  - path: "**"\n    text: Report a finding of the category docs only if its severity is high or critical.\n',
  ]);
});

it("A proposal is a patch in the comment if the App may not write", async () => {
  on.mayWriteContents = false;
  await on.act(demote());
  expect(on.said()[0]).toContain("+rules:\n+  ast-grep/py-eval: off\n```");
});

it.each([
  [
    "the rule has a setting already",
    "rules:\n  ast-grep/py-eval:\n    off: [a.py]\n",
    "already has a setting for the rule",
  ],
  ["the file is not valid", "efort: low\n", "efort"],
])("A proposal says why there is none if %s", async (_, text, why) => {
  on.files.set(file, text);
  await on.act(demote());
  expect(on.proposals).toEqual([]);
  expect(on.said()[0]).toContain(why);
});

it("A proposal is for people with write access, when it is made", async () => {
  on.github.permissions.set("grace", "read");
  expect(await on.act(demote())).toEqual({ kind: "skipped", reason: "grace has no write access" });
  expect([on.proposals, on.said()]).toEqual([[], []]);
});

it("A proposal changes nothing else in a file, whatever the rule is called", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1, maxLength: 40 }), (rule) => {
      const before =
        'effort: low\nrules:\n  secrets: off # they are examples\ninstructions:\n  - {path: "**", text: x}\n';
      const after = switchOff(before, rule);
      if (!after.ok) return;
      const [old, now] = [parseRepoConfig(before), parseRepoConfig(after.text)];
      if (!old.ok || !now.ok) throw new Error("not valid");
      expect(now.config).toEqual({ ...old.config, rules: { ...old.config.rules, [rule]: "off" } });
      expect(after.text).toContain("secrets: off # they are examples");
    }),
  );
});
