import { extensionOf } from "../../../repo/code/languages.ts";

export interface Anchored {
  path: string;
  /** Lines without line ends: before the replaced ones, the replaced ones, and after them. */
  before: readonly string[];
  old: readonly string[];
  after: readonly string[];
}

export interface Repaired {
  lines: string[];
  repairs: string[];
  /** Whether copied neighboring lines were removed. */
  hadCopies: boolean;
}

/** Removes what models write around code, and indents the rest like the anchored lines. Null if nothing new is left. */
export function repair(suggestion: string, around: Anchored): Repaired | null {
  const written = suggestion.split("\n").map((line) => line.replace(/[\r\u240D]+$/, ""));
  const steps: [string, (lines: string[], around: Anchored) => string[] | null][] = [
    ["the Markdown fence around it was removed", unfenced],
    ["line numbers were removed", unnumbered],
    ["diff signs were removed", undiffed],
    ["copies of the lines directly before it were removed", withoutHead],
    ["copies of the lines directly after it were removed", withoutTail],
    ["the indentation was adapted to the file", indented],
  ];
  let lines = trimmed(written, around.old);
  const repairs: string[] = [];
  let hadCopies = false;
  for (const [what, step] of steps) {
    const better = step(lines, around);
    if (!better) continue;
    lines = trimmed(better, around.old);
    if (lines.length === 0 && step !== unfenced) return null;
    repairs.push(what);
    hadCopies ||= step === withoutHead || step === withoutTail;
  }
  return { lines, repairs, hadCopies };
}

/** Without empty lines at the ends, unless the anchored lines have some there. */
function trimmed(lines: readonly string[], old: readonly string[]): string[] {
  const first = lines.findIndex((line) => !isBlank(line));
  if (first < 0) return [];
  const last = lines.findLastIndex((line) => !isBlank(line));
  const leading = Math.max(
    0,
    old.findIndex((line) => !isBlank(line)),
  );
  const trailing = old.length - 1 - old.findLastIndex((line) => !isBlank(line));
  return lines.slice(Math.max(0, first - leading), last + 1 + (trailing < old.length ? trailing : 0));
}

/** The text inside a fence around the whole, or inside a nested fence; null if there is none. */
function unfenced(lines: string[], { path }: Anchored): string[] | null {
  const info = isProse(path) ? "(?:suggestion)" : "[\\w+#.-]*";
  const opening = new RegExp(`^\\s{0,3}(\`{3,}|~{3,})\\s*${info}\\s*$`);
  let inner = lines;
  for (let layer = 0; layer < 3 && inner.length > 1; layer++) {
    const marks = opening.exec(inner[0] ?? "")?.[1];
    if (marks === undefined || inner.at(-1)?.trim() !== marks) break;
    inner = trimmed(inner.slice(1, -1), []);
  }
  return inner === lines ? null : inner;
}

/** Our numbered listings are `12| code`, our diffs `12 +code`. Null unless every line has a number. */
function unnumbered(lines: string[], { old }: Anchored): string[] | null {
  for (const pattern of [/^\s*\d+\|(?: |$)/, /^\s*\d+ [+ ]/]) {
    const isCode = old.some((line) => pattern.test(line));
    if (!isCode && lines.length > 0 && lines.every((line) => pattern.test(line)))
      return someCode(lines.map((line) => line.replace(pattern, "")));
  }
  return null;
}

/** The new side of a diff. If the anchored code itself begins with a sign, signs are code. */
function undiffed(lines: string[], { path, old }: Anchored): string[] | null {
  if (isProse(path) || old.some((line) => /^[+-]/.test(line))) return null;
  const hunk = lines.filter((line) => !/^(?:@@ .*@@|--- |\+\+\+ |\\ No newline)/.test(line));
  const texts = new Set(old.map((line) => line.trim()));
  const isOf = (line: string) =>
    /^[+ ]/.test(line) || (line.startsWith("-") && texts.has(line.slice(1).trim()));
  const signs = new Set(filled(hunk).map((line) => line[0]));
  if (!signs.has("+") || (signs.has(" ") && !signs.has("-")) || !filled(hunk).every(isOf)) return null;
  return someCode(hunk.filter((line) => !line.startsWith("-")).map((line) => line.slice(1)));
}

/** Null if there is no code: only an empty suggestion deletes lines. */
const someCode = (lines: string[]) => (filled(lines).length > 0 ? lines : null);

/** Models also copy lines that are directly before the anchored ones. */
function withoutHead(lines: string[], { before }: Anchored): string[] | null {
  const copied = copiedLines(lines, filled(before.slice(-80)).slice(-40));
  return copied > 0 ? trimmed(lines.slice(copied), []) : null;
}

/** The same for lines directly after. */
function withoutTail(lines: string[], { after }: Anchored): string[] | null {
  const below = filled(after.slice(0, 80)).slice(0, 40);
  const copied = copiedLines(lines.toReversed(), below.toReversed());
  return copied > 0 ? trimmed(lines.slice(0, -copied), []) : null;
}

/** The number of first lines that are the last ones of `near`. Brackets and `end` often occur twice, and do not count. */
function copiedLines(lines: readonly string[], near: readonly string[]): number {
  const own = lines.flatMap((line, at) => (isBlank(line) ? [] : [{ text: line.trim(), at }]));
  let length = Math.min(near.length, own.length);
  const isCopy = (count: number) => near.slice(-count).every((line, at) => line.trim() === own[at]?.text);
  while (length > 0 && !isCopy(length)) length--;
  return own.slice(0, length).some(({ text }) => isSignificant(text)) ? (own[length]?.at ?? lines.length) : 0;
}

/** Whether a line is more than brackets and the end of a block. */
export const isSignificant = (line: string) => /\w/.test(line.replace(/\b(?:end|fi|done|esac)\b/g, ""));

/** The lines indented like the anchored ones, with their relative indentation. Null if they already are. */
function indented(written: string[], around: Anchored): string[] | null {
  const placed = atAnchor(written, around);
  return placed.some((line, at) => line !== written[at]) ? placed : null;
}

function atAnchor(lines: string[], { path, old }: Anchored): string[] {
  const model = old.find((line) => !isBlank(line));
  const [first, ...others] = lines;
  if (model === undefined || first === undefined) return lines;
  const [own, base] = [indentOf(first), indentOf(model)];
  if (own === base) return lines;
  // If an old line returns at its old indentation, only the first line is misplaced.
  const texts = new Set(old.map((line) => line.trim()));
  const same = filled(others).filter((line) => texts.has(line.trim()));
  const back = same.some(isSignificant) ? same.filter(isSignificant) : same;
  const kept = back.filter((line) => old.includes(line)).length;
  const isFirstOut = own.length < base.length;
  if (kept * 2 > back.length) return isFirstOut ? [base + first.trimStart(), ...others] : lines;
  // Either all lines are misplaced or only the first one: this decides which blocks they are in.
  const isUnclear = isFirstOut && isIndented(path) && filled(others).every((line) => line.startsWith(base));
  if (isUnclear && filled(others).length > 0) return lines;
  return lines.map((line) => {
    if (isBlank(line)) return "";
    const indent = indentOf(line);
    const rest = indent.startsWith(own) ? indent.slice(own.length) : null;
    const less = base.slice(0, Math.max(0, base.length - (own.length - indent.length)));
    return (rest === null ? less : base + rest) + line.trimStart();
  });
}

/** One level of indentation in the anchored lines, or else in the file: a tab, or some spaces. */
export function unitOf(file: readonly string[], old: readonly string[]): string {
  const count = (lines: readonly string[], indent: string) =>
    lines.filter((line) => line.startsWith(indent)).length;
  const shows = count(old, "\t") + count(old, "  ") > 0 ? old : file;
  return count(shows, "\t") > count(shows, "  ") ? "\t" : " ".repeat(stepOf(file));
}

/** Whether a line is indented with the other character than the file. */
export const breaksStyle = (lines: readonly string[], unit: string) =>
  lines.some((line) => !isBlank(line) && (unit === "\t" ? /^\t* {4}|^ {2}(?!\s*\*)/ : /^ *\t/).test(line));

export const indentOf = (line: string) => /^[ \t]*/.exec(line)?.[0] ?? "";

export const isBlank = (line: string) => line.trim() === "";

export const filled = (lines: readonly string[]) => lines.filter((line) => !isBlank(line));

/** Files in which indentation forms blocks. */
export const isIndented = (path: string) =>
  /^(?:pyi?|ya?ml|coffee|nim|gd|sass|styl|haml|slim|pug|fs|fsx|hs|elm|purs)$/.test(extensionOf(path));

/** Files that people read as text: they are not compiled. */
export const isProse = (path: string) =>
  /(?:\.(?:md|markdown|mdx|rst|txt|adoc)|(?:^|\/)(?:readme|licen[cs]e|changelog|notice|contributing))$/i.test(
    path,
  );

/** The most frequent step in spaces from one line to a deeper one; four if there is none. */
export function stepOf(lines: readonly string[]): number {
  const counts = new Map<number, number>();
  let previous = 0;
  for (const line of filled(lines)) {
    const width = /^ */.exec(line)?.[0].length ?? 0;
    if (width - previous > 1 && width - previous <= 8)
      counts.set(width - previous, (counts.get(width - previous) ?? 0) + 1);
    previous = width;
  }
  const [first] = [...counts].toSorted((a, b) => b[1] - a[1] || a[0] - b[0]);
  return first?.[0] ?? 4;
}
