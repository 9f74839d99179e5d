import { z } from "zod";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import { redactStrings, redactText } from "../secrets/redact.ts";
import { escapeUnseen } from "../text/escape-unseen.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { didYouMean } from "./nearest.ts";
import { requireWritable, wantsColour, widthsOf, write, writePrivate } from "./output.ts";
import { entryLine, headerLine } from "./run-file.ts";
import { openRunSources, type RunFilter, type RunSources } from "./run-sources.ts";
import { renderStory } from "./run-story.ts";
import { renderRuns } from "./run-table.ts";

export interface RunsValues {
  repository: string | undefined;
  pull: string | undefined;
  limit: string;
  format: "pretty" | "json";
  output: string | undefined;
}

const actions = ["list", "show", "export"];

/** Shows what runs left on record. Resolves to the exit code. */
export async function runRuns(
  action: string,
  id: string | undefined,
  values: RunsValues,
  io: CommandIo,
): Promise<number> {
  if (!actions.includes(action)) {
    throw new AppError("usage", `unknown action '${action}'`, {
      remedy: didYouMean(action, actions) || `It is one of ${actions.join(", ")}.`,
    });
  }
  if (action === "list" && id !== undefined) throw new AppError("usage", `unexpected argument '${id}'`);
  await using sources = await openRunSources();
  if (action === "list") return await list(sources, values, io);
  if (id === undefined) {
    throw new AppError("usage", "ID is missing", { remedy: "See hunkwise runs for those on record." });
  }
  return await (action === "show" ? show(sources, id, values, io) : exportRun(sources, id, values, io));
}

async function list(sources: RunSources, values: RunsValues, { stdout }: CommandIo): Promise<number> {
  const rows = await redactStrings(await sources.list(filterOf(values)), plainKeys);
  const text =
    values.format === "json"
      ? `${escapeUnseen(JSON.stringify(rows, null, 2))}\n`
      : // A pipe has no right edge at which a table would have to be cut.
        renderRuns(rows, { ...looks(stdout), width: stdout.columns || Number.POSITIVE_INFINITY });
  await write(stdout, text);
  return exitCodes.clean;
}

async function show(
  sources: RunSources,
  id: string,
  { format }: RunsValues,
  { stdout }: CommandIo,
): Promise<number> {
  const { row, header, entries } = await sources.find(id);
  const shown = async () => {
    if (format === "pretty") return redactText(renderStory({ row, header, entries }, looks(stdout)));
    const all = entries.map(({ at, entry }) => ({ ...withoutKey(entry), at: new Date(at).toISOString() }));
    return `${escapeUnseen(JSON.stringify(await redactStrings({ run: row, entries: all }, plainKeys), null, 2))}\n`;
  };
  await write(stdout, await shown());
  return exitCodes.clean;
}

/** By the key of a pull request whoever has it can tell whether code that he guesses was read. A replay needs it, nobody else does. */
function withoutKey(entry: TrajectoryEntry): TrajectoryEntry {
  if (entry.kind !== "run") return entry;
  // Looked for by its place alone: what another version began with is no input of this one, and holds a key as well.
  const { data: input } = WithKey.safeParse(entry.input);
  return input ? { ...entry, input: { ...input, history: { ...input.history, key: "" } } } : entry;
}

const WithKey = z.looseObject({ history: z.looseObject({ key: z.unknown() }) });

/** What means something only as it is, of runs and replays. */
export const plainKeys: ReadonlySet<string> = new Set([
  "id",
  "began_at",
  "ended_at",
  "at",
  "kind",
  "head",
  "base",
  "mergeBase",
  "hashes",
]);

/** As it is: with a hole in it, a record could not be played back. */
async function exportRun(
  sources: RunSources,
  id: string,
  { output }: RunsValues,
  io: CommandIo,
): Promise<number> {
  if (output !== undefined) await requireWritable(output);
  const { header, entries } = await sources.find(id);
  const text = [headerLine(header), ...entries.map(entryLine)].join("");
  if (output === undefined) await write(io.stdout, text);
  else {
    await writePrivate(output, text);
    await write(io.stderr, `written to ${output}\n`);
  }
  return exitCodes.clean;
}

const looks = (stdout: NodeJS.WriteStream) => ({
  colour: wantsColour(stdout),
  width: widthsOf(stdout).width,
});

function filterOf({ repository, pull, limit }: RunsValues): RunFilter {
  return {
    repository,
    pull: pull === undefined ? undefined : wholeNumber("--pull", pull),
    limit: wholeNumber("--limit", limit),
  };
}

function wholeNumber(option: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new AppError("usage", `${option} must be a whole number from 1, not '${text}'`);
}
