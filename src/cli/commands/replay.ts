import { isDeepStrictEqual } from "node:util";
import { Command } from "@commander-js/extra-typings";
import {
  isLoopEntry,
  type LoopEntry,
  type MasksEntry,
  type NoteEntry,
  type TestedEntry,
  type TrajectoryEntry,
} from "../../agent/trajectory.ts";
import { readLocalEnv } from "../../config/env.ts";
import { presentIndex } from "../../config/folders.ts";
import { programPath } from "../../config/process-env.ts";
import { AppError } from "../../errors.ts";
import { recordedMasks, recordedTurns } from "../../jobs/attempts.ts";
import { playedJournal } from "../../journal/journal.ts";
import { eachRole, type Models } from "../../llm/model.ts";
import { createCommandSandbox, type FindCommandSandbox } from "../../process/command-sandbox.ts";
import {
  type ProcessOptions,
  runAnswerProcess,
  runFixProcess,
  runProveProcess,
  runReviewProcess,
} from "../../process/run-review-process.ts";
import { plural } from "../../reporters/outcome.ts";
import { plainLine, type Style, wrap } from "../../reporters/terminal-style.ts";
import { AnswerInput, AnswerResult } from "../../review/answer/answer-input.ts";
import { FixInput, FixResult } from "../../review/fix/fix-input.ts";
import { ProveInput, ProveResult } from "../../review/prove/prove-input.ts";
import { ReviewInput } from "../../review/review-input.ts";
import { ReviewResult } from "../../review/review-result.ts";
import { escapeUnseen } from "../../text/escape-invisible.ts";
import {
  type CommandContext,
  type CommandIo,
  examples,
  exitCodes,
  optionText,
  paragraphs,
} from "../command.ts";
import { openRange } from "../open-range.ts";
import { programVersion, styleOf, write } from "../output.ts";
import { createProgress } from "../progress.ts";
import { type RunFile, type RunHeader, readRunFile } from "../run-record.ts";

export const replay = (io: CommandContext) =>
  new Command("replay")
    .description(
      paragraphs(
        "Repeats the recorded review, proofs, answer or fix on the same commits. The recorded turns replace the model; the tools run again. " +
          "Says whether today's findings are the same as the recorded ones, and names those that differ. No model is used, nothing is fetched, and " +
          "nothing is written. The commands of a fix run again, in a sandbox; the tests of proofs do not, because their runs are on record.",
        "The repository must contain the commits. For a pull request, run git fetch origin pull/NUMBER/head.",
        "Exit code: 0 same as recorded, 1 something differs, 2 usage or failure.",
      ),
    )
    .argument("<FILE>", "a record written by hunkwise runs --export")
    .option(
      "--repo <DIR>",
      "the repository; default: the folder that was reviewed, otherwise the current folder",
      optionText,
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      examples(
        [
          "repeat a local review",
          "hunkwise runs 20261122-1953 --export run.jsonl && hunkwise replay run.jsonl",
        ],
        ["repeat a server's review, on a clone", "hunkwise replay run.jsonl --repo ~/src/shop"],
      ),
    )
    .action(async (file, { repo, json = false }) => {
      const replayed = await playRecord(file, repo, io);
      await write(io.stdout, await rendered(replayed, json, io));
      io.exitCode = replayed.works.every(({ same }) => same) ? exitCodes.clean : exitCodes.found;
    });

async function rendered(replayed: Replay, isJson: boolean, { stdout }: CommandIo): Promise<string> {
  const { redactStrings, redactText } = await import("../../secrets/redact.ts");
  if (isJson)
    return `${escapeUnseen(JSON.stringify(await redactStrings(replayed, new Set(["began_at"])), null, 2))}\n`;
  return redactText(renderReplay(replayed, styleOf(stdout)));
}

/** The result of a replay for people at a terminal. */
function renderReplay({ run, version, works }: Replay, style: Style): string {
  const subject = run.pull === null ? (run.range ?? "") : `${run.repository}#${run.pull}`;
  const lines = (text: string) => wrap(plainLine(text), style.width);
  const versions =
    run.version === version ? [] : lines(`Recorded by version ${run.version}, replayed by ${version}.`);
  return `${[
    style.bold(plainLine(`Run ${run.id} · ${subject}`)),
    ...versions.map(style.dim),
    ...works.flatMap((work) => workLines(work).flatMap(lines)),
  ].join("\n")}\n`;
}

const ends = { review: "findings", answer: "answer", fix: "repair", prove: "proofs" };

function workLines({ what, played, recorded, today, same, missing, added, changed, cut_off }: WorkReplay) {
  const counts = [plural(played.loops, "loop"), plural(played.turns, "turn"), plural(played.calls, "call")];
  const end = ends[what];
  const shown = (count: number) => (what === "review" ? `: ${count}` : "");
  const named = (label: string, ids: readonly string[]) =>
    ids.length === 0 ? [] : [`- ${label}: ${ids.join(", ")}`];
  return [
    `Replayed the ${what === "prove" ? "proofs" : what}: ${counts.join(", ")}; no model was used.`,
    recorded === null
      ? `The record contains no result. Today's ${end}${shown(today)}.`
      : missing.length + added.length + changed.length === 0
        ? `The same ${end} as recorded${shown(today)}${same ? "." : ", but something is missing:"}`
        : `Not the same ${end} as recorded${what === "review" ? `: ${recorded} recorded, ${today} today` : ""}:`,
    ...named("missing today", missing),
    ...named("new today", added),
    ...named("changed", changed),
    ...named("turns missing from the record", cut_off),
  ];
}

/** The result of a replay. Snake case: `--json` prints it. */
interface Replay {
  run: RunHeader;
  /** The version of Hunkwise that replays. */
  version: string;
  /** Each piece of work on record: a fix is followed by a review. */
  works: WorkReplay[];
}

/** Today's result of one piece of work. Lists contain ids of findings; for a fix also paths of edited files, for an answer "answer". */
interface WorkReplay {
  what: WorkEnd["what"];
  /** Number of agent loops, of their turns, and of the tool calls in these. */
  played: { loops: number; turns: number; calls: number };
  /** How many results are on record; null if the recorded run ended without a result. */
  recorded: number | null;
  today: number;
  /** Whether today's results are the recorded ones and no recorded turn was missing. */
  same: boolean;
  missing: string[];
  added: string[];
  changed: string[];
  /** Turns that today's loops needed but the record lacks: "turn 2 of review". */
  cut_off: string[];
}

/**
 * Repeats the recorded work of a file, without a model.
 *
 * @param repo a folder with the commits; undefined for the folder that the record names
 * @throws AppError `usage` if the file is not a record, `revision_unknown` if the commits are missing
 */
async function playRecord(file: string, repo: string | undefined, io: CommandIo): Promise<Replay> {
  const record = await readRunFile(file);
  const works: WorkReplay[] = [];
  for (const recorded of worksIn(record)) works.push(await play(record, recorded, repo, io));
  return { run: record.header, version: programVersion(), works };
}

async function play(
  record: RunFile,
  recorded: RecordedWork,
  named: string | undefined,
  io: CommandIo,
): Promise<WorkReplay> {
  const { header } = record;
  const { head, base, headTree } = recorded.shas;
  if (headTree !== undefined) {
    throw new AppError("usage", `run ${header.id} reviewed uncommitted changes, which are not kept`, {
      remedy: "Only a review of commits can be repeated. To see what the run did, use hunkwise runs.",
    });
  }
  const repo = named ?? (header.source === "local" ? header.repository : ".");
  using progress = createProgress(io.stderr);
  await using range = await openRecorded(header, { repo, base, head, signal: io.signal });
  const turns: LoopEntry[] = [];
  const today = await playWork(recorded, {
    ...{ place: range.place, signal: io.signal, started: io.startProcess?.() },
    ...{ onProgress: progress.handle, journal: playedJournal(notesIn(record)) },
    trajectory: { append: async (entry) => void (isLoopEntry(entry) && turns.push(entry)) },
    ...{ findSandbox: findSandbox(io), index: presentIndex(repo, readLocalEnv()) },
  });
  return { what: today.what, played: countOf(turns), ...compared(recorded, { turns, end: today }) };
}

const findSandbox = ({ stderr }: CommandIo) =>
  createCommandSandbox({
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
      remedy: `Name a clone that contains the commits with --repo, or run ${fetch} there.`,
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

type Compared = Omit<WorkReplay, "what" | "played">;

function compared(recorded: RecordedWork, today: { turns: readonly LoopEntry[]; end: WorkEnd }): Compared {
  const now = partsOf(today.end);
  const cut_off = recorded.end === null ? [] : cutOff(recorded.turns, today.turns);
  if (recorded.end === null)
    return { recorded: null, today: now.length, same: true, missing: [], added: [], changed: [], cut_off };
  const then = partsOf(recorded.end);
  const left = [...now];
  const missing: string[] = [];
  const changed: string[] = [];
  for (const [id, value] of then) {
    const index = left.findIndex(([one]) => one === id);
    const [part] = index < 0 ? [] : left.splice(index, 1);
    if (!part) missing.push(id);
    else if (!isDeepStrictEqual(value, part[1])) changed.push(id);
  }
  const added = left.map(([id]) => id);
  const same = [missing, added, changed, cut_off].every((list) => list.length === 0);
  return { recorded: then.length, today: now.length, same, missing, added, changed, cut_off };
}

/** Results by id, without the command runs of a fix, which depend on the machine. */
function partsOf(end: WorkEnd): (readonly [id: string, value: unknown])[] {
  switch (end.what) {
    case "review":
      return end.result.findings.map(({ finding: { proof: _, ...finding }, placement }) => [
        finding.id,
        { finding, placement },
      ]);
    case "prove":
      return end.result.map(({ id, proof }) => [id, proof] as const);
    case "answer":
      return [["answer", end.result.text] as const];
    case "fix":
      return [
        ...end.result.repairs.map((one) => [one.id, one] as const),
        ...end.result.edits.map((one) => [one.path, one] as const),
      ];
  }
}

/** An agent run that needs an unrecorded turn ends as if the model had failed. */
function cutOff(recorded: readonly LoopEntry[], today: readonly LoopEntry[]): string[] {
  const failed = (entries: readonly LoopEntry[]) =>
    entries.flatMap((one) => (one.kind === "stopped" && one.reason === "model_error" ? [one.loop] : []));
  const before = new Set(failed(recorded));
  return failed(today).flatMap((loop) => {
    if (before.has(loop)) return [];
    const turns = today.filter((one) => one.kind === "turn" && one.loop === loop).length;
    return [`turn ${turns + 1} of ${loop}`];
  });
}

/** The end of a review, its proofs, an answer or a fix. */
type WorkEnd =
  | { what: "prove"; result: ProveResult["proofs"] }
  | { what: "review"; result: ReviewResult }
  | { what: "answer"; result: AnswerResult }
  | { what: "fix"; result: FixResult };

type WorkInput =
  | { what: "prove"; input: ProveInput }
  | { what: "review"; input: ReviewInput }
  | { what: "answer"; input: AnswerInput }
  | { what: "fix"; input: FixInput };

/** The record of one piece of work. */
interface RecordedWork {
  shas: { head: string; base: string; mergeBase: string; headTree?: string | undefined };
  work: WorkInput;
  turns: readonly LoopEntry[];
  masks: readonly MasksEntry[];
  /** Runs of tests. */
  tested: readonly TestedEntry[];
  /** Null if there is no result. */
  end: WorkEnd | null;
}

/**
 * The recorded work: the last of each kind, because a push restarts it. A fix is followed by a review.
 *
 * @throws AppError `usage` if there is none, or if its version recorded it in another format.
 */
function worksIn({ header, entries: recorded }: RunFile): RecordedWork[] {
  const entries = recorded.map(({ entry }) => entry);
  const starts = new Map(
    entries.flatMap((entry) => (entry.kind === "run" ? [[entry.what ?? "review", entry] as const] : [])),
  );
  if (starts.size === 0) {
    throw new AppError("usage", `run ${header.id} contains no review, answer or fix`, {
      remedy: "To see what the run did, use hunkwise runs.",
    });
  }
  return [...starts].map(([what, { shas, input }]) => {
    const work = inputOf(what, input);
    if (!work) throw otherVersion(header);
    const turns = recordedTurns(entries, shas.head).filter(({ loop }) => workOf(loop) === what);
    const [masks, tested] = [recordedMasks(entries), entries.filter((one) => one.kind === "tested")];
    return { ...{ shas, work, turns, masks, tested }, end: endIn(entries, what, shas) };
  });
}

/** Which work a loop is part of, by its name: "fix:check:F1". */
function workOf(loop: string): WorkEnd["what"] {
  const [name] = loop.split(":", 1);
  if (name === "prove" || name === "intent") return "prove";
  return name === "fix" || name === "answer" ? name : "review";
}

function inputOf(what: WorkInput["what"], input: unknown): WorkInput | undefined {
  switch (what) {
    case "review": {
      const { data } = ReviewInput.safeParse(input);
      return data && { what, input: data };
    }
    case "prove": {
      const { data } = ProveInput.safeParse(input);
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
  new AppError("usage", `run ${id} was recorded by version ${version}, in another format`, {
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
    case "prove": {
      const result = proofsIn(last.result);
      return result && { what, result };
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

/** The proofs of `/prove`, or of a review, whose findings carry them. */
function proofsIn(result: unknown): ProveResult["proofs"] | null {
  const own = ProveResult.safeParse(result).data;
  if (own) return own.proofs;
  const review = ReviewResult.safeParse(result).data;
  const findings = review?.findings ?? [];
  return review ? findings.flatMap(({ finding: { id, proof } }) => (proof ? [{ id, proof }] : [])) : null;
}

interface PlayOptions
  extends Omit<ProcessOptions, "models" | "replay" | "masks" | "isPlayback" | "graphIndex"> {
  /** The sandbox in which a fix repeats its commands. */
  findSandbox: FindCommandSandbox;
  /** The index of the repository's graph, for a review that had one; null if there is none. */
  index: string | null;
}

/** Repeats recorded work with the recorded turns. */
async function playWork(
  { work, turns, masks, tested }: RecordedWork,
  { findSandbox, index, ...options }: PlayOptions,
): Promise<WorkEnd> {
  const played = { ...options, replay: turns, masks, isPlayback: true };
  const recorded = tested.map(({ key, end }) => ({ key, end }));
  switch (work.what) {
    case "review": {
      const graphIndex = work.input.graph ? index : null;
      const { input } = work;
      return { ...work, result: await runReviewProcess({ ...played, input, graphIndex, models: null }) };
    }
    case "prove": {
      const models = silent(work.input.models);
      const { proofs } = await runProveProcess({
        ...{ ...played, input: work.input, models },
        ...{ tested: recorded, testPlace: { sandbox: null, environment: null } },
      });
      return { ...work, result: proofs };
    }
    case "answer": {
      const models = silent(work.input.models);
      return { ...work, result: await runAnswerProcess({ ...played, input: work.input, models }) };
    }
    case "fix": {
      const models = silent(work.input.models);
      const sandbox = await findSandbox(work.input.config, options.signal);
      const tests = { tested: recorded, testPlace: { sandbox: null, environment: null } };
      const { input } = work;
      return { ...work, result: await runFixProcess({ ...played, ...tests, input, models, sandbox }) };
    }
  }
}

/** Models whose answers are recorded: each request is refused. */
const silent = (facts: FixInput["models"]): Models =>
  eachRole(facts, (one) => ({
    ...one,
    respond: () => Promise.reject(new AppError("model_failed", "no model is used in a replay")),
  }));
