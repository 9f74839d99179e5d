import { decodeName } from "./names.ts";
import type { LineMatch } from "./workspace.ts";

/** Longer lines are cut for whoever reads the result; minified files have lines of megabytes. */
export const MAX_LINE_CHARS = 2000;

/** Text in ripgrep's JSON: bytes in base64 where it is not UTF-8. */
type Arbitrary = { text: string } | { bytes: string };

export interface LineEvent {
  type: "match" | "context";
  data: { path: Arbitrary; lines: Arbitrary; line_number: number | null };
}

export type RipgrepEvent =
  | { type: "begin"; data: { path: Arbitrary } }
  | LineEvent
  | { type: "end" }
  | { type: "summary" };

/** A line as it is decoded everywhere: UTF-8 or Latin-1. */
function lineOf(value: Arbitrary): string {
  return "text" in value ? value.text : Buffer.from(value.bytes, "base64").toString("latin1");
}

function pathOf(value: Arbitrary): string {
  return keyOf("text" in value ? Buffer.from(value.text) : Buffer.from(value.bytes, "base64"));
}

/** The tree's key of a path that ripgrep was sent to with `./`. */
export function keyOf(path: Buffer): string {
  const key = decodeName(path);
  return key.startsWith("./") ? key.slice(2) : key;
}

/** Collects the matches of one file, each with its context, from events in the order of lines. */
class FileMatches {
  readonly path: string;
  readonly matches: LineMatch[] = [];
  readonly #contextLines: number;
  readonly #recent: { line: number; text: string; isLatin1: boolean }[] = [];

  constructor(path: string, contextLines: number) {
    this.path = path;
    this.#contextLines = contextLines;
  }

  /** Takes a line in; as a match only when it is one and `wanted`, always as context of its neighbours. */
  add({ type, data }: LineEvent, wanted: boolean): void {
    const line = data.line_number ?? 0;
    const text = cutLine(lineOf(data.lines));
    const isLatin1 = "bytes" in data.lines;
    for (let index = this.matches.length - 1; index >= 0; index--) {
      const match = this.matches[index];
      if (!match || line - match.line > this.#contextLines) break;
      match.after.push({ line, text });
      match.hasLatin1 ||= isLatin1;
    }
    if (type === "match" && wanted) {
      const near = this.#recent.filter((one) => line - one.line <= this.#contextLines);
      const before = near.map((one) => ({ line: one.line, text: one.text }));
      const hasLatin1 = isLatin1 || near.some((one) => one.isLatin1);
      this.matches.push({ path: this.path, line, text, before, after: [], hasLatin1 });
    }
    this.#recent.push({ line, text, isLatin1 });
    if (this.#recent.length > this.#contextLines) this.#recent.shift();
  }

  /** Whether the last match has all the lines after it that a stream at `line` can still give it. */
  isCompleteAt(line: number): boolean {
    const last = this.matches.at(-1);
    return last === undefined || line >= last.line + this.#contextLines;
  }
}

export interface CollectorOptions {
  contextLines: number;
  maxResults: number;
  /** Whether matches in the file at this path are wanted. */
  wants: (path: string) => boolean;
}

/** Turns ripgrep's events into matches and says when it has enough. */
export class MatchCollector {
  readonly #matches: LineMatch[] = [];
  readonly #options: CollectorOptions;
  #file: FileMatches | undefined;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  take(event: RipgrepEvent): "stop" | undefined {
    switch (event.type) {
      case "begin":
        this.begin(pathOf(event.data.path));
        return undefined;
      case "match":
      case "context":
        this.#file?.add(event, !this.#isFull());
        return this.#isFull() && this.#file?.isCompleteAt(event.data.line_number ?? 0) ? "stop" : undefined;
      case "end":
        return this.end();
      case "summary":
        return undefined;
    }
  }

  /** All that were found, those of a file in which the stream was stopped too. */
  get matches(): LineMatch[] {
    this.end();
    return this.#matches;
  }

  /** The lines that follow are of this file. */
  begin(path: string): void {
    this.#file = this.#options.wants(path) ? new FileMatches(path, this.#options.contextLines) : undefined;
  }

  /** No more lines follow of the file that was begun. */
  end(): "stop" | undefined {
    for (const match of this.#file?.matches ?? []) this.#matches.push(match);
    this.#file = undefined;
    return this.#isFull() ? "stop" : undefined;
  }

  #isFull(): boolean {
    return this.#matches.length + (this.#file?.matches.length ?? 0) >= this.#options.maxResults;
  }
}

function cutLine(line: string): string {
  const text = line.endsWith("\n") ? line.slice(0, -1) : line;
  if (text.length <= MAX_LINE_CHARS) return text;
  return `${text.slice(0, MAX_LINE_CHARS)} [... ${text.length - MAX_LINE_CHARS} more characters]`;
}
