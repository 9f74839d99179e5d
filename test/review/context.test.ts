import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Candidate } from "../../src/analyzers/analyzer.ts";
import { firstMessages } from "../../src/review/context.ts";
import { GitRepo } from "../support/git-repo.ts";
import { reviewInput } from "../support/review-input.ts";
import { openRepository, toolsOn } from "../tools/context.ts";

const lines = Array.from({ length: 12 }, (_, at) => `line ${at + 1}\n`).join("");

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;

beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("base", { "odd\nname.ts": "const a = 1;\n", "was\there.ts": lines });
  repo.branch("topic");
  repo.commit("head", {
    "odd\nname.ts": "const a = 2;\n",
    "was\there.ts": null,
    "is\nthere.ts": lines.replace("line 3", "line three"),
  });
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

const candidate: Candidate = {
  path: "odd\nname.ts",
  line: 1,
  startLine: null,
  severity: "low",
  category: "correctness",
  title: "a constant",
  body: "It is one.",
  suggestion: null,
  source: "rules/constant",
};

describe("the first message", () => {
  it("names each path on one line, in a form that the tools take back", async () => {
    const tools = toolsOn(opened.workspace);
    const { diffs, coverage, workspace } = tools.context;
    const [, message] = await firstMessages({
      input: reviewInput(),
      shas: workspace.shas,
      files: await diffs.files(),
      commits: [],
      candidates: [candidate],
      diffs,
      coverage,
      diffBytes: 10_000,
    });

    const shown = message?.content?.split("\n") ?? [];
    expect(shown).toEqual(
      expect.arrayContaining([
        'M "odd\\nname.ts"  +1 -1  1 hunk',
        'R "is\\nthere.ts" (was "was\\there.ts")  +1 -1  1 hunk',
        '"odd\\nname.ts":1 a constant (rules/constant)',
        '## "odd\\nname.ts"',
        '## "is\\nthere.ts"',
      ]),
    );
    // What was served is told by the path itself.
    expect(tools.served).toEqual(expect.arrayContaining(["odd\nname.ts#1", "is\nthere.ts#1"]));
    expect(await tools.output("diff_file", { file_path: '"is\\nthere.ts"' })).toMatchObject({
      total_hunks: 1,
    });
  });
});
