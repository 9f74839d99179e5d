import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseContextOptions, parseEvalOptions } from "../../scripts/eval/options.ts";
import { type FakeOpenAi, startFakeOpenAi } from "../support/fake-openai.ts";
import { TempFolder } from "../support/git-repo.ts";
import { noHome } from "../support/no-home.ts";
import type { ChatRequestBody } from "../support/openai-request-rules.ts";
import { unsetVariables } from "../support/run-cli.ts";
import { patchOfNew, writeCase, writePriceCase } from "./case-folder.ts";

const temp = new TempFolder("eval-script");
const folder = join(temp.path, "cases");
const output = join(temp.path, "results.jsonl");
const entry = resolve(import.meta.dirname, "../../scripts/eval.ts");

const textOf = ({ messages }: ChatRequestBody) => messages.map(({ content }) => String(content)).join("\n");
const isJudge = (body: ChatRequestBody) => body.model === "judging-model";

const isWeighing = (body: ChatRequestBody) => textOf(body).includes("You judge one finding of a code review");

/** Reports the same in both cases; takes it for the known issue if that is about the same, and for noise if none is known. */
function answer(body: ChatRequestBody) {
  if (isWeighing(body))
    return { content: JSON.stringify({ reasoning: "It joins nothing.", worth: "noise" }) };
  if (isJudge(body)) {
    const match = textOf(body).includes("zero for an empty cart");
    return { content: JSON.stringify({ reasoning: "Compared.", match, confidence: 0.9 }) };
  }
  const path = textOf(body).includes("names.py") ? "names.py" : "price.py";
  const report = {
    ...{ path, side: "RIGHT", line: 2, severity: "high", category: "correctness", confidence: 0.9 },
    quote: path === "names.py" ? '    return ", ".join(names)' : "    return sum(items) / len(items)",
    title: "Fails for an empty list",
    body: "Nothing keeps it from being empty.",
  };
  const finish = { name: "finish_review", arguments: { summary: "Adds a function." } };
  return { tool_calls: [{ name: "report_finding", arguments: report }, finish] };
}

async function runEval(fake: FakeOpenAi, ...args: readonly string[]) {
  const model = { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" };
  const child = spawn(process.execPath, [entry, "--cases", folder, ...args], {
    env: {
      ...{ ...unsetVariables, PATH: process.env.PATH ?? "", HOME: noHome, TMPDIR: temp.path },
      ...{ ...model, HUNKWISE_PROTOCOL: "native", HUNKWISE_CONTEXT_TOKENS: "128000" },
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((done) => child.on("close", done));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { stdout, stderr, code };
}

describe("npm run eval", () => {
  let fake: FakeOpenAi;
  beforeAll(async () => {
    writePriceCase(folder, "price");
    writeCase(folder, "clean-names", {
      "case.json": {
        title: "List the names",
        diff: patchOfNew("names.py", ["def listed(names):", '    return ", ".join(names)']),
      },
      "known.json": { known: [] },
    });
    fake = await startFakeOpenAi({ script: answer });
  });
  afterAll(async () => {
    await fake.close();
    temp.dispose();
  });

  it("The script reviews, has each finding judged, prints figures and keeps the results", async () => {
    const args = ["--effort", "low", "--judge", "judging-model", "--output", output];
    const first = await runEval(fake, ...args);
    expect(first.stderr).toContain("price: found 1 of 1, 1 finding");
    expect(first.stdout).toContain("2 cases · fake-model · effort low · judge judging-model");
    expect(first.stdout).toMatch(/^price +1 of 1 +1 +100 % +100 % +100 %/m);
    expect(first.stdout).toMatch(/^clean-names +- +1 +- +0 % +- .*clean$/m);
    expect(first.stdout).toMatch(/^total +1 of 1 +2 +100 % +50 % +67 %/m);
    expect(first.stdout).toMatch(/^findings that are true, by the judge +2 of 2 +100 %/m);
    expect(first.stdout).toMatch(/^findings that are useful or worth fixing, by the judge +1 of 2 +50 %/m);
    expect(first.code).toBe(0);
    expect(fake.complaints).toEqual([]);

    const judged = fake.requests.map(({ body }) => body).filter(isJudge);
    expect(judged.map(isWeighing).sort()).toEqual([false, true]);
    const weighed = judged.find(isWeighing)!;
    expect(textOf(weighed)).toMatch(/source="diff">\n@@ -0,0 \+1,2 @@\n1 \+def listed\(names\):/);
    expect(textOf(weighed)).toMatch(/source="code">\n1\|def listed\(names\):\n2\| {4}return/);
    expect(textOf(weighed)).toMatch(/source="title and description">\nList the names\n/);
    const compared = judged.filter((body) => !isWeighing(body));
    expect(textOf(compared[0]!)).toMatch(/<untrusted id="\w+" source="known issue">\nprice\.py:2\n/);
    expect(textOf(compared[0]!)).toMatch(
      /<untrusted id="\w+" source="finding">\nprice\.py:2\nFails for an empty list/,
    );
    const reviews = fake.requests.map(({ body }) => body).filter((body) => !isJudge(body));
    expect(reviews.some((body) => textOf(body).includes("Average the prices"))).toBe(true);
    expect(reviews.filter((body) => textOf(body).includes("zero for an empty cart"))).toEqual([]);

    const kept = readFileSync(output, "utf8").trim().split("\n");
    const worths = kept
      .map((line) => JSON.parse(line))
      .map((one) => [one.case, one.findings[0].judgement?.worth ?? null]);
    expect(worths.filter(([name]) => name === "clean-names")).toEqual([
      ["clean-names", null],
      ["clean-names", "noise"],
    ]);
    expect(worths.filter(([name]) => name === "price")).toEqual([["price", null]]);
  });
});

describe("the options", () => {
  it("The options have defaults", () => {
    expect(parseEvalOptions(["--cases", "c", "--only", "a,b"])).toEqual({
      ...{ cases: "c", repos: null, only: ["a", "b"], effort: null, judge: null, isJudged: true },
      ...{ output: null, concurrency: 2, format: "pretty" },
    });
    expect(parseContextOptions(["--cases", "c", "--at-least", "15"])).toMatchObject({
      atLeast: 15,
      needed: null,
    });
    expect(parseEvalOptions(["--help"])).toBeNull();
  });

  it.each([
    [[], "--cases is missing"],
    [["--cases", "c", "--effort", "huge"], "--effort cannot be 'huge'"],
    [["--cases", "c", "--concurrency", "0"], "--concurrency needs a whole number"],
    [["--cases", "c", "--format", "xml"], "--format cannot be 'xml'"],
    [["--cases", "c", "--judge", "m", "--no-judge"], "exclude each other"],
    [["--cases", "c", "--jugde", "m"], "--jugde"],
  ])("The script refuses the options %j", (argv, message) =>
    expect(() => parseEvalOptions(argv)).toThrow(message),
  );
});
