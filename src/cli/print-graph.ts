import { resolve } from "node:path";
import { AppError } from "../errors.ts";
import type { IndexReport } from "../graph/graph.ts";
import type { VectorReport } from "../graph/vectors.ts";
import { plural, thousands } from "../reporters/outcome.ts";
import { createStyle, PIPED_WIDTH, plainLine, type Style } from "../reporters/terminal-style.ts";
import { escapeUnseen } from "../text/escape-unseen.ts";
import { privacyOf } from "../tools/private-text.ts";
import { graphEntries } from "../tools/render-graph.ts";
import type { GraphAnswer } from "../tools/tool.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { loadLocalConfig } from "./local-config.ts";
import { openLocalGraph } from "./local-graph.ts";
import { openRange } from "./open-range.ts";
import { wantsColour, write } from "./output.ts";

/** The options of the command, as its help describes them. */
export interface GraphValues {
  repo: string;
  head: string;
  k: string;
  format: "pretty" | "json";
}

const MAX_K = 25;

/** Asks the graph of a local revision and prints what it answers. Resolves to the exit code. */
export async function printGraph(query: string, values: GraphValues, io: CommandIo): Promise<number> {
  const k = Number(values.k);
  if (query.trim() === "") throw usage("QUERY is empty");
  if (!Number.isInteger(k) || k < 1 || k > MAX_K)
    throw usage(`--k must be a whole number from 1 to ${MAX_K}`);
  const { repo, head } = values;
  await using range = await openRange({ repo, base: head, head, signal: io.signal });
  const { config } = await loadLocalConfig(range.workspace);
  const isPrivate = await privacyOf(range.workspace, config.paths.private);
  const warn = (text: string) => void write(io.stderr, `warning: ${plainLine(text)}\n`);
  using opened = await openLocalGraph({ range, repo: resolve(repo), isPrivate, warn, signal: io.signal });
  const vectors = await opened.embed(io.signal);
  const answer = await opened.graph.query(query, k, io.signal);
  if (values.format === "json") await write(io.stdout, `${escapeUnseen(JSON.stringify(answer, null, 2))}\n`);
  else await write(io.stdout, renderAnswer(answer, createStyle(wantsColour(io.stdout), PIPED_WIDTH)));
  if (values.format === "pretty") await write(io.stderr, whatItTook(opened.graph.report, vectors));
  return answer.nodes.length > 0 ? exitCodes.clean : exitCodes.found;
}

const usage = (message: string) => new AppError("usage", message, { remedy: "See 'hunkwise graph --help'." });

/** What was not known before; empty where all was. */
function whatItTook({ files, parsed, milliseconds }: IndexReport, vectors: VectorReport | null): string {
  const read =
    parsed > 0 ? `Read ${parsed} of ${files} files in ${(milliseconds / 1000).toFixed(1)} s.\n` : "";
  if (vectors === null || vectors.embedded + vectors.left === 0) return read;
  const { embedded, left, tokens } = vectors;
  const rest = left > 0 ? `; ${plural(left, "file")} left for the next time` : "";
  return `${read}Vectors of ${plural(embedded, "file")} made with ${thousands(tokens)} tokens${rest}.\n`;
}

/** Paragraphs as the model reads them, harmless for a terminal, with heads that stand out. */
export function renderAnswer(answer: GraphAnswer, style: Style): string {
  if (answer.nodes.length === 0) return "Nothing is known under these words.\n";
  const paragraphs = graphEntries(answer).map((entry) => {
    const [head = "", ...lines] = entry.split("\n").map(plainLine);
    const [, kind = "", name = "", place = ""] = /^(\w+) (.*?)((?: {2}| \()\S.*)?$/.exec(head) ?? [];
    const rest = lines.map((line) => (line.startsWith("    ") ? style.dim(line) : line));
    return [`${style.dim(kind)} ${style.bold(name)}${place && style.code(place)}`, ...rest].join("\n");
  });
  return `${paragraphs.join("\n\n")}\n`;
}
