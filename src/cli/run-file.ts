import { createReadStream } from "node:fs";
import { z } from "zod";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError, errorLine } from "../errors.ts";
import { LoopEntry, MasksEntry } from "../process/messages.ts";
import type { RecordedEntry } from "../queue/runs.ts";

/*
 * A record of a run that stands by itself: a file with one JSON object a line, the first of which says of what it is. What a local
 * review leaves, what `--trajectory` writes and what `runs export` makes of a server's run are the same.
 */

/** The first line. Snake case: it leaves the process. */
export const RunHeader = z.object({
  kind: z.literal("record"),
  format: z.literal(1),
  /** Of Hunkwise. */
  version: z.string(),
  id: z.string(),
  /** local: of a range on this machine. */
  source: z.enum(["server", "local"]),
  /** "review", or what else was asked for: "ask", "fix". */
  task: z.string(),
  /** Who asked for it on GitHub; null for an event and for a local one. Left out by older versions. */
  requested_by: z.string().nullable().default(null),
  /** "owner/name", or the folder of a local one. */
  repository: z.string(),
  pull: z.int().nullable(),
  /** The local range as it was named: "main...topic". */
  range: z.string().nullable(),
  /** ISO 8601. */
  began_at: z.iso.datetime(),
});
export type RunHeader = z.infer<typeof RunHeader>;

export interface RunFile {
  header: RunHeader;
  entries: RecordedEntry[];
}

export const headerLine = (header: z.input<typeof RunHeader>): string => `${JSON.stringify(header)}\n`;

/** `at` in milliseconds since 1970. */
export function entryLine({ at, claim, entry }: RecordedEntry): string {
  return `${JSON.stringify({ ...entry, at, claim })}\n`;
}

/** A record beyond this is none of ours. */
const MOST_BYTES = 256_000_000;

/**
 * Reads a record. Of a run that was killed the last line may be half a one, and is left out.
 * @throws AppError `usage`, naming the line that is none of a record.
 */
export async function readRunFile(path: string, mostBytes = MOST_BYTES): Promise<RunFile> {
  const text = await readText(path, mostBytes).catch((error: unknown) => {
    throw new AppError("usage", `the record cannot be read: ${errorLine(error)}`, {
      remedy: "Name a file that hunkwise runs export has written.",
      cause: error,
    });
  });
  return parseRunFile(text, path);
}

/** Also of a pipe, whose end nobody knows. */
async function readText(path: string, mostBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of createReadStream(path)) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > mostBytes) throw new Error(`it is larger than ${mostBytes / 1_000_000} MB`);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** Its first line alone, which is short. Rejects where it is none of a record. */
export async function readRunHeader(path: string): Promise<RunHeader> {
  let start = "";
  for await (const piece of createReadStream(path, { encoding: "utf8", end: LONGEST_HEADER })) start += piece;
  return headerIn(wholeLines(start)[0] ?? "", path);
}

const LONGEST_HEADER = 64 * 1024;

function parseRunFile(text: string, path: string): RunFile {
  const [first = "", ...rest] = wholeLines(text);
  const entries = rest.map((line, index) => lineOf(line, path, index + 2, parseEntry));
  return { header: headerIn(first, path), entries };
}

const headerIn = (line: string, path: string): RunHeader =>
  lineOf(line, path, 1, (value) => RunHeader.parse(value));

/** Every line ends with a line feed, so that what stands behind the last one was cut off. */
const wholeLines = (text: string): string[] => text.split("\n").slice(0, -1);

function lineOf<T>(line: string, path: string, number: number, parse: (value: unknown) => T): T {
  try {
    return parse(shallow(JSON.parse(line)));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error).split("\n").join(" ") : errorLine(error);
    throw new AppError("usage", `${path}:${number} is no line of a record: ${why}`, {
      remedy: "Name a file that hunkwise runs export, or a review of this version, has written.",
    });
  }
}

/** What a run writes has a tenth of this; what goes through values by recursion would not come back from any depth. */
const DEEPEST = 200;

function shallow(value: unknown): unknown {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) throw new Error(`it is nested more than ${DEEPEST} deep`);
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return value;
}

/*
 * The entries of a record. A file may have been changed by the person who hands it on: the fields of an entry that are read are
 * checked here, and other fields, which another version wrote, are kept. The input and the result of a review are checked by their readers.
 */

const ObjectName = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "is no full object name");
const kind = <Kind extends TrajectoryEntry["kind"]>(name: Kind) => ({ kind: z.literal(name) });
const Comment = z.looseObject({ finding: z.string(), id: z.int(), url: z.string() });

const JobEntry = z.discriminatedUnion("kind", [
  z.looseObject({
    ...kind("run"),
    what: z.enum(["answer", "fix"]).optional(),
    shas: z.looseObject({ head: ObjectName, base: ObjectName, mergeBase: ObjectName }),
    input: z.unknown(),
  }),
  z.looseObject({ ...kind("unit"), head: z.string(), loop: z.string() }),
  z.looseObject({ ...kind("told") }),
  z.looseObject({ ...kind("note"), page: z.string(), content: z.string(), answer: z.string() }),
  z.looseObject({
    ...kind("wrote"),
    ...{ request: z.string(), id: z.int().nullable(), url: z.string().nullable() },
  }),
  z.looseObject({ ...kind("posted"), comments: z.array(Comment) }),
  z.looseObject({ ...kind("ended"), outcome: z.string(), reason: z.string() }),
  z.looseObject({ ...kind("check_opened"), head: z.string(), trigger: z.string() }),
  z.looseObject({ ...kind("began"), head: z.string() }),
  z.looseObject({ ...kind("result"), head: z.string(), base: z.string(), result: z.unknown() }),
]);

const Entry = z.discriminatedUnion("kind", [LoopEntry, MasksEntry, JobEntry]);

/** What JavaScript can say as a date. */
const LATEST = 8.64e15;
const Stamp = z.looseObject({ at: z.int().min(0).max(LATEST), claim: z.int() });

/** @throws ZodError */
function parseEntry(value: unknown): { at: number; claim: number; entry: TrajectoryEntry } {
  const { at, claim, ...entry } = Stamp.parse(value);
  return { at, claim, entry: Entry.parse(entry) as unknown as TrajectoryEntry };
}
