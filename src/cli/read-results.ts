import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { AppError, errorLine } from "../errors.ts";
import { thousands } from "../reporters/outcome.ts";
import { MOST_BYTES, parseResults } from "../review/tool-results/parse-results.ts";
import { fairShare, type ToolResult } from "../review/tool-results/tool-result.ts";
import { beginningOf } from "./read-beginning.ts";

/** Most results of one review, on whatever lines; they are part of its record. */
const MOST_RESULTS = 20_000;

export interface ResultsOptions {
  /** Absolute paths of the work tree in which the tools ran. */
  roots: readonly string[];
  /** The folder that the files must be in, without a link that leads out: a step of a job may have written them. Null: anywhere. */
  within: string | null;
  /** Takes one line for the user. */
  warn(text: string): void;
}

/** The results of other tools in these files, worst first. Rejects with `usage`; no message quotes a file. */
export async function readResults(files: readonly string[], options: ResultsOptions): Promise<ToolResult[]> {
  const all: ToolResult[] = [];
  for (const [file, name] of files.entries())
    all.push(...parseResults(await bytesOf(name, options), { name, file, roots: options.roots }));
  const left = all.length - MOST_RESULTS;
  if (left > 0)
    options.warn(
      `${thousands(left)} results of other tools were not looked at; ${thousands(MOST_RESULTS)} were, the worst of each file`,
    );
  return fairShare(all, MOST_RESULTS, (one) => one);
}

async function bytesOf(name: string, { within }: ResultsOptions): Promise<Buffer> {
  try {
    await using file = await (within === null ? open(name) : openWithin(within, name));
    return await beginningOf(file, MOST_BYTES + 1);
  } catch (error) {
    throw new AppError("usage", `The results in '${name}' cannot be read: ${errorLine(error)}`, {
      remedy: "Name a file that exists and that you can read.",
      cause: error,
    });
  }
}

/** An ordinary file in a folder. Never waits for a pipe. */
async function openWithin(folder: string, name: string): Promise<FileHandle> {
  const path = resolve(folder, name);
  const place = join(await realpath(dirname(path)), basename(path));
  if (!place.startsWith(`${await realpath(folder)}${sep}`)) throw new Error(`it is not in ${folder}`);
  const file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new Error("it is not an ordinary file");
}
