import { isWorthParsing } from "../../analyzers/languages.ts";
import { hasGrammar } from "../../analyzers/syntax-faults.ts";
import { escapeInvisible } from "../../text/escape-invisible.ts";
import { type Arrangement, arrangements, type Surroundings } from "./arrange.ts";
import { type FileReading, hasParser, readFile } from "./file-reading.ts";
import { foreignCode } from "./foreign-code.ts";
import { breaksStyle, isBlank, styleOf, widthOf } from "./indentation.ts";
import { brokenJoin } from "./joins.ts";
import { isProse, lexisOf } from "./lexis.ts";
import { movedBlocks } from "./moved-blocks.ts";
import { movedText } from "./moved-text.ts";
import { isTelling } from "./neighbours.ts";
import { type Overlay, overlayOf, replaced, replacement } from "./overlay.ts";
import { wrongExtent } from "./own-lines.ts";
import { isPlaceholder } from "./placeholder.ts";
import { unwrap } from "./unwrap.ts";
import { worseReading } from "./worse-reading.ts";
import { strangeYaml } from "./yaml-nodes.ts";

/** What may be posted in the place of a suggestion. */
export type CheckedSuggestion =
  | {
      ok: true;
      /**
       * The lines that replace the anchored ones, joined by line feeds and each with the carriage return that the file's
       * lines have. Empty: the lines are deleted, as GitHub does for an empty suggestion block.
       */
      suggestion: string;
      /** What was mended, in words: "the indentation was taken from the file". */
      repairs: readonly string[];
    }
  | {
      ok: false;
      /** A clause for the model and for people: "the file would not parse". */
      reason: string;
    };

export interface SuggestionToCheck {
  path: string;
  /** The head's file, without line feeds but with any carriage return. */
  lines: readonly string[];
  /** 1-indexed and inclusive: exactly the lines that are replaced. */
  start: number;
  end: number;
  suggestion: string;
}

/** Bounds of what is looked at; the file's are those of the analyzers. */
const mostFileCharacters = 300_000;
const mostAnchoredLines = 500;
const mostLines = 1_000;
const mostCharacters = 20_000;
/** Of a line that is replaced or proposed: patterns that look back along a line take long on more. */
const longestLine = 2_000;

const refused = (reason: string): CheckedSuggestion => ({ ok: false, reason });

/**
 * Applies a suggestion to a copy of the file and accepts it when it replaces exactly the anchored lines, changes something,
 * keeps the file's indentation and leaves the file no worse than it was. What can be mended without guessing is mended first.
 */
export async function checkSuggestion(given: SuggestionToCheck): Promise<CheckedSuggestion> {
  const { path, start, end, suggestion } = given;
  const unfit = outOfBounds(given);
  if (unfit) return refused(unfit);
  const lines = given.lines.map((line) => line.replace(/\r$/, ""));
  const anchored = lines.slice(start - 1, end);
  if (suggestion !== "" && suggestion.trim() === "") return refused("it is empty but for white space");
  const written = unwrap(suggestion, { path, anchored, line: start });
  const reason = unusable(path, written.lines, anchored);
  if (reason) return refused(reason);
  const around: Surroundings = {
    before: lines.slice(0, start - 1),
    anchored,
    after: lines.slice(end),
    style: styleOf(lines, anchored),
    hasParser: hasParser(path),
  };
  const before = await readFile(path, lines, start - 1, end);
  if (!before) return refused("the file is nested too deeply to check it");
  const range = { start: start - 1, end };
  const apply = (one: Arrangement) => overlayOf(path, lines, range, one.lines);
  let first: string | null = null;
  for (const one of arrangements(written.lines, around)) {
    const fault = await faultOf(apply(one), around, before, one);
    first ??= fault;
    if (fault === null)
      return {
        ok: true,
        suggestion: withLineEnds(one.lines, given),
        repairs: [...written.repairs, ...one.repairs],
      };
  }
  return refused(first ?? "its first line is not indented like the first of those it replaces");
}

function outOfBounds({ path, lines, start, end, suggestion }: SuggestionToCheck): string | null {
  if (start < 1 || end < start || end > lines.length) return "the file has no such lines";
  const anchored = lines.slice(start - 1, Math.min(end, start + mostAnchoredLines));
  const proposed = suggestion.slice(0, mostCharacters + 1).split("\n");
  const areTooMany = end - start >= mostAnchoredLines || proposed.length > mostLines;
  const isTooLong = suggestion.length > mostCharacters || anchored.join("\n").length > mostCharacters;
  if (areTooMany || isTooLong) return "it is too long to check it";
  if (!isProse(path) && [...anchored, ...proposed].some((line) => line.length > longestLine))
    return "its lines are too long to check them";
  let characters = 0;
  for (const line of lines) {
    characters += line.length + 1;
    if (characters > mostFileCharacters) return "the file is too large to check it";
  }
  return isReadable(path, lines) ? null : "the file's lines are too long to check it";
}

/** Grammars take long on what machines write. */
const isReadable = (path: string, lines: readonly string[]) =>
  !hasGrammar(path) || isWorthParsing(lines.join("\n"));

/** Why the lines cannot be meant as code, whatever the file. */
function unusable(path: string, lines: readonly string[], anchored: readonly string[]): string | null {
  if (repeatsItself(lines)) return "it says the same again and again";
  if (hidesCharacters(lines, anchored)) return "it holds characters that nobody can see";
  const has = new Set(anchored.map((line) => line.trim()));
  const isNew = (line: string) => !has.has(line.trim());
  if (!isProse(path) && lines.some((line) => isNew(line) && isPlaceholder(line)))
    return "it leaves code out and says so";
  if (lines.some((line) => isNew(line) && /^(?:<{7}|>{7}|={7}|\|{7})(?: |$)/.test(line)))
    return "it holds merge markers";
  if (lines.some((line) => isNew(line) && /^\s*(?:__END__|__DATA__|__halt_compiler\(\);?)\s*$/.test(line)))
    return "it would end the file's code";
  const isFence = (line: string) => /^\s*(?:`{3,}|~{3,})/.test(line);
  return !isProse(path) && lines.some((line) => isNew(line) && isFence(line))
    ? "a Markdown fence is in it"
    : null;
}

/** The same line four times in a row, as models write when they do not find an end. */
function repeatsItself(lines: readonly string[]): boolean {
  return lines.some(
    (line, at) => isTelling(line) && [1, 2, 3].every((next) => lines[at + next]?.trim() === line.trim()),
  );
}

const emojiParts = /(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)(?:\uFE0F|\u200D)/gu;

/** Characters that print as nothing, but for those that emoji are made of, and that the anchored lines do not have. */
function hidesCharacters(lines: readonly string[], anchored: readonly string[]): boolean {
  const known = new Set(anchored.join(""));
  const text = lines.join("").replace(emojiParts, "");
  return [...new Set(text)].some((one) => !known.has(one) && escapeInvisible(one) !== one);
}

async function faultOf(
  overlay: Overlay,
  around: Surroundings,
  before: FileReading,
  how: Arrangement,
): Promise<string | null> {
  const cheap =
    noChange(overlay) ??
    guessed(overlay, how) ??
    wrongExtent(overlay, before.effect, how.wasMoved) ??
    wrongStyle(overlay, around);
  if (cheap) return cheap;
  if (!isReadable(overlay.path, overlay.after)) return "the file would be too large to check it";
  const after = await readFile(overlay.path, overlay.after, overlay.start, overlay.newEnd);
  if (!after) return "the file would be nested too deeply to check it";
  return (
    worseReading(overlay, before, after) ??
    movedBlocks(overlay, lexisOf(overlay.path)) ??
    movedText(overlay) ??
    brokenJoin(overlay) ??
    strangeYaml(overlay) ??
    foreignCode(overlay)
  );
}

/** What has lost lines at its ends must be more than a guess. */
function guessed(overlay: Overlay, { wasCut, wasMoved }: Arrangement): string | null {
  if (!wasCut) return null;
  const old = new Set(replaced(overlay).map((line) => line.trim()));
  if (replacement(overlay).every((line) => old.has(line.trim())))
    return "it repeats lines around those it replaces and changes nothing else";
  return wasCut === "because they fit" && wasMoved ? "it may be written for other lines" : null;
}

/** White space at the end of a line is nothing, and where indentation means nothing it is nothing too. */
function noChange(overlay: Overlay): string | null {
  const visible = (lines: readonly string[]) => lines.map((line) => line.trimEnd()).join("\n");
  const text = (lines: readonly string[]) =>
    lines
      .filter((line) => !isBlank(line))
      .map((line) => line.trim())
      .join("\n");
  const [old, now] = [replaced(overlay), replacement(overlay)];
  if (visible(old) === visible(now)) return "it changes nothing";
  return text(old) === text(now) ? "it changes nothing but white space" : null;
}

function wrongStyle(overlay: Overlay, { style, anchored }: Surroundings): string | null {
  const now = replacement(overlay);
  if (breaksStyle(now, style) && !breaksStyle(anchored, style)) return "it is not indented as the file is";
  // What a preprocessor reads begins at the margin.
  const widths = (lines: readonly string[]) =>
    lines.filter((line) => !isBlank(line) && !/^#/.test(line)).map(widthOf);
  const least = Math.min(...widths(anchored));
  return Number.isFinite(least) && widths(now).some((width) => width < least)
    ? "it is indented less than the lines it replaces"
    : null;
}

/** The lines with the carriage returns that the replaced ones have; what ends the file may end without one. */
function withLineEnds(replacement: readonly string[], { lines, start, end }: SuggestionToCheck): string {
  const isCrlf =
    lines[start - 1]?.endsWith("\r") || (start === lines.length && lines[start - 2]?.endsWith("\r"));
  const lastHasOne = lines[end - 1]?.endsWith("\r");
  return replacement
    .map((line, at) => (isCrlf && (at < replacement.length - 1 || lastHasOne) ? `${line}\r` : line))
    .join("\n");
}
