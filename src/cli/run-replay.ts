import { isLoopEntry, type LoopEntry, type NoteEntry } from "../agent/trajectory.ts";
import { programPath, readLocalEnv } from "../config/env.ts";
import { AppError } from "../errors.ts";
import { playedJournal } from "../journal/journal.ts";
import { createFixSandbox } from "../process/fix-sandbox.ts";
import type { StartedReviewProcess } from "../process/start-review-process.ts";
import { plainLine } from "../reporters/terminal-style.ts";
import { redactStrings, redactText } from "../secrets/redact.ts";
import { escapeUnseen } from "../text/escape-unseen.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { presentIndex } from "./local-index.ts";
import { openRange } from "./open-range.ts";
import { wantsColour, widthsOf, write } from "./output.ts";
import { createProgress } from "./progress.ts";
import { differencesOf, type Replay, type WorkReplay } from "./replay-differences.ts";
import { renderReplay } from "./replay-report.ts";
import { playWork, type RecordedWork, worksIn } from "./replay-work.ts";
import { type RunFile, type RunHeader, readRunFile } from "./run-file.ts";
import { plainKeys } from "./run-runs.ts";
import { programVersion } from "./version.ts";

export interface ReplayValues {
  repo: string | undefined;
  format: "pretty" | "json";
}

/**
 * Plays recorded reviews, answers and fixes back. Resolves to the exit code.
 *
 * @param start starts what does it; without it that is a process for each
 */
export async function runReplay(
  file: string,
  values: ReplayValues,
  io: CommandIo,
  start?: () => StartedReviewProcess,
): Promise<number> {
  const record = await readRunFile(file);
  const works: WorkReplay[] = [];
  for (const recorded of worksIn(record)) works.push(await play({ record, recorded, values, io, start }));
  const replay = { run: record.header, version: programVersion(), works };
  await write(io.stdout, await rendered(replay, values, io));
  return works.some(({ differences }) => differences.length > 0) ? exitCodes.found : exitCodes.clean;
}

async function rendered(replay: Replay, { format }: ReplayValues, { stdout }: CommandIo): Promise<string> {
  if (format === "json")
    return `${escapeUnseen(JSON.stringify(await redactStrings(replay, plainKeys), null, 2))}\n`;
  const { width } = widthsOf(stdout);
  return redactText(renderReplay(replay, { colour: wantsColour(stdout), width }));
}

interface Playing {
  record: RunFile;
  recorded: RecordedWork;
  values: ReplayValues;
  io: CommandIo;
  start: (() => StartedReviewProcess) | undefined;
}

async function play({ record, recorded, values, io, start }: Playing): Promise<WorkReplay> {
  const { header } = record;
  const { head, base } = recorded.shas;
  const repo = values.repo ?? (header.source === "local" ? header.repository : ".");
  await using range = await openRecorded(header, { repo, base, head, signal: io.signal });
  const turns: LoopEntry[] = [];
  const progress = createProgress(io.stderr);
  try {
    const today = await playWork(recorded, {
      ...{ place: range.place, signal: io.signal, started: start?.(), onProgress: progress.handle },
      journal: playedJournal(notesIn(record)),
      trajectory: { append: async (entry) => void (isLoopEntry(entry) && turns.push(entry)) },
      ...{ findSandbox: findSandbox(io), index: presentIndex(repo, readLocalEnv()) },
    });
    return {
      ...{ what: today.what, played: countOf(turns) },
      ...{ recorded: recorded.end?.result ?? null, today: today.result },
      differences: differencesOf(recorded, { turns, end: today }),
    };
  } finally {
    progress.end();
  }
}

const findSandbox = ({ stderr }: CommandIo) =>
  createFixSandbox({
    ...{ searchPath: programPath(), ...readLocalEnv().sandbox },
    warn: (why, remedy) =>
      void write(stderr, plainLine(`warning: no command can be run: ${why}. ${remedy}`).concat("\n")),
  });

async function openRecorded({ pull }: RunHeader, options: Parameters<typeof openRange>[0]) {
  try {
    return await openRange(options);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "revision_unknown") throw error;
    const fetch = pull === null ? "git fetch" : `git fetch origin pull/${pull}/head`;
    throw new AppError("revision_unknown", error.message, {
      remedy: `Name a clone that holds the commits with --repo, or run ${fetch} there.`,
      cause: error,
    });
  }
}

const notesIn = ({ entries }: RunFile): NoteEntry[] =>
  entries.flatMap(({ entry }) => (entry.kind === "note" ? [entry] : []));

function countOf(entries: readonly LoopEntry[]): WorkReplay["played"] {
  const turns = entries.filter((entry) => entry.kind === "turn");
  return {
    loops: new Set(entries.map(({ loop }) => loop)).size,
    turns: turns.length,
    calls: turns.reduce((sum, { model }) => sum + model.toolCalls.length, 0),
  };
}
