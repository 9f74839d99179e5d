import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { graphRagQuery } from "../../../src/agent/tools/graph-rag-query.ts";
import { runTool } from "../../../src/agent/tools/run-tool.ts";
import type { GraphPort, ToolContext } from "../../../src/agent/tools/tool.ts";
import { AppError } from "../../../src/core/errors.ts";
import type { Graph, GraphAnswer } from "../../../src/repo/index/graph.ts";
import { openTexts } from "../../repo/index/open-texts.ts";

/** The requirements of the knowledge agent's document (001) for its search. */
let graph: Graph;
beforeAll(async () => {
  const functions = Array.from(
    { length: 12 },
    (_, at) => `export function strategy${"ABCDEFGHIJKL"[at]}() {}\n`,
  );
  graph = await openTexts({
    "docs/testing.md": "# Testing strategy\n\n`runContract` is run by each store.\n",
    "src/contract.ts": "export function runContract() {}\n\nfunction all() {\n  runContract();\n}\n",
    "src/strategies.ts": functions.join(""),
    "secret/plan.ts": "export function strategyPlan() {}\n",
  });
});
afterAll(() => graph[Symbol.dispose]());

async function ask(sent: Record<string, unknown>, port: GraphPort | undefined = graph) {
  const context = { isPrivate: (path: string) => path.startsWith("secret/"), ...(port && { graph: port }) };
  const { result, text } = await runTool(graphRagQuery, JSON.stringify(sent), context as ToolContext, {
    signal: new AbortController().signal,
    onCrash: (_, error) => {
      throw error;
    },
  });
  return { result, text, answer: (result.status === "success" ? result.output : null) as GraphAnswer };
}

describe("the knowledge agent's graph_rag_query", () => {
  it("graph_rag_query takes query", async () => {
    const { answer, text } = await ask({ query: "What is the project's testing strategy?" });
    expect(answer.nodes[0]).toMatchObject({ kind: "document", name: "Testing strategy" });
    const symbol = answer.nodes.find(({ name }) => name === "runContract");
    expect(answer.edges).toContainEqual({
      ...{ from: answer.nodes[0]?.id, kind: "documents", to: symbol?.id, line: null, certainty: 0.8 },
    });
    expect(text).toContain("documents runContract (src/contract.ts:1)");
    expect(text).not.toContain("strategyPlan");
  });

  it("graph_rag_query takes k", async () => {
    const few = await ask({ query: "strategy", k: 1 });
    const more = await ask({ query: "strategy", k: 10 });
    const found = ({ nodes }: GraphAnswer) => nodes.filter(({ kind }) => kind !== "file").length;
    expect(found(few.answer)).toBeLessThan(found(more.answer));
    const standard = await ask({ query: "strategy" });
    expect((await ask({ query: "strategy", k: 5 })).answer).toEqual(standard.answer);
  });

  it("graph_rag_query answers with an error in words without an index", async () => {
    const broken = async () => {
      throw new AppError("data_folder_unusable", "Cannot use the index.");
    };
    const { result } = await ask({ query: "anything" }, { query: broken });
    expect(result).toMatchObject({ status: "error", error: expect.stringContaining("Cannot use the index") });
    const none = await runTool(graphRagQuery, '{"query": "x"}', {} as ToolContext, {});
    expect(none.result).toMatchObject({ status: "error", error: expect.stringContaining("search_in_files") });
  });
});
