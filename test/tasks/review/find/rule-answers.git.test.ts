import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest } from "../../../../src/agent/llm/model.ts";
import type { Analyzer } from "../../../../src/tasks/rules/analyzers/analyzer.ts";
import type { ScriptedTurn } from "../../../support/scripted.ts";
import { createRounds, NAN, type Rounds, reports, round } from "../followup/later-round.ts";

let rounds: Rounds;
beforeAll(() => {
  rounds = createRounds();
});
afterAll(() => rounds?.dispose());

const finish = (args: object = {}): ScriptedTurn => ({
  toolCalls: [{ name: "finish_review", arguments: { summary: "Sums.", ...args } }],
});
const answersOf = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === "tool" ? [message.content] : []));

/** Plays the turns one after the other; afterwards the model says nothing more. */
async function play(turns: ScriptedTurn[], options: { analyzers?: readonly Analyzer[] } = {}) {
  let n = 0;
  const review = () => turns[n++] ?? { content: "" };
  const all = {
    head: "first",
    leavesCandidates: true,
    effort: "low",
    script: { review },
    ...options,
  } as const;
  const { result, asked } = await round(rounds, all);
  return { result, answers: answersOf(asked("review").at(-1) as ModelRequest), first: asked("review")[0] };
}
const nan = { path: NAN.path, line: NAN.line, quote: NAN.quote, severity: "high", category: "correctness" };

describe("a review with a rule match", () => {
  it("The first message shows the match with its id, and how to answer it", async () => {
    const { first } = await play([finish()]);
    const text = first?.messages.at(-1)?.content ?? "";
    expect(text).toContain("c1 nan.js:1 Nothing is equal to NaN (ast-grep/js-compare-nan)");
    expect(text).toContain("The review cannot end before each match has an answer.");
  });

  it("The review does not end before the match has an answer", async () => {
    const { result, answers } = await play([
      finish(),
      finish({ rejected: [{ candidate: "c1", reason: "It is meant." }] }),
    ]);
    expect(answers[0]).toContain("1 rule match has no answer yet.");
    expect(answers[0]).toContain("c1 nan.js:1 Nothing is equal to NaN");
    expect(result).toMatchObject({
      stop_reason: "finished",
      findings: [],
      dropped: [{ verdict: "rejected", rule: "ast-grep/js-compare-nan", line: 1, reason: "It is meant." }],
    });
  });

  it("A report on its lines answers a match, with or without its id, and one in another file does not", async () => {
    const here = { ...nan, title: "NaN is never equal", body: "So.", confidence: 1 };
    expect((await play([reports(here)])).result).toMatchObject({ stop_reason: "finished", dropped: [] });

    const elsewhere = { path: "cart.ts", line: 3, quote: "  for (const price of prices) sum -= price;" };
    const { answers } = await play([reports({ ...here, ...elsewhere, candidates: ["c1"] })]);
    expect(answers.join("\n")).toContain(
      "c1 is in nan.js, not in cart.ts; report it there, or reject it in finish_review",
    );
  });

  it("One finding answers matches in several files if one of them is in its own, and names the others' places", async () => {
    const both: Analyzer = {
      name: "both",
      analyze: async ({ path, addedLines }) =>
        [...addedLines].slice(0, 1).map((line) => ({
          ...{ path, line, start_line: null, category: "correctness" as const, suggestion: null },
          ...{ severity: "medium" as const, title: "It matches", body: "It does.", source: "both/one" },
        })),
    };
    const here = {
      ...nan,
      title: "NaN is never equal",
      body: "So.",
      confidence: 1,
      candidates: ["c1", "c2"],
    };
    const { result } = await play([reports(here)], { analyzers: [both] });
    expect(result).toMatchObject({ stop_reason: "finished", dropped: [] });
    expect(result.findings).toHaveLength(1);
    expect(result.findings[0]?.finding.places).toMatchObject([{ path: "cart.ts" }]);
  });

  it("A made-up id is refused with the known ones", async () => {
    const { answers } = await play([finish({ rejected: [{ candidate: "c7", reason: "It is meant." }] })]);
    expect(answers[0]).toContain("no rule match has the id 'c7'; they are c1");
  });

  it("A match without an answer is published as not judged, and the review is partial", async () => {
    const { result } = await play([finish(), finish(), finish()]);
    expect(result).toMatchObject({
      stop_reason: "repeated_calls",
      findings: [{ finding: { source: "ast-grep/js-compare-nan", verification: "not_judged" } }],
    });
  });

  it("A report below the minimum severity rejects its match, with that reason", async () => {
    const mild = {
      ...nan,
      severity: "low",
      title: "NaN is never equal",
      body: "So.",
      confidence: 1,
      candidates: ["c1"],
    };
    let n = 0;
    const review = () => (n++ === 0 ? reports(mild) : { content: "" });
    const config = { minimum_severity: "medium", effort: "low" };
    const { result } = await round(rounds, {
      head: "first",
      leavesCandidates: true,
      script: { review },
      config,
    });
    expect(result.dropped).toMatchObject([
      { verdict: "rejected", reason: expect.stringContaining("calls it low") },
    ]);
  });
});

describe("more rule matches than fit into a prompt", () => {
  it("The worst matches are asked about, and the others are published as not judged, by rule", async () => {
    const many: Analyzer = {
      name: "many",
      analyze: async ({ path, addedLines }) =>
        path !== "cart.ts"
          ? []
          : [...addedLines].flatMap((line) =>
              Array.from({ length: 40 }, (_, at) => ({
                ...{ path, line, start_line: null, category: "correctness" as const, suggestion: null },
                severity: at < 10 ? ("low" as const) : ("medium" as const),
                ...{ title: `Rule ${at} matches here`, body: "It does.", source: `many/r${at}` },
              })),
            ),
    };
    const { result, first } = await play([finish()], { analyzers: [many] });
    const shown = first?.messages.at(-1)?.content.match(/^c\d+ .*$/gm) ?? [];
    expect(shown).toHaveLength(60);
    expect(shown.filter((line) => /many\/r\d\)/.test(line))).toEqual([]);

    const unjudged = result.findings.map(({ finding }) => finding);
    const places = unjudged.flatMap(({ source, line, places: more }) =>
      [line, ...more.map((one) => one.line)].map((at) => `${source}:${at}`),
    );
    expect(new Set(places).size).toBe(80);
    expect(places).toHaveLength(80);
    const grouped = unjudged.filter(({ severity }) => severity === "low");
    expect(grouped.map(({ places: more }) => more.length)).toEqual(Array(10).fill(1));
  });
});
