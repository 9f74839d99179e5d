import { indentOf } from "./indentation.ts";
import { lexisOf } from "./lexis.ts";
import { maskLines } from "./mask.ts";
import { type Overlay, oldIndexOf } from "./overlay.ts";

/** Why a line of a string that a suggestion keeps would be another text: its indentation is part of it. */
export function movedText(overlay: Overlay): string | null {
  const { before, after, start, oldEnd, newEnd } = overlay;
  const masked = maskLines(before.slice(0, oldEnd), lexisOf(overlay.path));
  const oldIndex = oldIndexOf(overlay);
  for (let at = start; at < newEnd; at++) {
    const old = oldIndex(at);
    if (old === undefined || masked[old]?.startsInside !== "string") continue;
    if (indentOf(before[old] ?? "") !== indentOf(after[at] ?? ""))
      return "text of a string would be indented differently";
  }
  return null;
}
