import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { AppError, errorLine } from "../core/errors.ts";
import { count, thousands } from "../core/text/count.ts";
import { once } from "../repo/code/source.ts";
import type { Change, Workspace } from "../repo/git/workspace.ts";
import { MOST_BYTES, parseResults } from "../tasks/rules/tool-results/parse-results.ts";
import { fairShare, type ToolResult } from "../tasks/shapes/tool-result.ts";
import { beginningOf } from "./output.ts";

/** Most results of one review, on whatever lines; they are part of its record. */
const MOST_RESULTS = 20_000;

export interface ResultsOptions {
  /** Absolute paths of the work tree in which the tools ran. */
  roots: readonly string[];
  /** The folder that the files must be in, without a link that leads out: a step of a job may have written them. Null: anywhere. */
  within: string | null;
  /** If given, results that are on no changed line are left out. */
  workspace?: Pick<Workspace, "changes" | "patch">;
  /** Takes one line for the user. */
  warn(text: string): void;
}

/** The results of other tools in these files, worst first; says what is left out. Rejects with `usage`; no message quotes a file. */
export async function readResults(files: readonly string[], options: ResultsOptions): Promise<ToolResult[]> {
  const { roots, workspace } = options;
  const added = workspace && (await addedLines(workspace));
  const changed = added && new Set(added.keys());
  const all: ToolResult[] = [];
  for (const [file, name] of files.entries()) {
    const left: string[] = [];
    const onLeft = (why: string) => left.push(why);
    for (const one of parseResults(await bytesOf(name, options), { name, file, roots, changed, onLeft })) {
      const lines = added && (await added.get(one.path)?.());
      if (lines?.every(([first, last]) => one.line > last || one.endLine < first))
        onLeft("is on no changed line");
      else all.push(one);
    }
    if (left.length > 0)
      options.warn(
        `${count(left.length, "result")} of ${name} ${left.length === 1 ? "was" : "were"} left out: ${counted(left)}`,
      );
  }
  const left = all.length - MOST_RESULTS;
  if (left > 0)
    options.warn(
      `${thousands(left)} results of other tools were not looked at; ${thousands(MOST_RESULTS)} were, the worst of each file`,
    );
  return fairShare(all, MOST_RESULTS, (one) => one);
}

/** "names no changed file (2), has no line (1)" */
const counted = (reasons: readonly string[]) =>
  [...Map.groupBy(reasons, (one) => one)]
    .map(([why, { length }]) => `${why} (${thousands(length)})`)
    .join(", ");

type Lines = readonly [first: number, last: number];

/** Changed files, each with what reads the lines that the change adds to it, once; all if its patch cannot be read. */
async function addedLines(workspace: Pick<Workspace, "changes" | "patch">) {
  const read = async (change: Change): Promise<Lines[]> => {
    const patch = await workspace.patch(change, 0).catch(() => "@@ -0,0 +1,999999999 @@");
    const hunks = patch.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm);
    return [...hunks].map(([, first, count = 1]) => [Number(first), Number(first) + Number(count) - 1]);
  };
  return new Map((await workspace.changes()).map((change) => [change.path, once(() => read(change))]));
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
