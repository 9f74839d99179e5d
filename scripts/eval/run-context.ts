import { errorLine } from "../../src/core/errors.ts";
import { plainLine } from "../../src/report/terminal-style.ts";
import type { CallersFile, EvalCase, NeededFile, NeededLines } from "./case-format.ts";
import { firstMessagesOf } from "./first-messages-of.ts";
import {
  type CallerCount,
  compareLines,
  judgeCallers,
  neededLinesOf,
  type Share,
  sharesByKind,
} from "./needed-lines.ts";
import { readShownLines } from "./shown-lines.ts";

/** The content of one case's first messages. */
export interface ContextRow extends CallerCount {
  case: string;
  needed: number;
  shown: number;
  missing: NeededLines[];
  /** Of the entries with a kind. */
  kinds: Record<string, Share>;
  /** Whether the case names lines beyond those of its issues. */
  namesContext: boolean;
  units: number;
  characters: number;
  diffCharacters: number;
  contextCharacters: number;
  milliseconds: number;
}

export interface ContextRun {
  cases: readonly EvalCase[];
  repos: string | null;
  graphs: string | null;
  needed: NeededFile;
  callers?: CallersFile;
  say(line: string): void;
  signal: AbortSignal;
  messages?: typeof firstMessagesOf;
}

export interface ContextResult {
  rows: ContextRow[];
  failed: { case: string; error: string }[];
}

/** Runs the cases one at a time, so that their durations are comparable. */
export async function runContext(run: ContextRun): Promise<ContextResult> {
  const result: ContextResult = { rows: [], failed: [] };
  for (const one of run.cases) {
    run.signal.throwIfAborted();
    try {
      result.rows.push(await rowOf(one, run));
    } catch (error) {
      run.signal.throwIfAborted();
      result.failed.push({ case: one.name, error: errorLine(error) });
      run.say(plainLine(`${one.name} failed: ${errorLine(error)}`));
    }
  }
  return result;
}

async function rowOf(one: EvalCase, run: ContextRun): Promise<ContextRow> {
  const { messages = firstMessagesOf } = run;
  const { units, milliseconds } = await messages(one, run);
  const all = units.map(readShownLines);
  const more = run.needed[one.name] ?? [];
  const sum = (pick: (one: (typeof all)[number]) => number) =>
    all.reduce((total, shown) => total + pick(shown), 0);
  const has = (file: string, line: number, at: NeededLines["at"]) =>
    all.some((shown) => shown.has(file, line, at));
  return {
    case: one.name,
    ...compareLines(neededLinesOf(one, more), { has }),
    kinds: sharesByKind(more, { has }),
    ...judgeCallers(
      all.flatMap(({ callers }) => callers),
      run.callers?.[one.name] ?? [],
    ),
    namesContext: more.length > 0 || one.known.some(({ context }) => context.length > 0),
    units: units.length,
    characters: sum((shown) => shown.characters),
    diffCharacters: sum((shown) => shown.diffCharacters),
    contextCharacters: sum((shown) => shown.contextCharacters),
    milliseconds,
  };
}
