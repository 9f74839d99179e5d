import { resolve } from "node:path";
import { Command, Option } from "@commander-js/extra-typings";
import { AppError } from "../../core/errors.ts";
import { count, thousands } from "../../core/text/count.ts";
import { escapeUnseen } from "../../core/text/escape-invisible.ts";
import type { GraphAnswer, IndexReport } from "../../repo/index/graph.ts";
import type { VectorReport } from "../../repo/index/vectors.ts";
import { createStyle, PIPED_WIDTH, plainLine, type Style } from "../../report/terminal-style.ts";
import {
  type CommandContext,
  type CommandIo,
  exitCodes,
  explained,
  type OptionsOf,
  optionText,
  wholeNumber,
} from "../command.ts";
import type { GraphStep } from "../local-graph.ts";
import { wantsColor, write } from "../output.ts";
import { createProgress } from "../progress.ts";

const MAX_K = 25;

const declare = () =>
  explained(new Command("graph"), {
    text: [
      "Queries the knowledge graph of a repository: who calls a function, which tests use it, what a file imports, which commits and " +
        "documents mention it. The first query indexes the revision; later ones only read what has changed. The index is " +
        "kept in the data folder, one file for each repository, and may be deleted at any time. Once it exists, reviews on this machine " +
        "use the index too; they do not create one.",
      "If HUNKWISE_EMBEDDING_MODEL names an embedding model, the code is sent to it once, and the graph also searches by meaning; " +
        "one query sends at most 5,000,000 tokens.",
      "Uncertain connections are shown with their certainty; connections below 50 % are left out. Files that the " +
        "configuration withholds (paths.private) are not indexed.",
      "Exit code: 0 something was found, 1 nothing was found, 2 usage or failure.",
    ],
    examples: [
      ["find the callers of a function, and what it calls", `hunkwise graph "who calls runReview?"`],
      [
        "find the tests of a method, on a branch",
        `hunkwise graph --head topic "where is Queue.claim tested?"`,
      ],
      [
        "print nodes and edges as JSON, for programs",
        `hunkwise graph --format json "why was the retry removed?"`,
      ],
    ],
  })
    .argument("<QUERY>", "a question, a name or a topic, in quotes")
    .option("--repo <DIR>", "the repository", optionText, ".")
    .option("--head <REF>", "the revision to query", optionText, "HEAD")
    .option("--k <NUMBER>", `number of results, up to ${MAX_K}`, wholeNumber(MAX_K), 5)
    .addOption(
      new Option("--format <FORMAT>", "the output format").choices(["pretty", "json"]).default("pretty"),
    );

export const graph = (io: CommandContext) =>
  declare().action(async (query, values) => {
    io.exitCode = await printGraph(query, values, io);
  });

/** Queries the graph of a local revision and prints the answer. Resolves to the exit code. */
async function printGraph(query: string, values: OptionsOf<typeof declare>, io: CommandIo): Promise<number> {
  if (query.trim() === "") {
    throw new AppError("usage", "QUERY is empty", { remedy: "See 'hunkwise graph --help'." });
  }
  const { repo, head, k } = values;
  using progress = createProgress(io.stderr);
  const { openRange, loadLocalConfig } = await import("../open-range.ts");
  const { openLocalGraph, stepText } = await import("../local-graph.ts");
  const { privacyOf } = await import("../../agent/tools/paths.ts");
  await using range = await openRange({ repo, base: head, head, signal: io.signal });
  const { config } = await loadLocalConfig(range.workspace);
  const isPrivate = await privacyOf(range.workspace, config.paths.private);
  const warn = (text: string) => progress.say(`warning: ${plainLine(text)}`);
  const onStep = (step: GraphStep) =>
    progress.handle({ type: "step", name: step.step, text: stepText(step) });
  const about = { range, repo: resolve(repo), isPrivate, warn, onStep, signal: io.signal };
  using opened = await openLocalGraph(about);
  const vectors = await opened.embed(io.signal);
  const answer = await opened.graph.query(query, k, io.signal);
  progress.end();
  if (values.format === "json") await write(io.stdout, `${escapeUnseen(JSON.stringify(answer, null, 2))}\n`);
  else await write(io.stdout, await renderAnswer(answer, createStyle(wantsColor(io.stdout), PIPED_WIDTH)));
  if (values.format === "pretty") await write(io.stderr, whatItTook(opened.graph.report, vectors));
  return answer.nodes.length > 0 ? exitCodes.clean : exitCodes.found;
}

/** The work for the index; empty if there was none. */
function whatItTook({ files, parsed, milliseconds }: IndexReport, vectors: VectorReport | null): string {
  const read =
    parsed > 0 ? `Read ${parsed} of ${files} files in ${(milliseconds / 1000).toFixed(1)} s.\n` : "";
  if (vectors === null || vectors.embedded + vectors.left === 0) return read;
  const { embedded, left, tokens } = vectors;
  const rest = left > 0 ? `; ${count(left, "file")} left for the next time` : "";
  return `${read}Vectors of ${count(embedded, "file")} made with ${thousands(tokens)} tokens${rest}.\n`;
}

/** Paragraphs as the model reads them, escaped for a terminal, with highlighted headings. */
async function renderAnswer(answer: GraphAnswer, style: Style): Promise<string> {
  if (answer.nodes.length === 0) return "Nothing was found for these words.\n";
  const { graphEntries } = await import("../../agent/tools/graph-rag-query.ts");
  const paragraphs = graphEntries(answer).map((entry) => {
    const [head = "", ...lines] = entry.split("\n").map(plainLine);
    const [, kind = "", name = "", place = ""] = /^(\w+) (.*?)((?: {2}| \()\S.*)?$/.exec(head) ?? [];
    const rest = lines.map((line) => (line.startsWith("    ") ? style.dim(line) : line));
    return [`${style.dim(kind)} ${style.bold(name)}${place && style.code(place)}`, ...rest].join("\n");
  });
  return `${paragraphs.join("\n\n")}\n`;
}
