import { looksBinary } from "../../text/decode.ts";
import { LineSplitter } from "../line-splitter.ts";
import { runRipgrep } from "../ripgrep.ts";
import { streamArguments } from "../ripgrep-arguments.ts";
import { type LineEvent, MatchCollector, type RipgrepEvent } from "../ripgrep-json.ts";
import type { SearchHits, SearchQuery } from "../workspace.ts";
import { LineMap } from "./line-map.ts";

/** What ripgrep is told not to read in a checkout. */
export const MAX_SEARCHED_BYTES = 20 * 1024 * 1024;

export interface StreamedFile {
  path: string;
  bytes: Buffer;
}

/**
 * Searches files that lie nowhere: one ripgrep reads them as one text, and each line of it is told by its number which line of
 * which file it is. The files come in the order of the answer, and are forgotten as soon as they went through.
 */
export async function searchStream(
  files: AsyncIterable<StreamedFile>,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<SearchHits> {
  const map = new LineMap();
  const input = joinedFiles(files, map);
  if (query.mode === "content") return await searchLines(input, map, query, signal);
  return await searchFiles(input, map, query, signal);
}

const NEWLINE = Buffer.from("\n");

/** The text files behind one another, each ending with a line feed. */
async function* joinedFiles(files: AsyncIterable<StreamedFile>, map: LineMap): AsyncGenerator<Buffer> {
  for await (const { path, bytes } of files) {
    if (bytes.length === 0 || looksBinary(bytes)) continue;
    map.add(path, bytes);
    yield bytes;
    if (bytes.at(-1) !== NEWLINE[0]) yield NEWLINE;
  }
}

async function searchLines(
  input: AsyncIterable<Buffer>,
  map: LineMap,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<SearchHits> {
  const collector = new MatchCollector({ ...query, wants: () => true });
  let current: string | undefined;
  const take = (event: LineEvent) => {
    const { path, line } = map.locate(event.data.line_number ?? 0);
    if (path !== current) {
      if (collector.end() === "stop") return "stop";
      current = path;
      collector.begin(path);
    }
    return collector.take({ type: event.type, data: { ...event.data, line_number: line } });
  };
  const lines = new LineSplitter((record) => {
    const event = JSON.parse(record.toString("utf8")) as RipgrepEvent;
    return event.type === "match" || event.type === "context" ? take(event) : undefined;
  });
  const ran = await runRipgrep({ args: streamArguments(query), input, signal }, (chunk) => lines.push(chunk));
  const { matches } = collector;
  return { mode: "content", matches, ...ran, limited: matches.length >= query.maxResults };
}

/** ripgrep prints `NUMBER:...` for each line that matches. */
async function searchFiles(
  input: AsyncIterable<Buffer>,
  map: LineMap,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<SearchHits> {
  const found: { path: string; count: number }[] = [];
  const lines = new LineSplitter((record) => {
    const { path } = map.locate(Number.parseInt(record.toString("latin1", 0, 20), 10));
    const last = found.at(-1);
    if (last?.path === path) last.count += 1;
    else if (found.length >= query.maxResults) return "stop";
    else found.push({ path, count: 1 });
    return undefined;
  });
  const ran = await runRipgrep({ args: streamArguments(query), input, signal }, (chunk) => lines.push(chunk));
  const limited = found.length >= query.maxResults;
  if (query.mode === "count") return { mode: "count", counts: found, ...ran, limited };
  return { mode: "files_with_matches", paths: found.map(({ path }) => path), ...ran, limited };
}
