import type { LoopEntry, MasksEntry, TrajectoryEntry } from "../agent/trajectory.ts";
import { AppError } from "../errors.ts";
import { recordedMasks, recordedTurns } from "../jobs/attempts.ts";
import { eachRole, type Models } from "../llm/model.ts";
import type { FindFixSandbox } from "../process/fix-sandbox.ts";
import { runAnswerProcess } from "../process/run-answer-process.ts";
import { runFixProcess } from "../process/run-fix-process.ts";
import type { ProcessOptions } from "../process/run-in-process.ts";
import { runReviewProcess } from "../process/run-review-process.ts";
import { AnswerInput, AnswerResult } from "../review/answer/answer-input.ts";
import { FixInput, FixResult } from "../review/fix/fix-input.ts";
import { ReviewInput } from "../review/review-input.ts";
import { ReviewResult } from "../review/review-result.ts";
import type { RunFile, RunHeader } from "./run-file.ts";

/** What a review, an answer or a fix came to. */
export type WorkEnd =
  | { what: "review"; result: ReviewResult }
  | { what: "answer"; result: AnswerResult }
  | { what: "fix"; result: FixResult };

type WorkInput =
  | { what: "review"; input: ReviewInput }
  | { what: "answer"; input: AnswerInput }
  | { what: "fix"; input: FixInput };

/** What a record holds of one piece of work. */
export interface RecordedWork {
  shas: { head: string; base: string; mergeBase: string };
  work: WorkInput;
  turns: readonly LoopEntry[];
  masks: readonly MasksEntry[];
  /** Null where it came to nothing. */
  end: WorkEnd | null;
}

/**
 * The work on record: of each kind the last, where a push began it anew. A fix is followed by a review.
 * @throws AppError `usage` where there is none, or of a version that began it otherwise.
 */
export function worksIn({ header, entries: recorded }: RunFile): RecordedWork[] {
  const entries = recorded.map(({ entry }) => entry);
  const starts = new Map(
    entries.flatMap((entry) => (entry.kind === "run" ? [[entry.what ?? "review", entry] as const] : [])),
  );
  if (starts.size === 0) {
    throw new AppError("usage", `run ${header.id} holds no review, answer or fix`, {
      remedy: "Of other tasks hunkwise runs show tells what was done.",
    });
  }
  return [...starts].map(([what, { shas, input }]) => {
    const work = inputOf(what, input);
    if (!work) throw otherVersion(header);
    const turns = recordedTurns(entries, shas.head).filter(({ loop }) => workOf(loop) === what);
    return { shas, work, turns, masks: recordedMasks(entries), end: endIn(entries, what, shas) };
  });
}

/** Which work a loop is part of, by its name: "fix:check:F1". */
function workOf(loop: string): WorkEnd["what"] {
  const [name] = loop.split(":", 1);
  return name === "fix" || name === "answer" ? name : "review";
}

function inputOf(what: WorkInput["what"], input: unknown): WorkInput | undefined {
  switch (what) {
    case "review": {
      const { data } = ReviewInput.safeParse(input);
      return data && { what, input: data };
    }
    case "answer": {
      const { data } = AnswerInput.safeParse(input);
      return data && { what, input: data };
    }
    case "fix": {
      const { data } = FixInput.safeParse(input);
      return data && { what, input: data };
    }
  }
}

const otherVersion = ({ id, version }: RunHeader) =>
  new AppError("usage", `run ${id} is of version ${version}, whose work began otherwise`, {
    remedy: "Replay it with that version.",
  });

function endIn(
  entries: readonly TrajectoryEntry[],
  what: WorkEnd["what"],
  { head, base }: RecordedWork["shas"],
): WorkEnd | null {
  const last = entries.findLast((one) => one.kind === "result" && one.head === head && one.base === base);
  if (last?.kind !== "result") return null;
  switch (what) {
    case "review": {
      const { data } = ReviewResult.safeParse(last.result);
      return data ? { what, result: data } : null;
    }
    case "answer": {
      const { data } = AnswerResult.safeParse(last.result);
      return data ? { what, result: data } : null;
    }
    case "fix": {
      const { data } = FixResult.safeParse(last.result);
      return data ? { what, result: data } : null;
    }
  }
}

export interface PlayOptions
  extends Omit<ProcessOptions, "models" | "replay" | "masks" | "isPlayback" | "graphIndex"> {
  /** In which a fix runs its commands once more. */
  findSandbox: FindFixSandbox;
  /** The index of the repository's graph, for a review that had one; null where there is none. */
  index: string | null;
}

/** Does the work on record once more, by the turns on record. */
export async function playWork(
  { work, turns, masks }: RecordedWork,
  { findSandbox, index, ...options }: PlayOptions,
): Promise<WorkEnd> {
  const played = { ...options, replay: turns, masks, isPlayback: true };
  switch (work.what) {
    case "review": {
      const graphIndex = work.input.graph ? index : null;
      const { input } = work;
      return { ...work, result: await runReviewProcess({ ...played, input, graphIndex, models: null }) };
    }
    case "answer": {
      const models = silent(work.input.models);
      return { ...work, result: await runAnswerProcess({ ...played, input: work.input, models }) };
    }
    case "fix": {
      const models = silent(work.input.models);
      const sandbox = await findSandbox(work.input.config, options.signal);
      return { ...work, result: await runFixProcess({ ...played, input: work.input, models, sandbox }) };
    }
  }
}

/** Models whose answers are on record: whoever asks one all the same is refused. */
const silent = (facts: FixInput["models"]): Models =>
  eachRole(facts, (one) => ({
    ...one,
    respond: () => Promise.reject(new AppError("model_failed", "no model is asked in a replay")),
  }));
