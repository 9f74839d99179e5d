import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { loadCases } from "../../scripts/eval/load-cases.ts";
import { noResultsFile, openResultsFile } from "../../scripts/eval/results-file.ts";
import type { reviewCase } from "../../scripts/eval/review-case.ts";
import { type EvalRun, runEval } from "../../scripts/eval/run-eval.ts";
import { AppError } from "../../src/errors.ts";
import { forAllRoles, type Model } from "../../src/llm/model.ts";
import { sampleResult } from "../reporters/sample-result.ts";
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

function model(name: string): Model {
  const answer = JSON.stringify({ reasoning: "The same.", match: true, confidence: 1 });
  return {
    ...{ name, contextTokens: 8_000, protocol: "native" },
    respond: async () => ({
      ...{ content: answer, toolCalls: [], finishReason: "stop" },
      usage: { promptTokens: 100, cachedTokens: 0, completionTokens: 5, costUsd: 0.25 },
    }),
  };
}

/** Runs with a review that finds what is known, and tells which cases were reviewed. */
async function run(more: Partial<EvalRun> = {}) {
  const reviewed: string[] = [];
  const said: string[] = [];
  const review: typeof reviewCase = async ({ name }) => {
    reviewed.push(name);
    return sampleResult({ findings: [{ finding: finding(), placement: { kind: "inline" } }] });
  };
  const evaluation = await runEval({
    cases: await loadCases(folder),
    repos: null,
    models: forAllRoles(model("reviewer")),
    judge: model("judge"),
    effort: "low",
    results: await openResultsFile(output),
    concurrency: 1,
    say: (line) => said.push(line),
    signal: new AbortController().signal,
    review,
    ...more,
  });
  return { ...evaluation, reviewed, said };
}

describe("a run over cases", () => {
  it("counts what the judge took for a known issue, and what the judge cost by itself", async () => {
    const { results, settings } = await run();
    expect(settings).toEqual({ model: "reviewer", effort: "low", judge: "judge" });
    expect(results[0]).toMatchObject({
      known: [{ found: "near", finding: 0, confidence: 1 }],
      findings: [{ verdict: "hit", title: "Fails for an empty cart" }],
      judged: [{ known: 0, finding: 0, match: true, confidence: 1, reasoning: "The same." }],
      judge_usage: { requests: 1, prompt_tokens: 100, cost_usd: 0.25 },
    });
  });

  it("goes on where one with the same settings was stopped", async () => {
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

  it("reviews again what was measured with other settings or is another case by now", async () => {
    await run();
    expect((await run({ effort: "high" })).reviewed).toEqual(["one", "two"]);
    expect((await run({ judge: null })).reviewed).toEqual(["one", "two"]);
    writePriceCase(folder, "two", { "known.json": { known: [] } });
    expect((await run()).reviewed).toEqual(["two"]);
  });

  it("names a case that fails, keeps the others and tries it again the next time", async () => {
    const review: typeof reviewCase = async ({ name }) => {
      if (name === "one") throw new AppError("repository_unavailable", "no repository");
      return sampleResult({ findings: [] });
    };
    const { results, failed, said } = await run({ review });
    expect(failed).toEqual([{ case: "one", error: "no repository" }]);
    expect(results.map((one) => one.case)).toEqual(["two"]);
    expect(said).toContain("1/2 one: failed: no repository");
    expect((await run()).reviewed).toEqual(["one"]);
  });

  it("tells the last words of a review process that died", async () => {
    const cause = new Error("out of memory");
    const review = () => Promise.reject(new AppError("child_died", "the review process ended", { cause }));
    const { failed } = await run({ review });
    expect(failed[0]?.error).toBe("the review process ended: out of memory");
  });

  it("without a judge says so and asks none", async () => {
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
  ])("that holds %s is refused and left as it is", async (_, text) => {
    writeFileSync(output, text);
    await expect(openResultsFile(output)).rejects.toThrow(output);
    expect(readFileSync(output, "utf8")).toBe(text);
  });

  it("that cannot be written is refused before anything is spent", async () => {
    await expect(openResultsFile(join(temp.path, "nowhere", "r.jsonl"))).rejects.toThrow("cannot be written");
  });
});
