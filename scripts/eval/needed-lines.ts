import { readFile } from "node:fs/promises";
import { AppError, errorLine } from "../../src/core/errors.ts";
import {
  CallersFile,
  type EvalCase,
  type JudgedCaller,
  NeededFile,
  type NeededLines,
  parseJson,
} from "./case-format.ts";
import type { ShownCaller, ShownLines } from "./shown-lines.ts";

/** The additional lines in the file of `--needed`; empty without one. Rejects with `usage` or `config_invalid`. */
export async function readNeededFile(path: string | null): Promise<NeededFile> {
  return path === null ? {} : parseJson(NeededFile, await textOf(path), path);
}

/** The judged callers in the file of `--callers`; empty without one. Rejects with `usage` or `config_invalid`. */
export async function readCallersFile(path: string | null): Promise<CallersFile> {
  return path === null ? {} : parseJson(CallersFile, await textOf(path), path);
}

async function textOf(path: string): Promise<string> {
  return await readFile(path, "utf8").catch((error: unknown) => {
    throw new AppError("usage", `${path} cannot be read: ${errorLine(error)}`, { cause: error });
  });
}

/** Counts of the callers in messages: all, those that use nothing that changed, and those that no person has judged. */
export interface CallerCount {
  callers: number;
  falseCallers: number;
  unjudged: ShownCaller[];
}

export function judgeCallers(shown: readonly ShownCaller[], judged: readonly JudgedCaller[]): CallerCount {
  const isAt = (one: ShownCaller, { file, line, name }: JudgedCaller) =>
    one.file === file && one.name === name && line >= one.start && line <= one.end;
  const verdicts = shown.map((one) => ({ one, verdict: judged.find((each) => isAt(one, each)) }));
  return {
    callers: shown.length,
    falseCallers: verdicts.filter(({ verdict }) => verdict?.uses === false).length,
    unjudged: verdicts.filter(({ verdict }) => verdict === undefined).map(({ one }) => one),
  };
}

/** The lines of a case's known issues, those of their context, and `more`. */
export function neededLinesOf(
  { known }: Pick<EvalCase, "known">,
  more: readonly NeededLines[] = [],
): NeededLines[] {
  const own = known.flatMap(({ place, context }) => (place === null ? context : [place, ...context]));
  const byFile = Map.groupBy([...own, ...more], ({ file, at }) => `${at} ${file}`);
  return [...byFile.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const lines = new Set([first, ...others].flatMap((one) => one.lines));
    return [{ file: first.file, at: first.at, lines: [...lines].sort((a, b) => a - b) }];
  });
}

export interface Seen {
  needed: number;
  shown: number;
  /** Needed lines that are not shown. */
  missing: NeededLines[];
}

/** Compares the needed lines with those that the model sees. */
export function compareLines(needed: readonly NeededLines[], shown: Pick<ShownLines, "has">): Seen {
  const missing = needed.flatMap((one) => {
    const lines = one.lines.filter((line) => !shown.has(one.file, line, one.at));
    return lines.length > 0 ? [{ ...one, lines }] : [];
  });
  const count = (all: readonly NeededLines[]) => all.reduce((sum, { lines }) => sum + lines.length, 0);
  return { needed: count(needed), shown: count(needed) - count(missing), missing };
}

/** How many of some entries a message shows. */
export interface Share {
  wanted: number;
  shown: number;
}

/** Of an entry that counts as shown, at least this share of its lines is. */
const MOST = 0.6;

/** The shown entries of each kind, in the order of the kinds' first entries. */
export function sharesByKind(
  needed: readonly NeededLines[],
  shown: Pick<ShownLines, "has">,
): Record<string, Share> {
  const isShown = ({ file, lines, at }: NeededLines) =>
    lines.filter((line) => shown.has(file, line, at)).length >= MOST * lines.length;
  const byKind = Map.groupBy(needed, ({ kind }) => kind);
  return Object.fromEntries(
    [...byKind].flatMap(([kind, all]) =>
      kind === undefined ? [] : [[kind, { wanted: all.length, shown: all.filter(isShown).length }]],
    ),
  );
}
