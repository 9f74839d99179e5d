import { opensBlock } from "./arrange.ts";
import { indentOf, isBlank } from "./indentation.ts";
import { defines, isTelling } from "./neighbours.ts";
import { type Overlay, replaced, replacement } from "./overlay.ts";

const filled = (lines: readonly string[]) => lines.filter((line) => !isBlank(line));
const texts = (lines: readonly string[]) => filled(lines).map((line) => line.trim());

/** Why a suggestion does not replace exactly the lines it is for: fewer, or more. Null when it does. */
export function wrongExtent(overlay: Overlay): string | null {
  return (
    repeatsNeighbour(overlay) ?? repeatsDefinition(overlay) ?? rewritesAround(overlay) ?? leavesOut(overlay)
  );
}

function repeatsNeighbour(overlay: Overlay): string | null {
  const { before, start, oldEnd } = overlay;
  const [old, now] = [filled(replaced(overlay)), filled(replacement(overlay))];
  const above = before.slice(0, start).findLast((line) => !isBlank(line));
  const below = before.slice(oldEnd).find((line) => !isBlank(line));
  const [first, last] = [now[0], now.at(-1)];
  if (first !== undefined && above !== undefined && repeats(first, above, old[0]))
    return "it repeats the line before it";
  if (last === undefined || below === undefined || !repeats(last, below, old.at(-1))) return null;
  const head = now.at(-2);
  const isBody = head !== undefined && opensBlock(head) && indentOf(last).length > indentOf(below).length;
  return isBody ? null : "it repeats the line after it";
}

/** The same code again: at the same place always, elsewhere when it says something. The old line may have done so already. */
function repeats(line: string, neighbour: string, old: string | undefined): boolean {
  if (line.trim() !== neighbour.trim() || old?.trim() === line.trim() || !/\w/.test(line)) return false;
  const deeper = indentOf(neighbour).length > indentOf(line).length;
  return indentOf(line) === indentOf(neighbour) || (isTelling(line) && !deeper);
}

/** How far around the anchored lines a suggestion's own lines are looked for. */
const reach = 40;

function around(overlay: Overlay): { above: readonly string[]; below: readonly string[] } {
  const { before, start, oldEnd } = overlay;
  const far = reach + replacement(overlay).length;
  return { above: before.slice(Math.max(0, start - far), start), below: before.slice(oldEnd, oldEnd + far) };
}

/** A definition that stands near already was copied along with the code that was meant. */
function repeatsDefinition(overlay: Overlay): string | null {
  const { above, below } = around(overlay);
  const old = new Set(texts(replaced(overlay)));
  const near = new Set(texts([...above, ...below]));
  const copied = texts(replacement(overlay)).some(
    (line) => defines(line) && near.has(line) && !old.has(line),
  );
  return copied ? "it repeats a definition that stands outside of the lines it replaces" : null;
}

const words = (line: string) => new Set(line.match(/\w+/g) ?? []);

/** Whether two heads of blocks are versions of one: they begin alike and share half of their words. */
function isVersionOf(line: string, other: string): boolean {
  const [own, others] = [words(line), words(other)];
  const [first] = own;
  const shared = [...own].filter((word) => others.has(word)).length;
  return first !== undefined && first === [...others][0] && shared * 2 >= Math.max(own.size, others.size);
}

/** Code with the block around it, head and end, is meant for more lines than it replaces. */
function rewritesAround(overlay: Overlay): string | null {
  const { above, below } = around(overlay);
  const now = texts(replacement(overlay));
  const old = texts(replaced(overlay));
  const [head, end] = [texts(above).at(-1), texts(below)[0]];
  const [first, last] = [now[0], now.at(-1)];
  if (first === undefined || head === undefined || now.length < 2 || isVersionOf(first, old[0] ?? ""))
    return null;
  const isWhole = opensBlock(head) && opensBlock(first) && isVersionOf(first, head);
  return isWhole && (last === end || last === old.at(-1))
    ? "it holds the block around the lines it replaces"
    : null;
}

/** Fewer lines than these are left out on purpose. */
const mostLeftOut = 2;

/** A suggestion that repeats the first lines or the last ones and has nothing in the place of the others was cut off. */
function leavesOut(overlay: Overlay): string | null {
  const [old, now] = [texts(replaced(overlay)), texts(replacement(overlay))];
  const [first, last] = [now[0], now.at(-1)];
  if (first === undefined || last === undefined || now.length >= old.length - mostLeftOut) return null;
  const missing = (lines: readonly string[]) => lines.filter(isTelling).length > mostLeftOut;
  const lastAt = old.lastIndexOf(last);
  if (isTelling(last) && lastAt >= 0 && missing(old.slice(lastAt + 1)))
    return "it leaves out the last of the lines it replaces";
  const firstAt = old.indexOf(first);
  const isCut = isTelling(first) && firstAt > 0 && missing(old.slice(0, firstAt));
  return isCut ? "it leaves out the first of the lines it replaces" : null;
}
