import type { LoopEntry, NoteEntry, TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import { recordedTurns } from "../jobs/attempts.ts";
import { playedJournal } from "../journal/journal.ts";
import { runReviewProcess } from "../process/run-review-process.ts";
import type { StartedReviewProcess } from "../process/start-review-process.ts";
import { PIPED_WIDTH } from "../reporters/terminal-style.ts";
import { ReviewInput } from "../review/review-input.ts";
import { ReviewResult } from "../review/review-result.ts";
import { withoutSecrets } from "../secrets/redact.ts";
import { type CommandIo, exitCodes } from "./command.ts";
import { openRange } from "./open-range.ts";
import { wantsColour, write } from "./output.ts";
import { createProgress } from "./progress.ts";
import { differencesOf, type Played, type Replay } from "./replay-differences.ts";
import { renderReplay } from "./replay-report.ts";
import { type RunFile, type RunHeader, readRunFile } from "./run-file.ts";

export interface ReplayValues {
  repo: string | undefined;
  format: "pretty" | "json";
}

/**
 * Plays a recorded review back. Resolves to the exit code.
 *
 * @param started what reviews; without it a process is started
 */
export async function runReplay(
  file: string,
  values: ReplayValues,
  io: CommandIo,
  started?: StartedReviewProcess,
): Promise<number> {
  const record = await readRunFile(file);
  const replay = await play(record, values, io, started);
  const width = io.stdout.columns || PIPED_WIDTH;
  const text =
    values.format === "json"
      ? `${JSON.stringify(replay, null, 2)}\n`
      : renderReplay(replay, { colour: wantsColour(io.stdout), width });
  await write(io.stdout, withoutSecrets(text));
  return replay.differences.length > 0 ? exitCodes.found : exitCodes.clean;
}

/** What a record holds of the review that is to be played back: the last one, where a push began it anew. */
interface Review extends Played {
  shas: { head: string; base: string; mergeBase: string };
  input: ReviewInput;
}

function reviewIn({ header, entries: recorded }: RunFile): Review {
  const entries = recorded.map(({ entry }) => entry);
  const start = entries.findLast((entry) => entry.kind === "run");
  if (start?.kind !== "run") {
    throw new AppError("usage", `run ${header.id} holds no review`, {
      remedy: "Of other tasks hunkwise runs show tells what was done.",
    });
  }
  const input = ReviewInput.safeParse(start.input);
  if (!input.success) {
    throw new AppError(
      "usage",
      `run ${header.id} is of version ${header.version}, whose reviews began otherwise`,
      {
        remedy: "Replay it with that version.",
      },
    );
  }
  const { shas } = start;
  return {
    shas,
    input: input.data,
    turns: recordedTurns(entries, shas.head),
    result: resultOf(entries, shas),
  };
}

function resultOf(entries: readonly TrajectoryEntry[], { head, base }: Review["shas"]): ReviewResult | null {
  const last = entries.findLast((one) => one.kind === "result" && one.head === head && one.base === base);
  return (last?.kind === "result" && ReviewResult.safeParse(last.result).data) || null;
}

async function play(
  record: RunFile,
  { repo }: ReplayValues,
  io: CommandIo,
  started: StartedReviewProcess | undefined,
): Promise<Replay> {
  const { header } = record;
  const review = reviewIn(record);
  const { head, base } = review.shas;
  const folder = repo ?? (header.source === "local" ? header.repository : ".");
  await using range = await openRecorded(header, { repo: folder, base, head, signal: io.signal });
  const turns: LoopEntry[] = [];
  const progress = createProgress(io.stderr);
  try {
    const today = await runReviewProcess({
      ...{ place: range.place, input: review.input, models: null, signal: io.signal, started },
      ...{ replay: review.turns, isPlayback: true, onProgress: progress.handle },
      journal: playedJournal(notesIn(record)),
      trajectory: { append: async (entry) => void (entry.kind !== "unit" && turns.push(entry)) },
    });
    const differences = differencesOf(review, { turns, result: today });
    return { run: header, played: countOf(turns), recorded: review.result, today, differences };
  } finally {
    progress.end();
  }
}

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

function countOf(entries: readonly LoopEntry[]): Replay["played"] {
  const turns = entries.filter((entry) => entry.kind === "turn");
  return {
    loops: new Set(entries.map(({ loop }) => loop)).size,
    turns: turns.length,
    calls: turns.reduce((sum, { model }) => sum + model.toolCalls.length, 0),
  };
}
