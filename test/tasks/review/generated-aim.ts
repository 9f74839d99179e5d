import fc from "fast-check";
import type { ReportedFinding } from "../../../src/agent/tools/tool.ts";
import type { Side } from "../../../src/core/finding.ts";
import { type Source, squeezed } from "./change-sources.ts";

/** What a generated model quotes, and how wrong it is about it. Positions count round. */
export interface Aim {
  file: number;
  /** Lines of one side, or rows of a hunk as the diff shows both sides. */
  source: Side | "rows";
  at: number;
  length: number;
  form: "exact" | "spaced" | "numbered" | "signed" | "part" | "misspelled";
  /** How far off the stated number is. */
  off: number;
  otherSide: boolean;
  /** How many more lines are stated before the last one. */
  range: number;
  path: "new" | "old" | "unknown";
}

const aim: fc.Arbitrary<Aim> = fc.record({
  file: fc.nat(50),
  source: fc.constantFrom("RIGHT", "RIGHT", "LEFT", "rows"),
  at: fc.nat(3_000),
  length: fc.constantFrom(1, 1, 1, 2, 3, 5),
  form: fc.constantFrom("exact", "exact", "spaced", "numbered", "signed", "part", "misspelled"),
  off: fc.oneof(
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 2, arbitrary: fc.integer({ min: -6, max: 6 }) },
    { weight: 1, arbitrary: fc.constantFrom(-40, 40, 100_000) },
  ),
  otherSide: fc.integer({ min: 0, max: 9 }).map((chance) => chance === 0),
  range: fc.constantFrom(0, 0, 0, 1, 3, 8, 30, 2_000),
  path: fc.constantFrom("new", "new", "new", "new", "new", "old", "unknown"),
});

export const aims = fc.array(aim, { minLength: 30, maxLength: 60 });

/** What was quoted, as it really stands: lines `start` to `end` of a side. */
export interface Truth {
  source: Source;
  side: Side;
  start: number;
  end: number;
  texts: string[];
}

/** A finding to report, and what it was made from; without a truth its quote stands nowhere. */
export interface Shot {
  aim: Aim;
  reported: ReportedFinding;
  truth: Truth | undefined;
}

export function shoot(aim: Aim, sources: readonly Source[], title: string): Shot {
  const source = sources[aim.file % sources.length]!;
  const found = aim.source === "rows" ? rowsOf(aim, source) : linesOf(aim, aim.source, source);
  const blank = !found || found.texts.every((text) => squeezed(text) === "");
  const truth = blank || aim.form === "misspelled" || aim.path === "unknown" ? undefined : found;
  const path = { new: source.path, old: source.oldPath ?? source.path, unknown: "no/such file" }[aim.path];
  const side = truth?.side ?? "RIGHT";
  const line = Math.max(1, (truth?.end ?? 1) + aim.off);
  return {
    aim,
    truth: truth && { ...truth, source },
    reported: {
      path,
      side: aim.otherSide ? (side === "LEFT" ? "RIGHT" : "LEFT") : side,
      line,
      start_line: aim.range === 0 || line === 1 ? null : Math.max(1, line - aim.range),
      quote: truth ? truth.shown : `zz${found?.texts[0] ?? ""}qq`,
      severity: (["critical", "high", "medium", "low"] as const)[aim.at % 4]!,
      category: "correctness",
      ...{ title, body: "What goes wrong.", suggestion: aim.at % 3 === 0 ? "better();" : null },
      ...{ confidence: 0.5, reached: true, evidence: [] },
    },
  };
}

type Quoted = Omit<Truth, "source"> & { shown: string };

function linesOf({ at, length, form }: Aim, wanted: Side, { lines }: Source): Quoted | undefined {
  const side = lines[wanted]?.length ? wanted : wanted === "LEFT" ? "RIGHT" : "LEFT";
  const all = lines[side];
  if (!all?.length) return undefined;
  const first = at % all.length;
  const texts = all.slice(first, form === "part" ? first + 1 : first + length);
  const sign = side === "LEFT" ? "-" : "+";
  const shown = texts.map((text, index) => written(text, form, first + 1 + index, sign, at));
  const quoted = form === "part" ? shown : texts;
  return { side, start: first + 1, end: first + texts.length, texts: quoted, shown: shown.join("\n") };
}

function written(text: string, form: Aim["form"], number: number, sign: string, at: number): string {
  if (form === "spaced") return `\t ${squeezed(text).replaceAll(" ", " \t ")}  `;
  if (form === "numbered") return at % 2 ? `${number}| ${text}` : `${number} ${sign}${text}`;
  if (form === "signed") return `${sign}${text}`;
  if (form !== "part") return text;
  const trimmed = [...squeezed(text)];
  const from = at % Math.max(1, trimmed.length - 2);
  return trimmed.slice(from, from + 1 + (at % 9)).join("");
}

/** Rows of one hunk as `diff_file` shows them, or without their numbers, or without signs. */
function rowsOf({ at, length, form }: Aim, { diff, isFile }: Source): Quoted | undefined {
  const hunk = isFile && diff?.hunks[at % Math.max(1, diff.hunks.length)];
  if (!hunk) return undefined;
  const rows = hunk.rows.slice(at % hunk.rows.length).slice(0, length + 1);
  const texts = rows.map((row) => row.text.slice(1));
  // The double reads what is not UTF-8 otherwise than the bot.
  if (texts.some((text) => text.includes("\ufffd"))) return undefined;
  const side = rows.some((row) => row.RIGHT !== null) ? "RIGHT" : "LEFT";
  const numbers = rows.flatMap((row) => row[side] ?? []);
  const shown = rows.map(({ text, LEFT, RIGHT }) => {
    if (form === "signed") return text;
    return form === "numbered" ? `${RIGHT ?? LEFT} ${text}` : text.slice(1);
  });
  return { side, start: numbers[0]!, end: numbers.at(-1)!, texts, shown: shown.join("\n") };
}
