import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError, errorLine } from "../errors.ts";
import { LoopEntry } from "../process/messages.ts";
import type { RecordedEntry } from "../queue/runs.ts";

/*
 * A record of a run that stands by itself: a file with one JSON object a line, the first of which says of what it is. What a local
 * review leaves, what `--trajectory` writes and what `runs export` makes of a server's run are the same.
 */

/** The first line. Snake case: it leaves the process. */
export const RunHeader = z.strictObject({
  kind: z.literal("record"),
  format: z.literal(1),
  /** Of Hunkwise. */
  version: z.string(),
  id: z.string(),
  /** local: of a range on this machine. */
  source: z.enum(["server", "local"]),
  /** "review", or what else was asked for: "ask". */
  task: z.string(),
  /** "owner/name", or the folder of a local one. */
  repository: z.string(),
  pull: z.int().nullable(),
  /** The local range as it was named: "main...topic". */
  range: z.string().nullable(),
  /** ISO 8601. */
  began_at: z.string(),
});
export type RunHeader = z.infer<typeof RunHeader>;

export interface RunFile {
  header: RunHeader;
  entries: RecordedEntry[];
}

export const headerLine = (header: RunHeader): string => `${JSON.stringify(header)}\n`;

/** `at` in milliseconds since 1970. */
export function entryLine({ at, claim, entry }: RecordedEntry): string {
  return `${JSON.stringify({ ...entry, at, claim })}\n`;
}

const loopKinds = new Set<unknown>(["messages", "turn", "tool_results", "stopped"]);
const Stamp = z.looseObject({ kind: z.string(), at: z.number(), claim: z.int() });

/**
 * Reads a record. Of a run that was killed the last line may be half a one, and is left out.
 * @throws AppError `usage`, naming the line that is none of a record.
 */
export async function readRunFile(path: string): Promise<RunFile> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new AppError("usage", `the record cannot be read: ${errorLine(error)}`, {
      remedy: "Name a file that hunkwise runs export has written.",
      cause: error,
    });
  });
  return parseRunFile(text, path);
}

export function parseRunFile(text: string, path: string): RunFile {
  const [first = "", ...rest] = wholeLines(text);
  const header = lineOf(first, path, 1, (value) => RunHeader.parse(value));
  const entries = rest.map((line, index) => lineOf(line, path, index + 2, entryOf));
  return { header, entries };
}

/** Every line ends with a line feed, so that what stands behind the last one was cut off. */
const wholeLines = (text: string): string[] => text.split("\n").slice(0, -1);

function entryOf(value: unknown): RecordedEntry {
  const { at, claim, ...entry } = Stamp.parse(value);
  // Of other kinds those who read them check what they need.
  const checked = loopKinds.has(entry.kind) ? LoopEntry.parse(entry) : entry;
  return { at, claim, entry: checked as unknown as TrajectoryEntry };
}

function lineOf<T>(line: string, path: string, number: number, parse: (value: unknown) => T): T {
  try {
    return parse(JSON.parse(line));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error).split("\n").join(" ") : errorLine(error);
    throw new AppError("usage", `${path}:${number} is no line of a record: ${why}`, {
      remedy: "Name a file that hunkwise runs export, or a review of this version, has written.",
    });
  }
}
