import { describe, expect, it } from "vitest";
import { openWorkspace } from "../../../src/repo/git/object-workspace.ts";
import { describeConfigChange, findConfigChanges } from "../../../src/tasks/rules/config-changes.ts";
import { placeOf } from "../../support/checkout-place.ts";
import { type Content, GitRepo } from "../../support/git-repo.ts";

const path = ".github/hunkwise.yml";
const root = (before: string | null | undefined, after: string | null | undefined) =>
  describeConfigChange(
    "root",
    before === undefined ? undefined : { path, text: before },
    after === undefined ? undefined : { path, text: after },
  );

describe("a changed configuration", () => {
  it("Keys that the policy of the organization enforces are named as without effect", () => {
    const policy = { enforce: ["check", "paths"], month: { tokens: null, cost_usd: null } };
    const text = "check: { fail: true }\neffort: low\npaths: { ignore: [a], private: [b] }\n";
    const path = ".github/hunkwise.yml";
    expect(describeConfigChange("root", { path, text: "" }, { path, text }, { policy })).toEqual([
      "`paths.ignore`: added `a` (has no effect: the policy of the organization enforces this key).",
      "`paths.private`: added `b`.",
      "`effort`: `medium` -> `low`.",
      "`check.fail`: `false` -> `true` (has no effect: the policy of the organization enforces this key).",
    ]);
  });

  it("Each changed key has a sentence with the old and the new value", () => {
    expect(root("max_comments: 40\nreview: { drafts: true }", "max_comments: 10\nlanguage: German")).toEqual([
      "`review.drafts`: `true` -> `false`.",
      "`max_comments`: `40` -> `10`.",
      "`language`: `null` -> `German`.",
    ]);
  });

  it("A file with the same values changes nothing", () => {
    expect(root("# old\nmax_comments: 40", "max_comments: 40\neffort: medium")).toEqual([]);
  });

  it("Lists show what they gain and lose, and what was private may be seen", () => {
    expect(
      root(
        "paths: { ignore: [a, b], private: [secrets/] }",
        "paths: { ignore: [b, c], private: [] }\ninstructions: [{ path: '*.ts', text: Look twice }]",
      ),
    ).toEqual([
      "`paths.ignore`: added `c`; removed `a`.",
      "`paths.private`: removed `secrets/`, which a model may then see.",
      "`instructions`: added `*.ts: Look twice`.",
    ]);
    expect(root("paths: { ignore: [a, '!a/b'] }", "paths: { ignore: ['!a/b', a] }")).toEqual([
      "`paths.ignore`: order changed.",
    ]);
  });

  it("A broken file has one sentence with line and key", () => {
    expect(root("max_comments: 10", "color: red\nmax_comments: many")).toEqual([
      expect.stringMatching(
        /^`\.github\/hunkwise\.yml` would be invalid, and pull requests .*: line 1, `color` is not a known key.*; line 2, `max_comments` must be a number, not "many"\.$/,
      ),
    ]);
    expect(root("color: red", "\n\ncolor: red")).toEqual([
      expect.stringMatching(/would be invalid, .*line 3, `color`/),
    ]);
  });

  it.each([
    ["hides what is private", "paths:\n  private: [a"],
    ["is a link", null],
  ])("A configuration that %s would have reviews refused", (_, text) => {
    expect(root("", text)).toEqual([expect.stringMatching(/pull requests would not be reviewed/)]);
  });

  it("A file that becomes valid again has a sentence", () => {
    expect(root("color: red", "max_comments: 10")).toEqual([
      expect.stringMatching(/is invalid now, and would be valid/),
      "`max_comments`: `null` -> `10`.",
    ]);
  });

  it("A new or deleted file has a sentence", () => {
    expect(root(undefined, "effort: low")).toEqual([
      "`.github/hunkwise.yml` would be new, and would replace the organization's file if there is one without a `policy`.",
      "`effort`: `medium` -> `low`.",
    ]);
    expect(root("effort: low", undefined)).toEqual([
      "`.github/hunkwise.yml` would be deleted: the organization's file would apply if there is one, otherwise the defaults.",
      "`effort`: `low` -> `medium`.",
    ]);
  });

  it("Hostile values stay code, short and on one line", () => {
    const hostile = `"\`](x) @octocat\\n${"long ".repeat(1_000)}"`;
    const many = Array.from({ length: 30 }, (_, n) => `p${n}`).join(", ");
    const sentences = root(
      "",
      `language: null\npaths: { ignore: [${many}] }\ninstructions: [{ path: a, text: ${hostile.slice(0, 3_000)}" }]`,
    );
    expect(sentences).toHaveLength(2);
    expect(sentences[0]).toMatch(/`p7` and 22 more items\.$/);
    expect(sentences[1]).toMatch(/^`instructions`: added ``a: `\]\(x\) @octocat long .*…``\.$/);
    for (const sentence of sentences) expect(sentence.length).toBeLessThan(400);
  });
});

describe("a change of configuration files", () => {
  async function changesOf(base: Record<string, Content>, ...heads: Record<string, Content | null>[]) {
    using repo = GitRepo.create();
    repo.commit("Base", { "a.ts": "1\n", ...base });
    repo.branch("topic");
    for (const files of heads) repo.commit("Change", files);
    using held = await placeOf(repo, repo.sha("main"), repo.sha("topic"));
    await using workspace = openWorkspace(held.place);
    return await findConfigChanges(workspace);
  }

  it("Other files change nothing", async () => {
    expect(
      await changesOf({ [path]: "max_comments: 1" }, { "x/hunkwise.yml": "", "hunkwise.json": "" }),
    ).toEqual([]);
  });

  it("Files of the repository and of folders are compared, also new, deleted and moved ones", async () => {
    const sentences = await changesOf(
      { [path]: "max_comments: 1", "a/.hunkwise.yml": "minimum_severity: high\npaths: { private: [x] }\n" },
      {
        [path]: "max_comments: 2",
        "a/.hunkwise.yml": null,
        "b/.hunkwise.yaml": "minimum_severity: high\npaths: { private: [x] }\n",
      },
    );
    expect(sentences).toEqual([
      "`max_comments`: `1` -> `2`.",
      "`b/.hunkwise.yaml` would be new.",
      "`b/.hunkwise.yaml`: `paths.private`: added `x`.",
      "`b/.hunkwise.yaml`: `minimum_severity`: not set -> `high`.",
      "`a/.hunkwise.yml` would be deleted.",
      "`a/.hunkwise.yml`: `paths.private`: removed `x`, which a model may then see.",
      "`a/.hunkwise.yml`: `minimum_severity`: `high` -> not set.",
    ]);
  });

  it("A file that replaces another and one that is misplaced have sentences", async () => {
    const sentences = await changesOf(
      { ".github/hunkwise.yaml": "max_comments: 1" },
      { [path]: "max_comments: 2", ".hunkwise.yml": "minimum_severity: high" },
    );
    expect(sentences).toEqual([
      "`max_comments`: `1` -> `2`.",
      expect.stringMatching(/^`\.hunkwise\.yml` would be invalid.* is not allowed at the root/),
    ]);
  });

  it("A file that is too large to be read has a sentence", async () => {
    const sentences = await changesOf({}, { "a/.hunkwise.yml": "#".repeat(21 * 1024 * 1024) });
    expect(sentences).toEqual([expect.stringMatching(/too large, and pull requests would not be reviewed/)]);
  });

  it("New, changed, deleted and invalid own rules have sentences", async () => {
    const file = ".github/hunkwise/rules/a.yml";
    const moved = ".github/hunkwise/rules/b.yml";
    const rule = (id: string, more = "") => `id: ${id}\nlanguage: ts\nrule: { pattern: a }\n${more}`;
    const of = (...rules: string[]) => rules.join("---\n");
    const sentences = await changesOf(
      { [file]: of(rule("kept"), rule("other"), rule("gone")), [moved]: rule("away") },
      {
        [file]: of(
          rule("kept", "# a remark\n"),
          rule("other", "files: [src]\n"),
          rule("fresh"),
          rule("wrong", "'`x<b>`': 1\n"),
        ),
        [moved]: null,
        ".github/hunkwise/rules/sub/c.yml": "id: [",
      },
    );
    expect(sentences).toEqual([
      "`.github/hunkwise/rules/a.yml`: new rules: `fresh`; changed rules: `other`; deleted rules: `gone`.",
      expect.stringMatching(
        /^`\.github\/hunkwise\/rules\/a\.yml`: the rule `wrong` would not run: ``line 18: .*``\.$/,
      ),
      "`.github/hunkwise/rules/b.yml` would be deleted: deleted rules: `away`.",
    ]);
    expect(await changesOf({}, { [file]: rule("first") })).toEqual([
      "`.github/hunkwise/rules/a.yml` would be new: new rules: `first`.",
    ]);
  });

  it("At most twenty sentences are written", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [
        `${n}/.hunkwise.yml`,
        "minimum_severity: high\npaths: { private: [x] }\n",
      ]),
    );
    const sentences = await changesOf({}, many);
    expect(sentences).toHaveLength(20);
    expect(sentences.at(-1)).toBe("12 more changes of this kind.");
  });
});
