import type { BlockMark } from "../../analyzers/syntax-faults.ts";
import type { Lexis } from "./lexis.ts";
import type { MaskedLine } from "./mask.ts";

const pairs: Record<string, string> = { "(": "()", ")": "()", "[": "[]", "]": "[]", "{": "{}", "}": "{}" };

/** Elements of HTML without an end tag. */
const voidTags =
  /^(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr|!doctype|p|li|dt|dd|option|td|th|tr)$/;

const tag = /<(\/?)([A-Za-z][\w:.-]*)((?:"[^"]*"|'[^']*'|[^"'<>])*)>|<(?=[A-Za-z/])/g;
const leadingTag = /^\s*<(\/?)([A-Za-z][\w:.-]*)((?:"[^"]*"|'[^']*'|[^"'<>])*)>/gm;

/** Blocks of template engines: Go templates, Jinja and its kin. */
const templateMark =
  /\{\{-?\s*(?:(if|range|with|define|block)|(end))\b|\{%-?\s*(?:(if|for|block|macro|raw|filter|call)|(end\w+))\b|(\{\{|\{%)|(\}\}|%\})/g;

/** What opens and closes blocks on some lines, in order, as far as a language is known without a grammar. */
export function marksOf(masked: readonly MaskedLine[], lexis: Lexis): BlockMark[] {
  const code = masked.map((line) => line.code);
  return [
    ...code.flatMap((line) => lineMarks(line, lexis)),
    ...(lexis.tags ? tagMarks(code.join("\n"), lexis.tags) : []),
    ...(lexis.brackets ? [] : templateMarks(code.join("\n"))),
  ];
}

function lineMarks(line: string, { words, brackets, heredoc }: Lexis): BlockMark[] {
  const found: { at: number; mark: BlockMark }[] = [];
  // A pattern of a shell's case ends in a parenthesis that nothing opens.
  const pattern = heredoc && words ? (/^\s*[^()\s][^()]*\)/.exec(line)?.[0].length ?? 0) : 0;
  for (const { 0: bracket, index } of brackets ? line.matchAll(/[()[\]{}]/g) : []) {
    if (index === pattern - 1) continue;
    found.push({ at: index, mark: { opens: "([{".includes(bracket), pair: pairs[bracket] ?? bracket } });
  }
  if (words) {
    for (const { index } of line.matchAll(words.opens))
      found.push({ at: index, mark: { opens: true, pair: "words" } });
    for (const { index } of line.matchAll(words.closes))
      found.push({ at: index, mark: { opens: false, pair: "words" } });
  }
  return found.toSorted((a, b) => a.at - b.at).map(({ mark }) => mark);
}

function tagMarks(text: string, where: "everywhere" | "leading"): BlockMark[] {
  const matches = [...text.matchAll(where === "everywhere" ? tag : leadingTag)];
  return matches.flatMap(([, slash, name, attributes]) => {
    // A tag that its own line does not end.
    if (name === undefined) return [{ opens: true, pair: "<" }];
    if (attributes?.endsWith("/") || voidTags.test(name)) return [];
    return [{ opens: slash === "", pair: `<${name}>` }];
  });
}

function templateMarks(text: string): BlockMark[] {
  return [...text.matchAll(templateMark)].flatMap(
    ([match, opensGo, closesGo, opensJinja, closesJinja, opens]) => {
      const blockOpens = opensGo ?? opensJinja;
      const bracket = { opens: opens !== undefined || match.startsWith("{"), pair: "{{}}" };
      if (blockOpens !== undefined) return [bracket, { opens: true, pair: "template" }];
      return (closesGo ?? closesJinja) === undefined
        ? [bracket]
        : [bracket, { opens: false, pair: "template" }];
    },
  );
}

/**
 * What some lines do to the blocks around them: those that they close, and those that they leave open. Lines that replace
 * others must do the same, or what comes after them means something else. Words are told apart from brackets, for a
 * preprocessor's conditions need not nest with them.
 */
export function effectOf(marks: readonly BlockMark[]): string {
  const isWord = ({ pair }: BlockMark) => pair === "words" || pair === "template";
  return [marks.filter(isWord), marks.filter((mark) => !isWord(mark))].map(effectOfKind).join("; ");
}

function effectOfKind(marks: readonly BlockMark[]): string {
  const closed: string[] = [];
  const open: string[] = [];
  let wrong = 0;
  for (const { opens, pair } of marks) {
    if (opens) open.push(pair);
    else if (open.length === 0) closed.push(pair);
    else if (open.pop() !== pair) wrong++;
  }
  return `${closed.join(" ")} | ${open.join(" ")} | ${wrong}`;
}
