import { extentOf } from "./extent.ts";
import { type Located, locateKinds } from "./find-nodes.ts";
import { extensionOf, type Grammar, grammarOf, grammarsOf, loadAstGrep } from "./grammars.ts";
import { createLayoutSource } from "./layout-source.ts";
import { indexLines } from "./line-index.ts";
import { once } from "./ranges.ts";
import { shapes } from "./shapes/all-shapes.ts";
import type { Source } from "./source.ts";
import { createTreeSource } from "./tree-source.ts";
import { isNestedTooDeep, isTooDeep, isWorthParsing } from "./worth-parsing.ts";

/**
 * What a source file consists of. Without a grammar for its path, and where it is nested too deeply to be searched, it is guessed
 * from the layout. Null for texts that nobody wrote by hand or that are too large ({@link isWorthParsing}), and for binaries.
 */
export async function parseSource(path: string, text: string): Promise<Source | null> {
  return (await parseText(path, text))?.source ?? null;
}

/** A text that was read, and its syntax tree where a parser read it. */
export interface ParsedText {
  source: Source;
  tree: ParsedTree | null;
}

export interface ParsedTree {
  /** The name ast-grep knows its grammar by. */
  dialect: string;
  /** Nodes of the kinds that were asked for beside, among others. */
  located(): readonly Located[];
  /** First and last line, from 1, of each statement at the top of the file, and of each comment there. */
  statements(): { start: number; end: number }[];
  /** Whether the parser understood all of the text and added nothing to it. */
  isSound(): boolean;
}

/**
 * As {@link parseSource}, for those who look at the tree as well.
 *
 * @param beside kinds of nodes that are asked for, by the dialect: they are found together with those of the definitions, since
 *   each node that is handed over costs as much as parsing some words does
 */
export async function parseText(
  path: string,
  text: string,
  beside: (dialect: string) => readonly string[] = () => [],
): Promise<ParsedText | null> {
  if (text.includes("\0") || !isWorthParsing(text)) return null;
  const grammar = grammarFor(path, text);
  const byLayout = () => ({ source: createLayoutSource(path, text), tree: null });
  if (!grammar || isNestedTooDeep(text)) return byLayout();
  const astGrep = await loadAstGrep();
  const root = astGrep.parse(grammar.dialect, text).root();
  if (isTooDeep(root)) return byLayout();
  const hasKind = kindsOf(grammar.dialect, astGrep.kind);
  const { dialect, language } = grammar;
  const shape = shapes[language];
  const asked = beside(dialect);
  const all = new Set([...asked, ...Object.keys(shape.definitions)].filter(hasKind));
  const located = once(() => locateKinds(root, all));
  const source = createTreeSource({
    ...{ text, root, shape, hasKind },
    located: asked.length > 0 ? located : undefined,
  });
  const { lineAt } = indexLines(text);
  const statements = () =>
    root.children().map((node) => {
      const { from, to } = extentOf(node);
      return { start: lineAt(from), end: lineAt(Math.max(from, to - 1)) };
    });
  const isSound = () => root.find({ rule: { any: [{ kind: "ERROR" }, { regex: "^$" }] } }) === null;
  return { source, tree: { dialect, located, statements, isSound } };
}

/** Kinds that were asked for, by the dialect: each question to the parser costs as much as parsing a word does. */
const knownKinds = new Map<string, Map<string, boolean>>();

function kindsOf(dialect: string, number: (dialect: string, kind: string) => number) {
  const known = knownKinds.get(dialect) ?? new Map<string, boolean>();
  knownKinds.set(dialect, known);
  return (kind: string): boolean => {
    let has = known.get(kind);
    if (has === undefined) {
      has = number(dialect, kind) !== 0;
      known.set(kind, has);
    }
    return has;
  };
}

/** Blanks alone in front: taken with line feeds, they would be taken again from each empty line on. */
const cppWords = /^[ \t]*(class|namespace|template|public:|private:|using)\b|\b\w+::\w/m;

/** Headers are C++ where they use its words. */
function grammarFor(path: string, text: string): Grammar | null {
  const isCppHeader = extensionOf(path) === "h" && cppWords.test(text);
  return isCppHeader ? (grammarsOf("cpp")[0] ?? null) : grammarOf(path);
}
