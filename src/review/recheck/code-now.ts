import { lineAtHead, shorten } from "../../diff/file-diff.ts";
import type { Side } from "../../finding.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { count, showPath } from "../../tools/show.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import type { AnchorFile } from "../anchor.ts";
import type { LineRange } from "../quote.ts";
import type { PlaceRun } from "../run-loop.ts";
import { definitionNamed, definitionOf } from "../symbols.ts";
import { roomFor } from "../window.ts";

const MAX_CODE_BYTES = 16_000;
const MAX_LIST_BYTES = 3_000;
/** Lines before and behind a place that has no definition around it. */
const AROUND = 40;
/** A longer definition is shown around the place alone. */
const MAX_LINES = 250;
/** Changed files in which a definition is looked for that has left its own. */
const MOST_FILES = 30;

/** What a comment is about, and where its code is now. */
export interface ClaimedSpot {
  /** At head, or as it was told where the change knows no such file. */
  path: string;
  side: Side;
  /** Where it was told to be; null on a file. */
  line: number | null;
  symbol: string | null;
  /** Where its code stands now; null where it is gone. */
  place: LineRange | null;
}

/**
 * Sections with the code that a comment is about as it is now, at head: its definition, or else the lines around the place.
 * Where neither is in its file any more: what goes by the same name in another changed file, and which files there are.
 *
 * @param file undefined where there is none at head
 */
export async function codeNow(
  run: PlaceRun,
  spot: ClaimedSpot,
  file: AnchorFile | undefined,
): Promise<string[]> {
  const { path, side, symbol, place } = spot;
  const lines = file?.lines.RIGHT ?? null;
  const near = nearestLine(spot, file);
  const standsAt = side === "RIGHT" ? place : null;
  const definition =
    symbol === null || standsAt
      ? await definitionOf(file?.path ?? path, lines, near)
      : await definitionNamed(file?.path ?? path, lines, symbol, near);
  const around = shownLines(definition, standsAt ?? { start: near, end: near });
  const isFound = standsAt !== null || (symbol !== null && definition !== null);
  const title = isFound ? "The code as it is now" : "The lines around the place now";
  const here = file && lines ? [codeSection(run, title, file.path, lines, around)] : [];
  if (lines && (standsAt || symbol === null || isMoreThanDeclared(definition))) return here;
  return [...here, await elsewhere(run, spot), changedFiles(run)];
}

/** The line at head, which may have been one of a longer file. */
function nearestLine({ side, line, place }: ClaimedSpot, file: AnchorFile | undefined): number {
  const old = place?.end ?? line ?? 1;
  const stated = side === "LEFT" && file ? lineAtHead(file.hunks, old) : old;
  return Math.max(1, Math.min(stated, file?.lines.RIGHT?.length ?? stated));
}

/** A whole definition that can be read, or else the lines around the place, or around its beginning where it has moved. */
function shownLines(definition: LineRange | null, place: LineRange): LineRange {
  if (definition && definition.end - definition.start < MAX_LINES) return definition;
  const isInside = !definition || (definition.start <= place.end && place.start <= definition.end);
  const { start, end } = isInside ? place : { start: definition.start, end: definition.start };
  return { start: start - AROUND, end: end + AROUND };
}

function codeSection(
  { models }: PlaceRun,
  title: string,
  path: string,
  lines: readonly string[],
  { start, end }: LineRange,
): string {
  const first = Math.max(1, start);
  const shown = lines.slice(first - 1, end).map((text, at) => `${first + at}|${shorten(text)}`);
  if (shown.length === 0) return "";
  const { text } = cutAtLine(shown.join("\n"), roomFor(models.verify, MAX_CODE_BYTES, 0.15));
  return `# ${title}\n${wrapUntrusted("code", `## ${showPath(path)}\n${text}`)}`;
}

/** A line alone may be the promise of what another file holds. */
const isMoreThanDeclared = (definition: LineRange | null) =>
  definition !== null && definition.end > definition.start;

/** A definition of the same name in another changed file: the comment's code may have moved there. */
async function elsewhere(run: PlaceRun, { path, symbol }: ClaimedSpot): Promise<string> {
  if (symbol === null) return "";
  const others = run.files.filter(({ change, reviewable }) => reviewable && change.path !== path);
  const newFirst = others.toSorted((a, b) => Number(isNew(b)) - Number(isNew(a)));
  for (const { change } of newFirst.slice(0, MOST_FILES)) {
    const lines = (await run.anchorFile(change.path))?.lines.RIGHT ?? null;
    const definition = await definitionNamed(change.path, lines, symbol, null);
    if (!lines || !isMoreThanDeclared(definition)) continue;
    const around = shownLines(definition, { start: 0, end: 0 });
    return codeSection(run, "What goes by that name in another changed file", change.path, lines, around);
  }
  return "";
}

const isNew = ({ change }: ChangedFile) => change.type === "added";

function changedFiles({ files, models, deps }: PlaceRun): string {
  const paths = files.flatMap(({ change: { path, oldPath, type } }) => {
    if ([path, oldPath ?? path].some(deps.isPrivate)) return [];
    return [`${showPath(path)}${oldPath === null ? "" : ` (was ${showPath(oldPath)})`}  ${type}`];
  });
  const { text, omittedLines } = cutAtLine(paths.join("\n"), roomFor(models.verify, MAX_LIST_BYTES, 0.05));
  const more = omittedLines > 0 ? `\n${count(omittedLines, "more file")}: see changed_files.` : "";
  return `# Changed files\n${wrapUntrusted("changed files", text)}${more}`;
}
