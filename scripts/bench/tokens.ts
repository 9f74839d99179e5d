import { join } from "node:path";
import { forAllRoles, type Model, type ModelRequest } from "../../src/agent/llm/model.ts";
import { createDiffSource } from "../../src/repo/diff-source.ts";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../src/repo/git/range.ts";
import { reviewChange } from "../../src/tasks/review/review-change.ts";
import { isComplete, type ReviewResult } from "../../src/tasks/shapes/review-result.ts";
import { gitPath } from "../../test/support/git-repo.ts";
import { reviewInput } from "../../test/support/review-input.ts";
import { scriptedModel } from "../../test/support/scripted.ts";
import { type Bench, countRow } from "./row.ts";
import { type SyntheticPull, syntheticPulls } from "./synthetic-pull.ts";

/** Number of changed files, and the maximum requests of their review. */
const sizes = [
  { changed: 50, requests: 8 },
  { changed: 300, requests: 40 },
  { changed: 1_000, requests: 130 },
];
const MAX_REST = 1.6;
const MAX_CONTEXT = 1;
/** Generous, so that no limit cuts the comparison short. */
const TOKENS = 50_000_000;

/** Characters of all requests together. */
interface Spent {
  /** Instructions, tool definitions, and the diff with its line numbers. */
  rest: number;
  /** The context around the diff. */
  context: number;
}

/**
 * The tokens of a whole review per token of the plain diff, if the model reports nothing: the price of reading everything once. Tokens are
 * characters divided by four on both sides, so the ratios are those of characters.
 */
export async function benchTokens(bench: Bench): Promise<void> {
  bench.say(`making pull requests of ${sizes.map(({ changed }) => changed).join(", ")} files`);
  const pulls = syntheticPulls(join(bench.temp, "tokens"), {
    ...{ files: 2_000, hunks: 3 },
    changed: sizes.map(({ changed }) => changed),
  });
  for (const [at, { changed, requests }] of sizes.entries()) {
    const pull = pulls[at];
    if (!pull) throw new Error(`There is no pull request of ${changed} files`);
    bench.say(`reviewing a pull request of ${changed} files`);
    const range = await openLocalRange({
      ...{ repo: pull.repo.dir, base: pull.base, head: pull.head, gitPath },
      tempDir: bench.temp,
    });
    const asked: ModelRequest[] = [];
    const result = await reviewSilently(range.place, asked);
    await range.dispose();
    requireWhole(result, changed);
    const plain = pull.plainDiff.length;
    const { rest, context } = spentOn(asked);
    const what = `a review of ${changed} files to a plain git diff, tokens`;
    const figures = (characters: number) => `${Math.round(characters / 4 / 1000)} k`;
    const row = { reference: figures(plain), unit: "x" } as const;
    bench.add({
      ...row,
      what: `${what}: diff, instructions, tools`,
      ours: figures(rest),
      value: rest / plain,
      limit: MAX_REST,
    });
    bench.add({
      ...row,
      what: `${what}: context`,
      ours: figures(context),
      value: context / plain,
      limit: MAX_CONTEXT,
    });
    bench.add(countRow(`requests of a review of ${changed} files`, asked.length, requests));
  }
}

/** The default budget of a repository. */
const BUDGET_TOKENS = 2_000_000;
/** Reading turns of the model before it finishes. */
const READING_TURNS = 4;

/**
 * A pull request that the default budget cannot pay for if the model keeps reading: the review must end within the budget, with the
 * riskiest part read and the rest named.
 */
export async function benchBudget({ repo, base, head }: SyntheticPull, bench: Bench): Promise<void> {
  bench.say("reviewing it with a model that reads on, to the end of the default budget");
  const range = await openLocalRange({ repo: repo.dir, base, head, gitPath, tempDir: bench.temp });
  const result = await review(range.place, BUDGET_TOKENS, readsOn());
  await range.dispose();
  const { usage, coverage, stop_reason } = result;
  const used = usage.prompt_tokens + usage.completion_tokens;
  const unread = coverage.unserved.reduce((sum, { hunks }) => sum + hunks, 0);
  if (coverage.hunks_served + unread !== coverage.hunks_total || stop_reason !== "token_limit")
    throw new Error(`the figures do not add up: ${JSON.stringify(coverage).slice(0, 200)}, ${stop_reason}`);
  bench.add({
    what: `tokens of a review of 3,000 files to its budget; ${coverage.hunks_served} of ${coverage.hunks_total} hunks read`,
    ours: `${Math.round(used / 1_000)} k`,
    reference: `${BUDGET_TOKENS / 1_000} k`,
    value: used / BUDGET_TOKENS,
    unit: "x",
    limit: 1,
  });
}

/** Reads in each of its first turns; its tokens are counted as a provider would. */
function readsOn() {
  return scriptedModel((request) => {
    const promptTokens = Math.ceil(JSON.stringify([request.messages, request.tools]).length / 4);
    const usage = { promptTokens, completionTokens: 300 };
    const turns = request.messages.filter(({ role }) => role === "assistant").length;
    const path = / (\S+\.ts) {2}\+/.exec(request.messages.at(1)?.content ?? "")?.[1] ?? "README.md";
    const call =
      turns + 1 < READING_TURNS
        ? {
            name: "read_file_part",
            arguments: { file_path: path, start_line: turns * 40 + 1, end_line: turns * 40 + 40 },
          }
        : { name: "finish_review", arguments: { summary: "Renames parts." } };
    return { toolCalls: [call], usage };
  });
}

function reviewSilently(place: Place, asked: ModelRequest[]): Promise<ReviewResult> {
  const model = scriptedModel((request) => {
    asked.push(request);
    return { toolCalls: [{ name: "finish_review", arguments: { summary: "Renames parts." } }] };
  });
  return review(place, TOKENS, model);
}

type Place = Parameters<typeof openWorkspace>[0];

async function review(place: Place, tokens: number, model: Model): Promise<ReviewResult> {
  await using workspace = openWorkspace(place);
  const input = reviewInput({ config: { effort: "low" } });
  return await reviewChange(
    { ...input, limits: { turns: 20, tokens, costUsd: null, milliseconds: 1_200_000 } },
    {
      workspace,
      diffs: createDiffSource(workspace, { ignore: [], private: [] }),
      models: forAllRoles(model),
      trajectory: { append: async () => {} },
      replay: [],
      isPrivate: () => false,
      progress: () => {},
      signal: new AbortController().signal,
      now: Date.now,
      startedAt: Date.now(),
    },
  );
}

function requireWhole(result: ReviewResult, changed: number): void {
  if (isComplete(result) && result.coverage.hunks_total === changed * 3) return;
  throw new Error(`the review of ${changed} files read ${JSON.stringify(result.coverage).slice(0, 200)}`);
}

function spentOn(requests: readonly ModelRequest[]): Spent {
  const spent = { rest: 0, context: 0 };
  for (const { messages, tools } of requests) {
    const all = messages.reduce((sum, { content }) => sum + content.length, 0) + JSON.stringify(tools).length;
    const context = messages.reduce(
      (sum, { role, content }) => sum + (role === "user" ? contextOf(content) : 0),
      0,
    );
    spent.context += context;
    spent.rest += all - context;
  }
  return spent;
}

/** The text between the task, which is instructions, and the diff. A message without a diff consists of instructions only. */
function contextOf(message: string): number {
  const diff = message.indexOf("\n# Diff\n");
  const task = message.indexOf("\n\n");
  return diff < 0 ? 0 : diff - task;
}
