import { type Finding, isUndisputed, severities } from "../../finding.ts";
import { codeHash } from "../../ledger/entry.ts";
import type { AnchorFile } from "../anchor.ts";
import type { LineRange } from "../quote.ts";
import type { EarlierFinding } from "../review-input.ts";
import type { ReadChange, ReviewRun } from "../review-run.ts";
import { definitionNamed } from "../symbols.ts";
import { askSame } from "./ask-same.ts";
import { certainPairs, type EarlierFacts } from "./certain-pairs.ts";
import { nearCollisions } from "./near-collisions.ts";

/** Reads where the code of earlier findings stands now; renamed files go by the name that they had at the merge base. */
export async function readFacts(
  { files, anchorFile }: Pick<ReadChange, "files" | "anchorFile">,
  earlier: readonly EarlierFinding[],
): Promise<EarlierFacts> {
  const firstNames = new Map(files.map(({ change }) => [change.path, change.oldPath ?? change.path]));
  const places = new Map<EarlierFinding, LineRange | null>();
  for (const one of earlier) {
    const isGone = one.state === "fixed" || one.path === "";
    places.set(one, isGone ? null : await locate(await anchorFile(one.path), one));
  }
  return {
    firstName: (path) => firstNames.get(path) ?? path,
    placeOf: (one) => places.get(one) ?? null,
  };
}

/** Which of this run's findings an earlier one tells of already, each with that one. */
export type Repeats<Earlier extends EarlierFinding = EarlierFinding> = ReadonlyMap<Finding, Earlier>;

/** The worst are asked about first. */
const MOST_QUESTIONS = 60;

/**
 * Compares the findings of a run with those of earlier ones: what is certain by rules, what stands close together by one
 * question to a model. What no model decides about is compared by rules alone: it would be silenced by whoever says that it was told.
 *
 * @param run null where no model can be asked
 */
export async function compareFindings<Earlier extends EarlierFinding>(
  run: ReviewRun | null,
  findings: readonly Finding[],
  earlier: readonly Earlier[],
  facts: EarlierFacts,
): Promise<Repeats<Earlier>> {
  const repeats = certainPairs(findings, earlier, facts);
  const rank = (finding: Finding) => severities.indexOf(finding.severity);
  const disputed = findings.filter((one) => !isUndisputed(one));
  const collisions = nearCollisions(disputed, earlier, facts, repeats).toSorted(
    (a, b) => rank(a.finding) - rank(b.finding),
  );
  const asked = run ? collisions.slice(0, MOST_QUESTIONS) : [];
  const same = run && asked.length > 0 ? await askSame(run, asked) : null;
  const unanswered = same === null ? collisions : collisions.slice(asked.length);
  // Whoever dismissed something mild has not spoken of anything worse.
  const assumed = unanswered.filter(
    ({ isSamePlace, earlier: one, finding }) =>
      isSamePlace && one.state === "dismissed" && rank(finding) >= severities.indexOf(one.severity),
  );
  const taken = new Set<Earlier>(repeats.values());
  for (const { finding, earlier: one } of [...(same ?? []), ...assumed]) {
    // A dismissed one stands for all restatements of it, an open one for a single finding.
    if (repeats.has(finding) || (one.state !== "dismissed" && taken.has(one))) continue;
    repeats.set(finding, one);
    taken.add(one);
  }
  return repeats;
}

/** Lines around the old place in which moved code is looked for, where the definition that it stood in is not known. */
const AROUND = 150;
/** Of a file whose place was never known, or of a long definition, the first lines alone are looked at. */
const MOST_LINES = 1_000;
/** A finding of more lines is not looked for elsewhere. */
const WINDOW = 8;
const MAX_LINE_LENGTH = 1_000;

type Told = Pick<EarlierFinding, "side" | "line" | "start_line" | "original_line" | "symbol" | "code">;

/**
 * Where the code of an earlier finding stands now: where GitHub says, if it is still that code; else the nearest place in its
 * definition, or around the old lines, that has it. Null where it is gone, and where nobody can tell.
 */
export async function locate(file: AnchorFile | undefined, told: Told): Promise<LineRange | null> {
  const { side, line, start_line, code } = told;
  const lines = file?.lines[side] ?? null;
  if (!file || lines === null) return null;
  if (line !== null && line <= lines.length) {
    const place = { start: start_line ?? line, end: line };
    if (code === null || codeHash(lines.slice(place.start - 1, place.end).join("\n")) === code) return place;
  }
  if (code === null) return null;
  return nearest(lines, code, await searched(file, lines, told), line ?? told.original_line);
}

async function searched(
  { path }: AnchorFile,
  lines: readonly string[],
  { symbol, line, original_line }: Told,
): Promise<LineRange> {
  const near = line ?? original_line;
  const definition = symbol === null ? null : await definitionNamed(path, lines, symbol, near);
  const around =
    near === null ? { start: 1, end: lines.length } : { start: near - AROUND, end: near + AROUND };
  const { start, end } = definition ?? around;
  const first = Math.max(1, start);
  return { start: first, end: Math.min(end, lines.length, first + MOST_LINES) };
}

/** Of all places that have the code the one nearest to a line. */
function nearest(
  lines: readonly string[],
  code: string,
  { start: from, end: to }: LineRange,
  near: number | null,
): LineRange | null {
  const distance = ({ end }: LineRange) => (near === null ? 0 : Math.abs(end - near));
  let best: LineRange | null = null;
  for (let start = from; start <= to; start++) {
    for (let end = start; end <= Math.min(to, start + WINDOW - 1); end++) {
      if ((lines[end - 1] ?? "").length > MAX_LINE_LENGTH) break;
      if (isBlank(lines[start - 1]) || isBlank(lines[end - 1])) continue;
      const place = { start, end };
      if (best && distance(place) >= distance(best)) continue;
      if (codeHash(lines.slice(start - 1, end).join("\n")) === code) best = place;
    }
  }
  return best;
}

const isBlank = (line: string | undefined) => line === undefined || line.trim() === "";
