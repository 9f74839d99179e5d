import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { loadCases } from "../../scripts/eval/load-cases.ts";
import type { OpenCase, openCase } from "../../scripts/eval/open-case.ts";
import { noResultsFile, openResultsFile } from "../../scripts/eval/results-file.ts";
import { type EvalRun, runEval } from "../../scripts/eval/run-eval.ts";
import { forAllRoles, type Model } from "../../src/agent/llm/model.ts";
import { AppError } from "../../src/core/errors.ts";
import type { Finding } from "../../src/core/finding.ts";
import { sampleResult } from "../report/sample-result.ts";
import { TempFolder } from "../support/git-repo.ts";
import { finding, writePriceCase } from "./case-folder.ts";

const temp = new TempFolder("eval");
const folder = join(temp.path, "cases");
const output = join(temp.path, "results.jsonl");
afterAll(() => temp.dispose());
beforeEach(() => {
  for (const place of [folder, output]) rmSync(place, { recursive: true, force: true });
  for (const name of ["one", "two"]) writePriceCase(folder, name);
});

/** Takes every finding for the known issue that is about the empty cart, and calls every other one useful. */
function model(name: string): Model {
  return {
    ...{ name, contextTokens: 8_000, protocol: "native" },
    async respond({ messages }) {
      const asked = messages.map(({ content }) => content).join("\n");
      const match = asked.includes("Fails for an empty cart");
      const answer = asked.includes("# Known issue")
        ? { reasoning: match ? "The same." : "Another.", match, confidence: 1 }
        : { reasoning: "It is so.", worth: "useful" };
      return {
        ...{ content: JSON.stringify(answer), toolCalls: [], finishReason: "stop" },
        usage: { promptTokens: 100, cachedTokens: 0, completionTokens: 5, costUsd: 0.25 },
      };
    },
  };
}

type Review = (name: string) => Promise<Finding[]>;

/** Runs with a review that finds what is known, and returns which cases were opened and reviewed. */
async function run({
  review = async () => [finding()],
  ...more
}: Partial<EvalRun> & { review?: Review } = {}) {
  const [opened, reviewed, lines]: string[][] = [[], [], []];
  const open: typeof openCase = async ({ name }): Promise<OpenCase> => {
    opened?.push(name);
    return {
      async review() {
        reviewed?.push(name);
        const findings = (await review(name)).map((one) => ({
          finding: one,
          placement: { kind: "inline" as const },
        }));
        return { result: sampleResult({ findings }), channels: findings.map(() => "line" as const) };
      },
      codeOf: async () => ({ diff: "2 +    return sum(items) / len(items)", around: "" }),
      [Symbol.asyncDispose]: async () => {},
    };
  };
  const evaluation = await runEval({
    cases: await loadCases(folder),
    repos: null,
    models: forAllRoles(model("reviewer")),
    judge: model("judge"),
    effort: "low",
    results: await openResultsFile(output),
    concurrency: 1,
    say: (line) => lines?.push(line),
    signal: new AbortController().signal,
    open,
    ...more,
  });
  return { ...evaluation, opened, reviewed, lines };
}

describe("a run over cases", () => {
  it("A run counts what the judge matched to known issues, and the judge's cost separately", async () => {
    const { results, settings } = await run();
    expect(settings).toEqual({ model: "reviewer", effort: "low", judge: "judge" });
    expect(results[0]).toMatchObject({
      known: [{ found: "near", finding: 0, confidence: 1 }],
      findings: [{ verdict: "hit", title: "Fails for an empty cart" }],
      judged: [{ known: 0, finding: 0, match: true, confidence: 1, reasoning: "The same." }],
      judge_usage: { requests: 1, prompt_tokens: 100, cost_usd: 0.25 },
    });
  });

  it("The judge rates each other finding, and its reason is kept", async () => {
    const review: Review = async () => [finding(), finding({ title: "Ignores a currency" })];
    const { results } = await run({ review });
    expect(results[0]?.findings).toMatchObject([
      { verdict: "hit", judgement: null, channel: "line" },
      { verdict: "other", judgement: { worth: "useful", reasoning: "It is so." }, channel: "line" },
    ]);
    expect(results[0]?.judge_usage).toMatchObject({ requests: 3, cost_usd: 0.75 });
  });

  it("A review whose judge fails is kept, and the next run only asks the judge", async () => {
    const review: Review = async () => [finding({ title: "Ignores a currency" })];
    const judge = model("judge");
    const failing: Model = {
      ...judge,
      async respond(request, signal) {
        const isWeighing = request.messages.every(({ content }) => !content.includes("# Known issue"));
        if (isWeighing) throw new AppError("model_failed", "the endpoint is down");
        return judge.respond(request, signal);
      },
    };
    expect((await run({ review, judge: failing })).failed).toHaveLength(2);
    const { failed, reviewed, results, lines } = await run({ review });
    expect(lines).toContain(
      "1/2 one: taken from the results file, which lacks the worth of findings: judging them",
    );
    expect({ failed, reviewed }).toEqual({ failed: [], reviewed: [] });
    expect(results[0]?.findings).toMatchObject([{ judgement: { worth: "useful" }, channel: "line" }]);
    expect(results[0]?.judge_usage.requests).toBe(2);
  });

  it("A comparison of places is refused if a case has none", async () => {
    const cases = await loadCases(join(import.meta.dirname, "../../fixtures/eval/code-review-bench"));
    await expect(run({ cases, judge: null })).rejects.toMatchObject({
      message: "the case cart-12 does not say where its issues are",
      remedy: expect.stringContaining("leave out --no-judge"),
    });
  });

  it("A run continues an earlier one with the same settings", async () => {
    const stopped = new AbortController();
    const say = (line: string) => line.includes("found") && stopped.abort(new Error("stopped"));
    await expect(run({ say, signal: stopped.signal })).rejects.toThrow("stopped");
    appendFileSync(output, '{"case":"two","dig');
    const second = await run();
    expect(second.reviewed).toEqual(["two"]);
    expect(second.results.map((one) => one.case)).toEqual(["one", "two"]);
    expect((await run()).reviewed).toEqual([]);
    expect(readFileSync(output, "utf8").trim().split("\n")).toHaveLength(2);
  });

  it("A changed case or setting is reviewed again", async () => {
    await run();
    expect((await run({ effort: "high" })).reviewed).toEqual(["one", "two"]);
    expect((await run({ judge: null })).reviewed).toEqual(["one", "two"]);
    writePriceCase(folder, "two", { "known.json": { known: [] } });
    expect((await run()).reviewed).toEqual(["two"]);
  });

  it("A failed case is named and tried again the next time", async () => {
    const review: Review = async (name) => {
      if (name === "one") throw new AppError("repository_unavailable", "no repository");
      return [];
    };
    const { results, failed, lines } = await run({ review });
    expect(failed).toEqual([{ case: "one", error: "no repository" }]);
    expect(results.map((one) => one.case)).toEqual(["two"]);
    expect(lines).toContain("1/2 one: failed: no repository");
    expect((await run()).reviewed).toEqual(["one"]);
  });

  it("The error of a dead review process has its last output", async () => {
    const cause = new Error("out of memory");
    const review = () => Promise.reject(new AppError("child_died", "the review process ended", { cause }));
    const { failed } = await run({ review });
    expect(failed[0]?.error).toBe("the review process ended: out of memory");
  });

  it("A run without a judge says so and asks none", async () => {
    const { results, settings } = await run({ judge: null, results: noResultsFile });
    expect(settings.judge).toBeNull();
    expect(results[0]).toMatchObject({ known: [{ found: "near" }], judge_usage: { requests: 0 } });
  });
});

describe("a file of results", () => {
  it.each([
    ["text without a line feed", "# Notes"],
    ["text", "# Notes\n"],
    ["another kind of JSON", '{"kind":"turn"}\n'],
  ])("A file of results with %s is refused and not changed", async (_, text) => {
    writeFileSync(output, text);
    await expect(openResultsFile(output)).rejects.toThrow(output);
    expect(readFileSync(output, "utf8")).toBe(text);
  });

  it("A file of results that cannot be written is refused before any review", async () => {
    await expect(openResultsFile(join(temp.path, "nowhere", "r.jsonl"))).rejects.toThrow("cannot be written");
  });
});
