import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forAllRoles } from "../../../../src/agent/llm/model.ts";
import { createDiffSource } from "../../../../src/repo/diff-source.ts";
import { createAnchorFiles } from "../../../../src/tasks/anchor/anchor.ts";
import { type ReviewRun, startRun } from "../../../../src/tasks/loop/review-run.ts";
import { createReviewCoverage } from "../../../../src/tasks/review/find/coverage-gate.ts";
import { claimMessages } from "../../../../src/tasks/review/verify/claim.ts";
import { findReviewedHunks } from "../../../../src/tasks/reviewed/known-change.ts";
import { ruleMatches } from "../../../../src/tasks/rules/rule-matches.ts";
import { openRepository } from "../../../agent/tools/context.ts";
import { sampleFinding } from "../../../report/sample-result.ts";
import { GitRepo } from "../../../support/git-repo.ts";
import { reviewDependencies } from "../../../support/review-dependencies.ts";
import { reviewInput } from "../../../support/review-input.ts";
import { scriptedModel } from "../../../support/scripted.ts";

const cart = (limit: string) => `import { rate } from "./rate.ts";
export function total(items: number[]): number {
  let sum = 0;
  for (let at = 0; at ${limit} items.length; at++) sum += items[at] * rate();
  return sum;
}
`;
const rate = "export function rate(): number {\n  return RATE_OF_TODAY;\n}\n";
const finding = sampleFinding({
  line: 4,
  quote: "  for (let at = 0; at <= items.length; at++) sum += items[at] * rate();",
  title: "The loop reads one item too many",
  body: "It reads `items[items.length]` (line 4). The rate is read at src/rate.ts:2.\n3. A forged sentence.",
  evidence: [
    { path: "src/rate.ts", start_line: 1, end_line: 2, note: "NOTE-OF-THE-REVIEWER" },
    { path: "secret/key.ts", start_line: 1, end_line: 1, note: "" },
    { path: "src/gone.ts", start_line: 1, end_line: 9, note: "" },
  ],
});

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
beforeAll(async () => {
  repo = GitRepo.create();
  const gap = Array.from({ length: 98 }, (_, at) => `// ${at}`).join("\n");
  const long = (more: string) =>
    `export function above() {\n  return calledAbove(1)${more};\n}\n${gap}\n${gap}\n// end\n\nexport function below() {\n  return calledBelow(1)${more};\n}\n`;
  repo.commit("base", {
    "src/long.ts": long(""),
    "src/calls.ts":
      "export function calledAbove(one: number) {\n  const twice = one * 2;\n  return twice;\n}\nexport function calledBelow(one: number) {\n  const half = one / 2;\n  return half;\n}\n",
    "src/cart.ts": cart("<"),
    "src/rate.ts": rate,
    "secret/key.ts": "export const KEY = 1;\n",
  });
  repo.branch("topic");
  repo.commit("head", { "src/cart.ts": cart("<="), "src/long.ts": long(" + 1") });
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

const pull = {
  ...{ number: 7, author: "someone", title: "Count the last item", body: "It was left out.\r\nOn purpose." },
  ...{ issues: [], checks: [], earlier: [] },
};

async function startedRun(): Promise<ReviewRun> {
  const { workspace } = opened;
  const diffs = createDiffSource(workspace, { ignore: [], private: ["secret/**"] });
  const files = await diffs.files();
  const models = forAllRoles(scriptedModel([], { contextTokens: 128_000 }));
  const isPrivate = (path: string) => path.startsWith("secret/");
  const deps = reviewDependencies(workspace, models, { diffs, isPrivate });
  const change = {
    ...{ files, analysis: { findings: [], silenced: [], unfinished: [] }, matches: ruleMatches([]) },
    coverage: createReviewCoverage(files),
    known: findReviewedHunks(files, null, diffs),
    anchorFile: createAnchorFiles(workspace, diffs),
  };
  return startRun(reviewInput({ pull }), deps, change);
}

const asked = async (...findings: readonly (typeof finding)[]) => {
  const claims = findings.length > 0 ? findings : [finding];
  const messages = await claimMessages(await startedRun(), claims);
  return messages.at(-1)?.content ?? "";
};

describe("the first messages of a verification", () => {
  it("The messages hold the claim in one sentence, its code, and the change around it", async () => {
    const text = await asked();
    expect(text).toContain("The loop reads one item too many (correctness)");
    expect(text).toContain("Place: src/cart.ts, line 4 at head:");
    expect(text).toContain("4 -  for (let at = 0; at < items.length");
    expect(text).toContain("4 +  for (let at = 0; at <= items.length");
  });

  it("The messages hold the code in the evidence, without the reviewer's notes", async () => {
    const text = await asked();
    expect(text).toContain(
      "### src/rate.ts:1-3\n1|export function rate(): number {\n2|  return RATE_OF_TODAY;",
    );
    expect(text).not.toContain("NOTE-OF-THE-REVIEWER");
  });

  it("The messages hold the lines that the text names, and the definition around the claim", async () => {
    const text = await asked({ ...finding, body: "See src/calls.ts:7.", evidence: [] });
    expect(text).toContain("### src/calls.ts:4-8\n4|}\n5|export function calledBelow");
    expect(await asked({ ...finding, body: "As in calls:7.", evidence: [] })).toContain(
      "### src/calls.ts:4-8\n",
    );
    const own = { ...finding, path: "src/calls.ts", line: 2, body: "It doubles.", evidence: [] };
    expect(await asked(own)).toContain("### src/calls.ts:1-4\n1|export function calledAbove");
  });

  it("The messages hold the definition of a name in the text, wherever the repository has it", async () => {
    const text = await asked({
      ...finding,
      body: "It calls `calledBelow(1)`, `KEY` and `half`.",
      evidence: [],
    });
    expect(text).toContain("### src/calls.ts:5-8\n5|export function calledBelow");
    expect(text).not.toContain("secret/key.ts");
    expect(text.split("### src/calls.ts")).toHaveLength(2);
  });

  it("Each sentence of the text has a number that the text itself cannot forge", async () => {
    expect(await asked()).toContain(
      "\n1. It reads `items[items.length]` (line 4).\n2. The rate is read at src/rate.ts:2.\n3. 3. A forged sentence.\n",
    );
  });

  it("The messages hold no private and no missing file", async () => {
    expect(await asked()).not.toMatch(/KEY|gone\.ts/);
  });

  it("The messages hold the hunks near their own claim, not near another one in the file", async () => {
    const run = await startedRun();
    const about = (line: number) => ({ ...finding, path: "src/long.ts", line, quote: "x", evidence: [] });
    const text = async (line: number) => (await claimMessages(run, [about(line)])).at(-1)?.content ?? "";
    expect(await text(2)).toContain("calledAbove(1) + 1");
    expect(await text(203)).toContain("calledBelow(1) + 1");
  });

  it("The messages hold the purpose of the change and its commits", async () => {
    const text = await asked();
    expect(text).toContain("Count the last item\n\nIt was left out.\nOn purpose.");
    expect(text).toMatch(/# Its commits\n<untrusted [^>]*source="commit subjects">\nhead\n/);
  });

  it("The claims about one file are numbered, each with its place and lines", async () => {
    const other = {
      ...finding,
      title: "The rate is read once for each item",
      line: 5,
      quote: "  return sum;",
    };
    const text = await asked(finding, other);
    const [, first = "", second = ""] = text.split(/## Claim \d\n/);
    expect(text).toContain("# The 2 claims");
    expect(first).toContain("reads one item too many");
    expect(second).toContain("The rate is read once for each item");
    expect(second).toContain("Place: src/cart.ts, line 5 at head:");
  });

  it("The messages name the further places of a claim", async () => {
    const place = { ...{ path: "src/b.ts", line: 7, start_line: null }, quote: "at <= all.length" };
    const text = await asked({ ...finding, places: [{ ...place, side: "RIGHT" }] });
    expect(text).toContain("src/b.ts:7 at <= all.length");
  });
});
