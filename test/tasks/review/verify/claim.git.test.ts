import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forAllRoles } from "../../../../src/agent/llm/model.ts";
import { createDiffSource } from "../../../../src/repo/diff-source.ts";
import { createAnchorFiles } from "../../../../src/tasks/anchor/anchor.ts";
import { type ReviewRun, startRun } from "../../../../src/tasks/loop/review-run.ts";
import { createReviewCoverage } from "../../../../src/tasks/review/find/coverage-gate.ts";
import { startUnit } from "../../../../src/tasks/review/find/review-units.ts";
import { claimMessages, sharedStart } from "../../../../src/tasks/review/verify/claim.ts";
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
  body: "REASONING-OF-THE-REVIEWER",
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

async function startedRun(contextTokens = 128_000): Promise<ReviewRun> {
  const { workspace } = opened;
  const diffs = createDiffSource(workspace, { ignore: [], private: ["secret/**"] });
  const files = await diffs.files();
  const models = forAllRoles(scriptedModel([], { contextTokens }));
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
  const messages = await claimMessages(await startedRun(), null, claims);
  return messages.at(-1)?.content ?? "";
};

describe("a verification that begins with the review's messages", () => {
  const claims = [finding];
  const window = { diffBytes: 40_000, contextBytes: 20_000, portionBytes: 20_000 };

  it("The messages begin exactly as the review, for the provider's cache", async () => {
    const run = await startedRun();
    const start = await startUnit(run, { files: run.change.files, window });
    const messages = await claimMessages(run, start, claims);
    expect(messages).toHaveLength(start.messages.length);
    expect(messages[0]).toEqual(start.messages[0]);
    expect(messages[1]?.content.startsWith(`${start.messages[1]?.content}\n\n# Second look\n`)).toBe(true);
  });

  it("The messages repeat neither the diff nor the code of the review", async () => {
    const run = await startedRun();
    const start = await startUnit(run, { files: run.change.files, window });
    const before = start.messages.at(-1)?.content ?? "";
    const added = (await claimMessages(run, start, claims)).at(-1)?.content.slice(before.length) ?? "";
    expect(before).toContain("RATE_OF_TODAY");
    expect(added).toContain("The loop reads one item too many (correctness)");
    expect(added).not.toMatch(/RATE_OF_TODAY|What the change does there|Count the last item/);
  });

  it("The messages add hunks that the review was not shown at first", async () => {
    const run = await startedRun();
    const start = await startUnit(run, { files: run.change.files, window: { ...window, diffBytes: 0 } });
    const text = (await claimMessages(run, start, claims)).at(-1)?.content ?? "";
    expect(text).toContain("# What the change does there");
    expect(text).toContain("4 +  for (let at = 0; at <= items.length");
  });

  it("The messages begin with the purpose alone if the review's would fill the window", async () => {
    const start = await startUnit(await startedRun(), { files: (await startedRun()).change.files, window });
    expect(sharedStart(await startedRun(), start)).toBe(start);
    expect(sharedStart(await startedRun(2_000), start)).toBeNull();
  });
});

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
      "### src/rate.ts:1-2\n1|export function rate(): number {\n2|  return RATE_OF_TODAY;",
    );
    expect(text).not.toMatch(/-OF-THE-REVIEWER/);
  });

  it("The messages hold no private and no missing file", async () => {
    expect(await asked()).not.toMatch(/KEY|gone\.ts/);
  });

  it("The messages hold the hunks near their own claim, not near another one in the file", async () => {
    const run = await startedRun();
    const about = (line: number) => ({ ...finding, path: "src/long.ts", line, quote: "x", evidence: [] });
    const text = async (line: number) =>
      (await claimMessages(run, null, [about(line)])).at(-1)?.content ?? "";
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
