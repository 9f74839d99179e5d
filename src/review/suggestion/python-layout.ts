import { logicalLines } from "./block-lines.ts";
import { widthOf } from "./indentation.ts";
import { lexisOf } from "./lexis.ts";
import { maskLines } from "./mask.ts";

/** A line whose indentation Python refuses. The grammar takes any. */
export interface LayoutFault {
  /** Index of the line. */
  at: number;
  what: string;
}

/**
 * The rules of https://docs.python.org/3/reference/lexical_analysis.html#indentation: a block is indented more than its head,
 * nothing else is, and a line that ends blocks stands where one of the blocks around it does.
 */
export function layoutFaults(lines: readonly string[]): LayoutFault[] {
  const masked = maskLines(lines, lexisOf("a.py"));
  const starts = logicalLines(masked);
  const faults: LayoutFault[] = [];
  const widths = [0];
  let head: number | null = null;
  for (const [nth, at] of starts.entries()) {
    const width = widthOf(lines[at] ?? "");
    const fault = misplaced(width, widths, head, at);
    if (fault) faults.push(fault);
    head = opensBlock(masked.slice(at, starts[nth + 1]).map(({ code }) => code)) ? at : null;
  }
  if (head !== null) faults.push({ at: head, what: empty });
  return [...faults, ...loneTries(lines, starts)];
}

/** A `try` whose block is not followed by what is to happen then. */
function loneTries(lines: readonly string[], starts: readonly number[]): LayoutFault[] {
  const isTry = (at: number) => /^\s*try\s*:/.test(lines[at] ?? "");
  return starts.flatMap((at, nth) => {
    if (!isTry(at)) return [];
    const width = widthOf(lines[at] ?? "");
    let next = nth + 1;
    while (next < starts.length && widthOf(lines[starts[next] ?? 0] ?? "") > width) next++;
    const line = lines[starts[next] ?? -1] ?? "";
    const isHandled = widthOf(line) === width && /^\s*(?:except|finally)\b/.test(line);
    return isHandled ? [] : [{ at, what: "a try would have neither except nor finally" }];
  });
}

const empty = "a block would hold nothing";

/** The fault of a line behind the open blocks of these widths, which it closes and adds to; `head` opened one just before. */
function misplaced(width: number, widths: number[], head: number | null, at: number): LayoutFault | null {
  const current = widths.at(-1) ?? 0;
  while (width < (widths.at(-1) ?? 0)) widths.pop();
  const isBetween = width > (widths.at(-1) ?? 0);
  if (isBetween) widths.push(width);
  if (head !== null && width <= current) return { at: head, what: empty };
  if (head === null && width > current) return { at, what: "a line would be indented more than its block" };
  return isBetween && width < current
    ? { at, what: "a line would be indented like no block around it" }
    : null;
}

/** Whether the code of a logical line ends in a colon. */
function opensBlock(code: readonly string[]): boolean {
  return (
    code
      .findLast((line) => line.trim() !== "")
      ?.trimEnd()
      .endsWith(":") ?? false
  );
}
