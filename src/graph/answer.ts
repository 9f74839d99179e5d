import type { GraphEdge, GraphNode } from "../tools/tool.ts";
import type { EarlierFinding, GraphCommit } from "./graph.ts";
import type { DefinitionAt } from "./head.ts";
import type { Seed } from "./search.ts";

const round = (value: number) => Math.round(value * 10_000) / 10_000;

export const symbolId = ({ path, container, name, start }: DefinitionAt): string =>
  `symbol:${path}#${container === null ? "" : `${container}.`}${name}@${start}`;
export const fileId = (path: string): string => `file:${path}`;

export function symbolNode(of: DefinitionAt, score: number): GraphNode {
  const isSection = of.kind === "section";
  return {
    id: isSection ? `document:${of.path}@${of.start}` : symbolId(of),
    kind: isSection ? "document" : "symbol",
    name: of.container === null ? of.name : `${of.container}.${of.name}`,
    path: of.path,
    startLine: of.docStart,
    endLine: of.end,
    excerpt: of.excerpt,
    score: round(score),
  };
}

export const fileNode = (path: string, score: number): GraphNode => ({
  ...{ id: fileId(path), kind: "file", name: path, path, startLine: null, endLine: null, excerpt: "" },
  score: round(score),
});

const MAX_MESSAGE = 600;

export function commitNode({ sha, author, date, message }: GraphCommit, score: number): GraphNode {
  const [first = ""] = message.split("\n");
  const excerpt = `${date.slice(0, 10)} ${author}\n${message.trim()}`.slice(0, MAX_MESSAGE);
  const place = { path: null, startLine: null, endLine: null };
  return { id: `commit:${sha}`, kind: "commit", name: first, ...place, excerpt, score: round(score) };
}

export function findingNode(one: EarlierFinding, score: number): GraphNode {
  const excerpt = `${one.fate}\n${one.body}`.slice(0, MAX_MESSAGE);
  const place = { path: one.path, startLine: one.line, endLine: one.line };
  return {
    id: `finding:${one.id}`,
    kind: "finding",
    name: one.title,
    ...place,
    excerpt,
    score: round(score),
  };
}

export function nodeOf(seed: Seed): GraphNode {
  switch (seed.kind) {
    case "symbol":
      return symbolNode(seed.of, seed.score);
    case "file":
      return fileNode(seed.path, seed.score);
    case "commit":
      return commitNode(seed.of, seed.score);
    case "finding":
      return findingNode(seed.of, seed.score);
  }
}

/** Gathers nodes and edges, each once. What was found first keeps its score. */
export class AnswerBuilder {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #edges = new Map<string, GraphEdge>();

  node(node: GraphNode): string {
    if (!this.#nodes.has(node.id)) this.#nodes.set(node.id, node);
    return node.id;
  }

  edge(from: string, kind: GraphEdge["kind"], to: string, line: number | null, certainty: number): void {
    if (from === to) return;
    const key = `${from}\0${kind}\0${to}\0${kind === "calls" ? line : ""}`;
    if (!this.#edges.has(key)) this.#edges.set(key, { from, to, kind, line, certainty: round(certainty) });
  }

  nodes(): GraphNode[] {
    return [...this.#nodes.values()];
  }

  edges(): GraphEdge[] {
    return [...this.#edges.values()];
  }
}
