import type { KnownCall, OpenedGraph } from "../review-run.ts";
import type { Changed } from "./changed.ts";
import { isRun, isType } from "./code-file.ts";
import type { RepositoryFiles } from "./repository-files.ts";

/** What the graph says of the calls of a changed definition. */
export interface KnownCalls {
  /** Whether a call surely means this very definition. */
  isSure(path: string, line: number): boolean;
  /** Calls that mean it more likely than not. */
  likely: readonly KnownCall[];
}

/** What is less likely than not is no caller. */
const LIKELY = 0.5;
/** From here on nobody needs to be told that it is not quite sure. */
export const SURE = 0.9;
/** Calls of one definition that are looked at: more of them tell nothing new. */
const MAX_CALLS = 40;
/** What reading the file of a caller is worth, against finding a name. */
const CALLER_WORTH = 2;

const nothing: KnownCalls = { isSure: () => false, likely: [] };

/** Asks the graph who calls what changed. Says nothing of what was taken away: the head has it no more. */
export function knownCalls(
  changed: readonly Changed[],
  graph: OpenedGraph | null,
  files: Pick<RepositoryFiles, "isReadable">,
): (one: Changed) => KnownCalls {
  if (graph === null) return () => nothing;
  const known = new Map(changed.map((one) => [one, callsOf(one, graph, files)]));
  return (one) => known.get(one) ?? nothing;
}

function callsOf(
  { path, after }: Changed,
  graph: OpenedGraph,
  { isReadable }: Pick<RepositoryFiles, "isReadable">,
): KnownCalls {
  if (after === null || !(isRun(after.definition) || isType(after.definition))) return nothing;
  const { name, signatureEnd } = after.definition;
  const found = graph.callers({ path, name, line: signatureEnd }, LIKELY);
  const calls = found.filter((one) => isReadable(one.path));
  const sure = calls.filter(({ certainty }) => certainty >= SURE);
  const places = new Set(sure.map((one) => `${one.line} ${one.path}`));
  return {
    isSure: (at, line) => places.has(`${line} ${at}`),
    likely: calls.slice(0, MAX_CALLS),
  };
}

/** What reading each file with callers is worth. */
export function callerFiles(
  changed: readonly Changed[],
  callsOf: (one: Changed) => KnownCalls,
): Map<string, number> {
  const worth = new Map<string, number>();
  for (const one of changed) {
    const calls = callsOf(one).likely;
    // Of what many call each caller says little.
    for (const path of new Set(calls.map((call) => call.path)))
      worth.set(path, (worth.get(path) ?? 0) + (CALLER_WORTH * one.risk) / Math.sqrt(calls.length));
  }
  return worth;
}
