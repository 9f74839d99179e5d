import type { Arrangement, Surroundings } from "./arrange.ts";
import { isReadable } from "./bounds.ts";
import { copiedLines } from "./copied-lines.ts";
import { type FileReading, hasParser, readFile } from "./file-reading.ts";
import { foreignCode } from "./foreign-code.ts";
import { breaksStyle, isBlank, widthOf } from "./indentation.ts";
import { brokenJoin } from "./joins.ts";
import { leftOutLines } from "./left-out-lines.ts";
import { lexisOf } from "./lexis.ts";
import { movedBlocks } from "./moved-blocks.ts";
import { movedText } from "./moved-text.ts";
import { isLike } from "./neighbours.ts";
import { type Overlay, replaced, replacement } from "./overlay.ts";
import { worseReading } from "./worse-reading.ts";
import { strangeYaml } from "./yaml-nodes.ts";

/** Why an arrangement of a suggestion must not replace the lines: a clause, or null. What takes long comes last. */
export async function faultOf(
  overlay: Overlay,
  around: Surroundings,
  before: FileReading,
  how: Arrangement,
): Promise<string | null> {
  const cheap =
    noChange(overlay) ??
    guessed(overlay, how) ??
    copiedLines(overlay, before.effect, how.wasMoved) ??
    leftOutLines(overlay) ??
    wrongStyle(overlay, around);
  if (cheap) return cheap;
  if (!isReadable(overlay.path, overlay.after)) return "the file would be too large to check it";
  const after = await readFile(overlay.path, overlay.after, overlay.start, overlay.newEnd);
  if (!after) return "the file would be too deep or too dense to check it";
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
  const [old, now] = [replaced(overlay), replacement(overlay)].map((lines) =>
    lines.map((line) => line.trim()),
  );
  if (!old || !now) return null;
  if (now.every((line) => old.includes(line)))
    return "it repeats lines around those it replaces and changes nothing else";
  if (wasCut === "for what they say") return null;
  const isRelated = now.some((line) => old.slice(0, mostCompared).some((other) => isLike(line, other)));
  return wasMoved || !hasParser(overlay.path) || !isRelated ? "it may be written for other lines" : null;
}

/** Lines that are compared with each of the others. */
const mostCompared = 40;

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
