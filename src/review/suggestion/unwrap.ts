import { isProse } from "./lexis.ts";

/** The lines of a suggestion, and what was done to them, in words. */
export interface Unwrapped {
  lines: string[];
  repairs: string[];
}

interface Unwrapping {
  path: string;
  /** The lines that the suggestion replaces. */
  anchored: readonly string[];
  /** The number of the first one. */
  line: number;
}

/** Takes off what models put around or in front of code: fences, signs of a diff, line numbers, empty lines at the ends. */
export function unwrap(text: string, context: Unwrapping): Unwrapped {
  const written = text.split("\n").map((line) => line.replace(/[\r\u240D]+$/, ""));
  const bare = { lines: trimmed(written, context.anchored), repairs: [] };
  const steps = [unfenced, unnumbered, undiffed];
  return steps.reduce<Unwrapped>((done, step) => {
    const lines = step(done.lines, context);
    if (lines === null) return done;
    return { lines: trimmed(lines, context.anchored), repairs: [...done.repairs, repairs.get(step) ?? ""] };
  }, bare);
}

/** Without empty lines at the ends, where the anchored lines have none there. */
function trimmed(lines: readonly string[], anchored: readonly string[]): string[] {
  const first = lines.findIndex((line) => line.trim() !== "");
  if (first < 0) return [];
  const last = lines.findLastIndex((line) => line.trim() !== "");
  const leading = anchored.findIndex((line) => line.trim() !== "");
  const trailing = anchored.length - 1 - anchored.findLastIndex((line) => line.trim() !== "");
  const behind = lines.length - 1 - last;
  const start = Math.max(0, first - Math.max(0, leading));
  return lines.slice(start, last + 1 + Math.max(0, Math.min(behind, trailing)));
}

const fenceLine = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/;
const fenceOf = (line = "") => (line.length < 100 ? fenceLine.exec(line) : null);
/** What a fence in prose may be called that stands around a suggestion, and not in it. */
const aroundProse = new Set(["suggestion", "markdown", "md", "text"]);

/** The text inside of a fence around the whole; null when there is none. */
function unfenced(lines: readonly string[], { path }: Unwrapping): string[] | null {
  let inner = lines;
  for (let layer = 0; layer < 3; layer++) {
    const info = fenceAround(inner);
    if (info === null || (isProse(path) && !aroundProse.has(info))) break;
    inner = trimmed(inner.slice(1, -1), []);
  }
  return inner === lines ? null : [...inner];
}

/** The info word of a fence whose end is the last line; null when the first line opens none, or one that ends before. */
function fenceAround(lines: readonly string[]): string | null {
  const info = fenceOf(lines[0])?.[2];
  if (info === undefined || lines.length < 2) return null;
  // A fence in a fence of the same length, which Markdown does not know.
  if (lines.length > 3 && [lines[1], ...lines.slice(-2)].every((line) => fenceOf(line) !== null)) return info;
  const open: string[] = [];
  for (const [at, line] of lines.entries()) {
    const [, marks = "", word = ""] = fenceOf(line) ?? [];
    if (marks === "") continue;
    const top = open.at(-1);
    const closes = top !== undefined && word === "" && marks.startsWith(top);
    if (closes) open.pop();
    else open.push(marks);
    if (open.length === 0 && at < lines.length - 1) return null;
  }
  return open.length === 0 ? info : null;
}

/** Our numbered listings are `12| code`, our diffs `12 +code`. */
const listed = /^\s*(\d+)\|(?: |$)/;
const listedDiff = /^\s*(\d+) (?=[+\- ])/;

/** Without line numbers, where every line carries one, they count upwards and lie near the anchor. */
function unnumbered(lines: readonly string[], { anchored, line }: Unwrapping): string[] | null {
  for (const pattern of [listed, listedDiff]) {
    const numbers = lines.map((one) => Number(pattern.exec(one)?.[1] ?? Number.NaN));
    const [first = Number.NaN] = numbers;
    const isNear = Math.abs(first - line) <= 50 + lines.length;
    const counts = numbers.every((number, at) => at === 0 || number >= (numbers[at - 1] ?? 0));
    const isCode = anchored.some((one) => pattern.test(one));
    if (!numbers.every(Number.isFinite) || !isNear || !counts || isCode) continue;
    const bare = lines.map((one) => one.replace(pattern, ""));
    if (pattern === listed) return bare;
    return bare.filter((one) => !one.startsWith("-")).map((one) => one.slice(1));
  }
  return null;
}

/**
 * The new side of a diff: of lines that all begin with a plus, or of those that say which of the anchored lines go. Where the
 * anchored code itself begins with a sign, signs are code.
 */
function undiffed(lines: readonly string[], { path, anchored }: Unwrapping): string[] | null {
  if (isProse(path) || /\.(?:diff|patch)$/.test(path)) return null;
  if (anchored.some((line) => /^[+-]/.test(line))) return null;
  const hunk = lines.filter((line) => !/^(?:@@ .*@@|--- |\+\+\+ |\\ No newline)/.test(line));
  const filled = hunk.filter((line) => line.trim() !== "");
  const isSigned = filled.every((line) => /^[+\- ]/.test(line));
  const added = filled.filter((line) => line.startsWith("+"));
  const removed = filled.filter((line) => line.startsWith("-")).map((line) => line.slice(1).trim());
  const isDiff = added.length === filled.length || (removed.length > 0 && removesAnchored(removed, anchored));
  if (!isSigned || filled.length === 0 || !isDiff) return null;
  return hunk.filter((line) => !line.startsWith("-")).map((line) => line.slice(1));
}

/** Whether these are lines of the anchored ones, in their order. */
function removesAnchored(removed: readonly string[], anchored: readonly string[]): boolean {
  let next = 0;
  for (const line of anchored) if (line.trim() === removed[next]) next++;
  return next === removed.length;
}

const repairs = new Map<unknown, string>([
  [unfenced, "the Markdown fence around it was taken off"],
  [unnumbered, "line numbers were taken off"],
  [undiffed, "the signs of a diff were taken off"],
]);
