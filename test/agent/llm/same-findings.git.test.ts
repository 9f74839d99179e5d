import { describe, expect, it } from "vitest";
import type { Model, Protocol } from "../../../src/agent/llm/model.ts";
import { withTextProtocol } from "../../../src/agent/llm/text-fallback.ts";
import { createTokenBudget } from "../../../src/agent/loop/limits.ts";
import { runAgent } from "../../../src/agent/loop/run-agent.ts";
import { reportingTools } from "../../../src/agent/tools/index.ts";
import type { ReportPort } from "../../../src/agent/tools/tool.ts";
import type { TreeEntry, Workspace } from "../../../src/repo/git/workspace.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";
import { toolsOn } from "../tools/context.ts";

const tree = new Map<string, TreeEntry>([
  ["src/a.ts", { path: "src/a.ts", mode: "100644", oid: "1".repeat(40) }],
]);
const workspace = { root: "/checkout", tree: async () => tree } as unknown as Workspace;
const names = { report: "report_finding", finish: "finish_review" };

const finding = (line: number, more: Record<string, unknown> = {}) => ({
  path: "src/a.ts",
  line,
  quote: `const a${line} = "\\\\s+";`,
  severity: "high",
  category: "correctness",
  title: `Wrong constant ${line}`,
  body: 'It should be 2.\nSay "two" or `{"a": 1}`.',
  confidence: 0.8,
  ...more,
});

/** What a model answers in one turn: findings, and the summary with which it finishes. */
interface Answer {
  findings: Record<string, unknown>[];
  summary?: string;
}

const callsOf = ({ findings, summary }: Answer) => [
  ...findings.map((one) => ({ name: names.report, arguments: one })),
  ...(summary === undefined ? [] : [{ name: names.finish, arguments: { summary } }]),
];

const speaking: Record<Protocol, (answer: Answer) => ScriptedTurn> = {
  native: (answer) => ({ toolCalls: callsOf(answer) }),
  text: (answer) => ({
    content: `Here it is:\n\`\`\`json\n${JSON.stringify({ calls: callsOf(answer) }, null, 2)}\n\`\`\``,
  }),
};
const adapters: Record<Protocol, (model: Model) => Model> = {
  native: (model) => model,
  text: withTextProtocol,
};

/** Runs the agent loop with the real reporting tools on a model that speaks this way. */
async function review(protocol: Protocol, answers: Answer[], port: Partial<ReportPort> = {}) {
  const { context, reported } = toolsOn(workspace, { report: port });
  const scripted = scriptedModel(answers.map(speaking[protocol]));
  const result = await runAgent({
    loop: "review",
    model: adapters[protocol](scripted),
    messages: [
      { role: "system", content: "You review." },
      { role: "user", content: "Review this." },
    ],
    tools: reportingTools,
    outputTools: reportingTools,
    budget: createTokenBudget({ tokens: 1_000_000, costUsd: null }),
    replay: [],
    context,
    limits: { turns: 10, tokens: 1_000_000, costUsd: null, milliseconds: 60_000 },
    emit: () => {},
    trajectory: { append: async () => {} },
    signal: new AbortController().signal,
    now: () => 0,
  });
  return { reported, stopReason: result.stopReason, requests: scripted.requests };
}

const protocols = ["native", "text"] as const;

describe("the same answers give the same findings in every protocol", () => {
  it("The same answers give the same findings in one turn", async () => {
    const answers = [
      { findings: [finding(3), finding(5, { suggestion: "const a = 2;\n" })], summary: "Two faults." },
    ];
    const [native, ...others] = await Promise.all(protocols.map((protocol) => review(protocol, answers)));

    expect(native).toMatchObject({ stopReason: "finished" });
    expect(native?.reported.map(({ line }) => line)).toEqual([3, 5]);
    for (const { reported, stopReason } of others) {
      expect(reported).toEqual(native?.reported);
      expect(stopReason).toBe("finished");
    }
  });

  it("The same answers give the same findings if one is refused and corrected", async () => {
    const answers = [
      { findings: [finding(3, { severity: "huge" }), finding(5)], summary: "Two faults." },
      { findings: [finding(3)], summary: "Two faults." },
    ];
    const runs = await Promise.all(protocols.map((protocol) => review(protocol, answers)));

    for (const { reported, stopReason, requests } of runs) {
      expect(reported.map(({ line }) => line)).toEqual([5, 3]);
      expect(stopReason).toBe("finished");
      expect(requests[1]?.messages.map(({ content }) => content).join("\n")).toContain(
        "invalid arguments for report_finding",
      );
    }
  });

  it("The same answers give the same findings if a finish is refused", async () => {
    const run = (protocol: Protocol) => {
      let asked = 0;
      const finish = async () =>
        asked++ === 0 ? ({ ok: false, reason: "2 hunks were never read" } as const) : ({ ok: true } as const);
      const answers = [
        { findings: [finding(3)], summary: "One fault." },
        { findings: [finding(5)], summary: "Two faults." },
      ];
      return review(protocol, answers, { finish });
    };
    for (const { reported, stopReason, requests } of await Promise.all(protocols.map(run))) {
      expect(reported.map(({ line }) => line)).toEqual([3, 5]);
      expect(stopReason).toBe("finished");
      expect(requests).toHaveLength(2);
    }
  });

  it("The same answers give no finding in every protocol", async () => {
    for (const protocol of protocols) {
      expect(await review(protocol, [{ findings: [], summary: "Sound." }])).toMatchObject({
        reported: [],
        stopReason: "finished",
      });
    }
  });
});
