import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forAllRoles, type Message } from "../../../../src/agent/llm/model.ts";
import { reviewChange } from "../../../../src/tasks/review/review-change.ts";
import type { Limits } from "../../../../src/tasks/shapes/review-input.ts";
import { isComplete, type ReviewResult } from "../../../../src/tasks/shapes/review-result.ts";
import { openRepository } from "../../../agent/tools/context.ts";
import { GitRepo } from "../../../support/git-repo.ts";
import { reviewDependencies } from "../../../support/review-dependencies.ts";
import { reviewInput } from "../../../support/review-input.ts";
import { type ScriptedTurn, scriptedModel } from "../../../support/scripted.ts";

const long = process.env.HUNKWISE_LONG === "1";

/** Two hundred hunks in ten files, each between two words that stand nowhere else; some are longer than a message may be. */
const files = 10;
const hunksAFile = 20;
const word = (edge: "first" | "last", file: number, hunk: number) => `${edge}_${file}_${hunk}_word`;
const edges = Array.from({ length: files }, (_, file) =>
  Array.from(
    { length: hunksAFile },
    (_, hunk) => [word("first", file, hunk), word("last", file, hunk)] as const,
  ),
).flat();

const gap = Array.from({ length: 12 }, (_, at) => `gap ${at}`);
function body(file: number, isChanged: boolean): string {
  const sections = Array.from({ length: hunksAFile }, (_, hunk) => {
    const size = (file * 7 + hunk * 3) % 23 === 0 ? 120 : 4 + ((file + hunk) % 9);
    const lines = Array.from({ length: size }, (_, at) => `value ${at} ${"x".repeat(60)};`);
    return isChanged ? [word("first", file, hunk), ...lines, word("last", file, hunk), ...gap] : gap;
  });
  return `${sections.flat().join("\n")}\n`;
}

const path = (file: number) => `src/file${file}.txt`;
const contents = (isChanged: boolean) =>
  Object.fromEntries(Array.from({ length: files }, (_, file) => [path(file), body(file, isChanged)]));

const finish: ScriptedTurn = {
  toolCalls: [{ id: "f", name: "finish_review", arguments: '{"summary":"All is well."}' }],
};

/** The same in one file, which no window holds: a loop has to read on by itself. */
const onlyPath = "src/all.txt";
const inOneFile = (isChanged: boolean) => ({ [onlyPath]: Object.values(contents(isChanged)).join("") });

type Opened = Awaited<ReturnType<typeof openRepository>>;
const repos: GitRepo[] = [];
let inTen: Opened;
let inOne: Opened;

function open(contentsOf: (isChanged: boolean) => Record<string, string>): Promise<Opened> {
  const repo = GitRepo.create();
  repos.push(repo);
  repo.commit("base", contentsOf(false));
  repo.branch("topic");
  repo.commit("head", contentsOf(true));
  return openRepository(repo);
}

beforeAll(async () => {
  inTen = await open(contents);
  inOne = await open(inOneFile);
});
afterAll(async () => {
  for (const one of [inTen, inOne]) await one?.[Symbol.asyncDispose]();
  for (const repo of repos) repo.dispose();
});

const read = (start_hunk: number, end_hunk: number): ScriptedTurn => ({
  toolCalls: [
    { name: "diff_file", arguments: JSON.stringify({ file_path: onlyPath, start_hunk, end_hunk }) },
  ],
});

interface Run {
  result: ReviewResult;
  /** Everything that the model was ever shown. */
  shown: string;
  requests: readonly { messages: readonly Message[] }[];
}

interface ReviewOptions {
  contextTokens?: number;
  limits?: Partial<Limits>;
  opened?: Opened;
}

/** A review by a model that makes these turns, and then calls `finish_review` for ever. */
async function review(
  turns: readonly ScriptedTurn[],
  { contextTokens = 40_000, limits = {}, opened = inTen }: ReviewOptions = {},
): Promise<Run> {
  const { workspace } = opened;
  const model = scriptedModel((_, n) => turns[n] ?? finish, { contextTokens });
  const input = reviewInput();
  const result = await reviewChange(
    { ...input, limits: { ...input.limits, turns: 60, ...limits } },
    reviewDependencies(workspace, forAllRoles(model)),
  );
  const shown = new Set(model.requests.flatMap(({ messages }) => messages.map(({ content }) => content)));
  return { result, shown: [...shown].join("\n"), requests: model.requests };
}

const seenIn = (shown: string) =>
  edges.filter(([first, last]) => shown.includes(first) && shown.includes(last)).length;

describe("a model that wants to finish at once", () => {
  it("The model is shown all two hundred hunks in parts", async () => {
    const { result, shown, requests } = await review([]);

    expect(seenIn(shown)).toBe(200);
    expect(result.coverage).toMatchObject({ hunks_total: 200, hunks_served: 200, unserved: [] });
    expect(isComplete(result)).toBe(true);
    expect(requests.length).toBeGreaterThan(2);
  });

  it("The model must see all two hundred hunks of one file first", async () => {
    const { result, shown, requests } = await review([], { opened: inOne });

    expect(seenIn(shown)).toBe(200);
    expect(result.coverage).toMatchObject({ hunks_total: 200, hunks_served: 200, unserved: [] });
    expect(isComplete(result)).toBe(true);
    expect(result.summary).toBe("All is well.");
    // Asked twice to read by itself, then shown the rest.
    const answers = requests.at(-1)?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(answers[0]?.content).toContain("Read them with diff_file, then finish");
    expect(answers[1]?.content).toContain("The first of them follow");
  });

  it("The model is asked to read on first, and what it reads is not shown again", async () => {
    const script = [finish, read(181, 200)];
    const { result, shown } = await review(script, { opened: inOne, contextTokens: 60_000 });

    expect(result.coverage.hunks_served).toBe(200);
    // Shown by the tool alone.
    expect(shown.split(word("last", 9, 1)).length - 1).toBe(1);
  });

  it("The model may not finish in the turn that reads", async () => {
    const calls = [1, 41, 81, 121, 161].flatMap((start) => read(start, start + 39).toolCalls?.[0] ?? []);
    const all: ScriptedTurn = { toolCalls: [...calls, ...(finish.toolCalls ?? [])] };
    const { result, requests } = await review([all], { opened: inOne, contextTokens: 200_000 });

    const answers = requests[1]?.messages.filter(({ role }) => role === "tool") ?? [];
    expect(answers.at(-1)?.content).toMatch(/read the answers to the other calls of this turn first/);
    expect(isComplete(result)).toBe(true);

    const cutShort = await review([all], { opened: inOne, contextTokens: 200_000, limits: { turns: 1 } });
    expect(cutShort.result.coverage.hunks_served).toBe(seenIn(cutShort.shown));
  });

  it.each([1, 2, 3, 4, 5, 7, 10])("A review with only %i turns is partial", async (turns) => {
    const { result, shown } = await review([], { opened: inOne, limits: { turns }, contextTokens: 16_000 });

    expect(result.coverage.hunks_served).toBeLessThan(200);
    expect(result.coverage.hunks_served).toBeLessThanOrEqual(seenIn(shown));
    expect(isComplete(result)).toBe(false);
  });

  it("The model may finish when a limit is near, and the unread hunks are named", async () => {
    const { result } = await review([], { opened: inOne, limits: { turns: 6 }, contextTokens: 16_000 });

    expect(result.stop_reason).toBe("finished");
    expect(result.summary).toBe("All is well.");
    const unread = result.coverage.unserved.reduce((sum, { hunks }) => sum + hunks, 0);
    expect(unread).toBe(200 - result.coverage.hunks_served);
  });

  it.each([6_000, 8_000, 12_000, 16_000, 24_000, 64_000, 200_000])(
    "The coverage counts no hunk that a window of %i tokens did not show",
    async (contextTokens) => {
      for (const opened of [inTen, inOne]) {
        const { result, shown } = await review([], { contextTokens, opened });

        expect(result.coverage.hunks_served).toBeLessThanOrEqual(seenIn(shown));
        expect(isComplete(result)).toBe(seenIn(shown) === 200);
      }
    },
  );
});

describe("the coverage of a review", () => {
  it("The coverage never exceeds what the model was shown, whatever it calls and whatever stops it", async () => {
    const read = fc
      .record({
        start_hunk: fc.integer({ min: 1, max: files * hunksAFile }),
        more: fc.nat(40),
        context_lines: fc.constantFrom(0, 3, 10),
      })
      .map(({ start_hunk, more, context_lines }) => ({
        name: "diff_file",
        arguments: { file_path: onlyPath, start_hunk, end_hunk: start_hunk + more, context_lines },
      }));
    const done = fc
      .constantFrom("a", "b")
      .map((summary) => ({ name: "finish_review", arguments: { summary } }));
    const turn = fc.record({ toolCalls: fc.array(fc.oneof(read, read, done), { maxLength: 4 }) });
    const limits = {
      contextTokens: fc.integer({ min: 7_000, max: 90_000 }),
      turns: fc.integer({ min: 1, max: 30 }),
    };

    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { maxLength: 12 }),
        fc.record(limits),
        async (script, { contextTokens, turns }) => {
          const { result, shown } = await review(script, {
            contextTokens,
            limits: { turns },
            opened: inOne,
          });

          expect(result.coverage.hunks_served).toBeLessThanOrEqual(seenIn(shown));
          if (isComplete(result)) expect(seenIn(shown)).toBe(200);
        },
      ),
      long ? { numRuns: 600 } : { numRuns: 12, seed: 20_260_104 },
    );
  }, 600_000);
});
