import { z } from "zod";
import { AppError } from "../errors.ts";
import { wholeNumber } from "./limits.ts";
import { renderGraph } from "./render-graph.ts";
import { defineTool, type GraphAnswer, type ToolContext, ToolError } from "./tool.ts";

const DEFAULT_K = 5;
const MAX_K = 25;
const MAX_QUERY = 2_000;

const Input = z.strictObject({
  query: z
    .string()
    .trim()
    .min(1)
    .max(MAX_QUERY)
    .describe("A question, a name or a topic. Names of code as they are written find most."),
  k: wholeNumber(1, MAX_K)
    .default(DEFAULT_K)
    .describe(
      `What it is about: so many things are found first, and then what is connected with them. Up to ${MAX_K}.`,
    ),
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

/** Private files are not indexed; what a commit or a finding says of one is not told either. */
function withoutPrivate({ nodes, edges }: GraphAnswer, { isPrivate }: ToolContext): GraphAnswer {
  const shown = nodes.filter(({ path }) => path === null || !isPrivate(path));
  const ids = new Set(shown.map(({ id }) => id));
  return { nodes: shown, edges: edges.filter(({ from, to }) => ids.has(from) && ids.has(to)) };
}

export const graphRagQuery = defineTool<Input, GraphAnswer>({
  name: "graph_rag_query",
  title: "Ask the knowledge graph",
  description:
    "Asks what the repository knows at head: who calls a function and from where, where a type or a constant is used, which tests " +
    "touch it, what a file imports, documents, commits and earlier findings about it. Calls are followed through imports and types; `sure` below 100 % means a guess.",
  returns:
    "`{nodes, edges}`: `nodes` are files, symbols, commits, documents and findings with `id`, `kind`, `name`, `path`, `startLine`, `endLine`, `excerpt`, `score`, best first; `edges` say what one does to another (`defines`, `calls`, `references`, `imports`, `tests`, `documents`, `changed`, `about`) with `from`, `to`, `line` and `certainty` (0.5 to 1; what is less sure is left out).",
  example: { query: "who calls parseRange?", k: 5 },
  kind: "read",
  input: Input,
  execute,
  render: renderGraph,
});
