import type { BlockMark } from "../../analyzers/syntax-faults.ts";
import { firstIndex } from "../../syntax/first-index.ts";
import type { Lexis } from "./lexis.ts";
import type { MaskedLine } from "./mask.ts";

const pairs: Record<string, string> = { "(": "()", ")": "()", "[": "[]", "]": "[]", "{": "{}", "}": "{}" };

/** Elements of HTML without an end tag. */
const voidTags =
  /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|!doctype|p|li|dt|dd|option|td|th|tr)$/;

const tag = /<(\/?)([A-Za-z][\w:.-]*)(?![\w:.-])((?:"[^"]*"|'[^']*'|[^"'<>])*)>|<(?=[A-Za-z/])/g;
const leadingTag = /^[^\S\n]*<(\/?)([A-Za-z][\w:.-]*)(?![\w:.-])((?:"[^"]*"|'[^']*'|[^"'<>])*)>/gm;

/** Blocks of template engines: Go templates, Jinja and its kin. */
const templateMark =
  /\{\{-?\s*(?:(if|range|with|define|block)|(end))\b|\{%-?\s*(?:(if|for|block|macro|raw|filter|call)|(end\w+))\b|(\{\{|\{%)|(\}\}|%\})/g;

/** What opens and closes blocks on some lines, in order, as far as a language is known without a grammar. */
export function marksOf(masked: readonly MaskedLine[], lexis: Lexis, firstLine: number): BlockMark[] {
  const code = masked.map((line) => line.code);
  const text = code.join("\n");
  const found = [
    ...(lexis.tags ? tagMarks(text, lexis.tags) : []),
    ...(lexis.brackets ? [] : templateMarks(text)),
  ];
  const lineStarts = startsOf(code);
  return [
    ...code.flatMap((line, at) => lineMarks(line, lexis).map((mark) => ({ ...mark, line: firstLine + at }))),
    ...found.map(({ at, ...mark }) => ({
      ...mark,
      line: firstLine + firstIndex(lineStarts, (start) => start > at) - 1,
    })),
  ];
}

function startsOf(lines: readonly string[]): number[] {
  let start = 0;
  return lines.map((line) => {
    const own = start;
    start += line.length + 1;
    return own;
  });
}

/** A mark in a text, at an offset. */
interface Found extends Omit<BlockMark, "line"> {
  at: number;
}

function lineMarks(line: string, { words, brackets, arms }: Lexis): Found[] {
  const found: Found[] = [];
  // A pattern of a shell's case ends in a parenthesis that nothing opens.
  const pattern = arms ? (/^\s*[^()\s][^()]*\)/.exec(line)?.[0].length ?? 0) : 0;
  if (pattern > 0) found.push({ at: pattern - 1, opens: true, pair: "arm" });
  const add = (matches: Iterable<{ index: number }>, opens: boolean, pair: string) => {
    for (const { index } of matches) found.push({ at: index, opens, pair });
  };
  if (arms) add(line.matchAll(/;;&?|;&/g), false, "arm");
  for (const { 0: bracket, index } of brackets ? line.matchAll(/[()[\]{}]/g) : []) {
    if (index !== pattern - 1) add([{ index }], "([{".includes(bracket), pairs[bracket] ?? bracket);
  }
  if (words) {
    add(line.matchAll(words.opens), true, "words");
    add(line.matchAll(words.closes), false, "words");
  }
  return found.toSorted((a, b) => a.at - b.at);
}

function tagMarks(text: string, where: "everywhere" | "leading"): Found[] {
  const matches = [...text.matchAll(where === "everywhere" ? tag : leadingTag)];
  return matches.flatMap(({ 1: slash, 2: name, 3: attributes, index }) => {
    // A tag that its own line does not end.
    if (name === undefined) return [{ at: index, opens: true, pair: "<" }];
    if (attributes?.endsWith("/") || voidTags.test(name)) return [];
    return [{ at: index, opens: slash === "", pair: `<${name}>` }];
  });
}

function templateMarks(text: string): Found[] {
  return [...text.matchAll(templateMark)].flatMap((match) => {
    const [whole, opensGo, closesGo, opensJinja, closesJinja] = match;
    const at = match.index;
    const bracket = { at, opens: whole.startsWith("{"), pair: "{{}}" };
    if ((opensGo ?? opensJinja) !== undefined) return [bracket, { at, opens: true, pair: "template" }];
    if ((closesGo ?? closesJinja) !== undefined) return [bracket, { at, opens: false, pair: "template" }];
    return [bracket];
  });
}

/** What some lines do to the blocks around them. */
export interface BlockEffect {
  /** Those that they close, those that they leave open, and brackets that do not fit; equal for lines that do the same. */
  text: string;
  /** The lines that begin what they leave open, outermost first; 1-indexed. */
  heads: number[];
  closes: boolean;
}

/**
 * Lines that replace others must do the same to the blocks around them, or what comes after them means something else. Words
 * are told apart from brackets, for a preprocessor's conditions need not nest with them.
 */
export function effectOf(marks: readonly BlockMark[]): BlockEffect {
  const isWord = ({ pair }: BlockMark) => /^(?:words|arm|template)$/.test(pair);
  const kinds = [marks.filter(isWord), marks.filter((mark) => !isWord(mark))].map(unpaired);
  const named = (all: readonly BlockMark[]) => all.map(({ pair }) => pair).join(" ");
  return {
    text: kinds.map(({ closed, open, wrong }) => `${named(closed)} | ${named(open)} | ${wrong}`).join("; "),
    heads: kinds.flatMap(({ open }) => open.map(({ line }) => line)),
    closes: kinds.some(({ closed }) => closed.length > 0),
  };
}

function unpaired(marks: readonly BlockMark[]): { closed: BlockMark[]; open: BlockMark[]; wrong: number } {
  const closed: BlockMark[] = [];
  const open: BlockMark[] = [];
  let wrong = 0;
  for (const mark of marks) {
    if (mark.opens) open.push(mark);
    else if (open.length === 0) closed.push(mark);
    else if (open.pop()?.pair !== mark.pair) wrong++;
  }
  return { closed, open, wrong };
}
