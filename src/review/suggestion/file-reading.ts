import { hasGrammar, readSyntax, type SyntaxReading } from "../../analyzers/syntax-faults.ts";
import { extensionOf } from "../../syntax/grammars.ts";
import { type BlockEffect, effectOf, marksOf } from "./balance.ts";
import { type DataReading, isData, readDataFile } from "./data-faults.ts";
import { lexisOf } from "./lexis.ts";
import { maskLines } from "./mask.ts";
import { type LayoutFault, layoutFaults } from "./python-layout.ts";

/** What can be told of a version of a file, and of some of its lines. */
export interface FileReading {
  syntax: SyntaxReading | null;
  data: DataReading | null;
  layout: LayoutFault[];
  /** What the lines do to the blocks around them, and what they leave open for the next. */
  effect: BlockEffect;
  lines: number;
}

/** Whether a parser decides about the files of a path, and not brackets and words alone. */
export const hasParser = (path: string) => hasGrammar(path) || isData(path);

/** Reads a file with whatever knows its language; null where that cannot tell. Indices from 0, the end exclusive. */
export async function readFile(
  path: string,
  lines: readonly string[],
  start: number,
  end: number,
): Promise<FileReading | null> {
  const text = lines.join("\n");
  const withSyntax = hasGrammar(path);
  const syntax = withSyntax ? await readSyntax(path, text, { start: start + 1, end }) : null;
  const data = isData(path) ? await readDataFile(path, text) : null;
  if ((withSyntax && !syntax) || (isData(path) && !data)) return null;
  const layout = /^pyi?$/.test(extensionOf(path)) ? layoutFaults(lines) : [];
  const effect = syntax ? effectOf(syntax.marks) : lexicalEffect(path, lines.slice(0, end), start);
  return { syntax, data, layout, effect, lines: lines.length };
}

function lexicalEffect(path: string, lines: readonly string[], start: number): BlockEffect {
  const lexis = lexisOf(path);
  const masked = maskLines(lines, lexis);
  const own = masked.slice(start);
  const odd = own.reduce((sum, { oddQuotes }) => sum + oddQuotes, 0);
  const effect = effectOf(marksOf(own, lexis, start + 1));
  const code = own.map((line) => line.code).join("\n");
  const count = (word: RegExp) => code.match(new RegExp(word, `${word.flags}m`))?.length ?? 0;
  const partners = (lexis.words?.partners ?? []).map(([one, other]) => count(one) - count(other));
  const open = `${masked.at(-1)?.open ?? null}; ${fenceAfter(lines)}`;
  return { ...effect, text: `${effect.text}; ${odd} odd; ${partners}; ${open}` };
}

/** The Markdown fence that is open after some lines. */
function fenceAfter(lines: readonly string[]): string | null {
  let open: string | null = null;
  for (const line of lines) {
    const [, marks, info] = /^\s*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (marks === undefined) continue;
    if (open === null) open = marks;
    else if (marks.startsWith(open) && info?.trim() === "") open = null;
  }
  return open;
}
