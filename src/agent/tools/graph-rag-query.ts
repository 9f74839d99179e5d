import { z } from "zod";
import { AppError } from "../../core/errors.ts";
import type { GraphAnswer, GraphEdge, GraphNode } from "../../repo/index/graph.ts";
import { fitting, showPath } from "../../repo/show.ts";
import { wholeNumber } from "./read-arguments.ts";
import { defineTool, type Rendered, type ToolContext, ToolError } from "./tool.ts";

const forward: Record<GraphEdge["kind"], string> = {
  defines: "defines",
  calls: "calls",
  references: "refers to",
  imports: "imports",
  tests: "tests",
  documents: "documents",
  changed: "changed",
  about: "is about",
};
const backward: Record<GraphEdge["kind"], string> = {
  defines: "defined in",
  calls: "called by",
  references: "referred to by",
  imports: "imported by",
  tests: "tested by",
  documents: "documented in",
  changed: "changed by",
  about: "had the finding",
};

/** An answer for the model: each node with its connections, each connection once. */
function renderGraph(answer: GraphAnswer, _input: unknown, maxBytes: number): Rendered {
  if (answer.nodes.length === 0) return { text: "Nothing in the repository matches these words." };
  const entries = graphEntries(answer);
  const shown = Math.max(1, fitting(entries, maxBytes - 80));
  const left = entries.length - shown;
  const rest = left > 0 ? [`(${left} more did not fit; ask for less with k)`] : [];
  return { text: [...entries.slice(0, shown), ...rest].join("\n\n"), truncated: left > 0 };
}

/** One paragraph for each node, except those that only end a connection shown before. */
export function graphEntries({ nodes, edges }: GraphAnswer): string[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const shown = new Set<GraphEdge>();
  return nodes.flatMap((node) => {
    const own = edges.filter((edge) => !shown.has(edge) && (edge.from === node.id || edge.to === node.id));
    for (const edge of own) shown.add(edge);
    const isKnownByOthers =
      own.length === 0 && edges.some(({ from, to }) => from === node.id || to === node.id);
    // All its connections were shown with other nodes.
    if (isKnownByOthers) return [];
    const excerpt = node.excerpt === "" ? [] : node.excerpt.split("\n").map((line) => `    ${line}`);
    return [[headOf(node), ...excerpt, ...own.map((edge) => lineOf(edge, node, byId))].join("\n")];
  });
}

const headOf = (node: GraphNode) =>
  `${node.kind} ${node.kind === "file" ? showPath(node.name) : node.name}${placeOf(node)}`;

function placeOf({ kind, id, path, startLine, endLine }: GraphNode): string {
  if (kind === "commit") return ` (${id.slice("commit:".length, "commit:".length + 12)})`;
  if (kind === "file" || path === null) return "";
  const lines =
    startLine === null
      ? ""
      : `:${startLine}${endLine === null || endLine === startLine ? "" : `-${endLine}`}`;
  return `  ${showPath(path)}${lines}`;
}

function lineOf(edge: GraphEdge, node: GraphNode, byId: ReadonlyMap<string, GraphNode>): string {
  const isForward = edge.from === node.id;
  const other = byId.get(isForward ? edge.to : edge.from);
  const word = (isForward ? forward : backward)[edge.kind];
  if (!other) return "";
  const from = byId.get(edge.from);
  const at = edge.line !== null && from?.path ? ` at ${showPath(from.path)}:${edge.line}` : "";
  const name =
    other.kind === "file"
      ? showPath(other.name)
      : `${other.kind === "symbol" ? "" : `${other.kind} `}${other.name}`;
  // The place of the callee. The place of the caller is shown by the line of the call.
  const where =
    isForward && other.kind === "symbol" && other.path !== null
      ? ` (${showPath(other.path)}:${other.startLine})`
      : "";
  const sure = edge.certainty < 0.9 ? `, ${Math.round(edge.certainty * 100)} % sure` : "";
  return `  ${word} ${name}${where}${edge.kind === "defines" && !isForward ? "" : at}${sure}`;
}

const DEFAULT_K = 5;
const MAX_K = 25;
const MAX_QUERY = 2_000;

const Input = z.strictObject({
  query: z
    .string()
    .trim()
    .min(1)
    .max(MAX_QUERY)
    .describe("A question, a name or a topic. Names exactly as in the code find most."),
  k: wholeNumber(1, MAX_K)
    .default(DEFAULT_K)
    .describe(`How many things to find first; the answer adds what is connected with them. Up to ${MAX_K}.`),
});
type Input = z.infer<typeof Input>;

async function execute({ query, k }: Input, context: ToolContext, signal: AbortSignal) {
  if (!context.graph)
    throw new ToolError("There is no index of this repository. Use search_in_files instead.");
  try {
    return { output: withoutPrivate(await context.graph.query(query, k, signal), context) };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "aborted") throw error;
    throw new ToolError(`${error.message} Use search_in_files instead.`);
  }
}

/** Private files are not indexed. This removes commits and findings about them as well. */
function withoutPrivate({ nodes, edges }: GraphAnswer, { isPrivate }: ToolContext): GraphAnswer {
  const shown = nodes.filter(({ path }) => path === null || !isPrivate(path));
  const ids = new Set(shown.map(({ id }) => id));
  return { nodes: shown, edges: edges.filter(({ from, to }) => ids.has(from) && ids.has(to)) };
}

export const graphRagQuery = defineTool<Input, GraphAnswer>({
  name: "graph_rag_query",
  title: "Ask the knowledge graph",
  description:
    "Asks the index of the repository at head: who calls a function and from where, where a type or a constant is used, which tests " +
    "touch it, what a file imports, documents, commits and earlier findings about it. Calls are followed through imports and declared types; `sure` below 100 % means a guess.",
  returns:
    "`{nodes, edges}`: `nodes` are files, symbols, commits, documents and findings with `id`, `kind`, `name`, `path`, `startLine`, `endLine`, `excerpt`, `score`, best first; `edges` say how two nodes are connected (`defines`, `calls`, `references`, `imports`, `tests`, `documents`, `changed`, `about`) with `from`, `to`, `line` and `certainty` (0.5 to 1; less certain edges are left out).",
  example: { query: "who calls parseRange?", k: 5 },
  kind: "read",
  input: Input,
  execute,
  render: renderGraph,
});
