import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forAllRoles, type Model, type ModelRequest, type Protocol } from "../../../src/agent/llm/model.ts";
import { withTextProtocol } from "../../../src/agent/llm/text-fallback.ts";
import { leastContextTokens } from "../../../src/config/variables.ts";
import { reviewChange } from "../../../src/tasks/review/review-change.ts";
import { isComplete } from "../../../src/tasks/shapes/review-result.ts";
import { openRepository } from "../../agent/tools/context.ts";
import { isSecondLook } from "../../support/claims.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { reviewDependencies } from "../../support/review-dependencies.ts";
import { reviewInput } from "../../support/review-input.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

const names = { report: "report_finding", finish: "finish_review", verdict: "report_verdict" };
const adapters: Record<Protocol, (model: Model) => Model> = {
  native: (model) => model,
  text: withTextProtocol,
};

const finding = (line: number, quote: string, title: string) => ({
  ...{ path: "cart.ts", side: "RIGHT", line, quote, title },
  ...{ severity: "medium", category: "correctness", body: "It is wrong.", confidence: 0.4 },
});
const findings = [
  finding(2, "  return lines.length - 1;", "The last line is never counted"),
  finding(5, "  return price / count(lines);", "A cart of one line divides by zero"),
  // The line is wrong and the code is right.
  finding(1, "  return price / count(lines);", "The mean ignores quantities"),
];
const refuted = findings[2]?.title ?? "";
const summary = "Counts lines.";

/** What the model says to a request of this kind, in the form of its protocol. */
const said: Record<Protocol, (kind: "review" | "verify" | "merge", verdicts: object[]) => ScriptedTurn> = {
  native(kind, verdicts) {
    if (kind === "verify")
      return { toolCalls: verdicts.map((one) => ({ name: names.verdict, arguments: { ...one } })) };
    const reports = kind === "merge" ? [] : findings.map((one) => ({ name: names.report, arguments: one }));
    return { toolCalls: [...reports, { name: names.finish, arguments: { summary } }] };
  },
  text: (kind, verdicts) => ({ content: JSON.stringify({ calls: said.native(kind, verdicts).toolCalls }) }),
};

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("base", { "cart.ts": "export const rate = 1;\n" });
  repo.branch("topic");
  const lines = [
    "export function count(lines: unknown[]) {",
    "  return lines.length - 1;",
    "}",
    "export function mean(price: number, lines: unknown[]) {",
    "  return price / count(lines);",
    "}",
  ];
  repo.commit("head", { "cart.ts": `${lines.join("\n")}\n` });
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

function kindOf({ messages }: ModelRequest): "review" | "verify" | "merge" {
  const [system] = messages;
  if (isSecondLook({ messages })) return "verify";
  return system?.content.startsWith("You review") ? "review" : "merge";
}

async function review(protocol: Protocol, contextTokens: number) {
  const scripted = scriptedModel(
    (request) => {
      const [, ...claims] = request.messages
        .map(({ content }) => content)
        .join("\n")
        .split("## Claim ");
      const verdicts = claims.map((claim, at) => ({
        ...{ claim: at + 1, verdict: claim.includes(refuted) ? "refuted" : "confirmed" },
        ...{ failing_input: "one line", reason: "cart.ts:2", severity: "high" },
        evidence: [{ path: "cart.ts", start_line: 5, end_line: 5, note: "divides" }],
      }));
      return said[protocol](kindOf(request), verdicts);
    },
    { contextTokens },
  );
  const models = forAllRoles(adapters[protocol](scripted));
  const result = await reviewChange(
    reviewInput({ config: { effort: "medium" } }),
    reviewDependencies(opened.workspace, models),
  );
  return { result, requests: scripted.requests };
}

describe("a whole review", () => {
  it("A review with calls in text has the result of one with tool calls", async () => {
    const [native, text] = [await review("native", 128_000), await review("text", 128_000)];

    expect(native.result.findings.map(({ finding: { line } }) => line)).toEqual([2, 5]);
    expect(text.result.findings).toEqual(native.result.findings);
    expect(text.result.dropped).toEqual(native.result.dropped);
    expect(text.result.summary).toBe(native.result.summary);
    expect(isComplete(text.result)).toBe(true);
    for (const { tools } of text.requests) expect(tools).toEqual([]);
  });

  it.each(["native", "text"] as const)(
    "A review in the %s protocol fits the smallest window",
    async (protocol) => {
      const { result, requests } = await review(protocol, leastContextTokens);

      expect(result.findings).toHaveLength(2);
      for (const { messages, tools } of requests) {
        const characters = JSON.stringify([messages, tools]).length;
        expect(characters / 4).toBeLessThan(leastContextTokens * 0.75);
      }
    },
  );
});
