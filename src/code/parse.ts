import type { SgNode } from "@ast-grep/napi";
import { extensionOf, type Grammar, grammarOf, grammarsOf, loadAstGrep } from "./languages.ts";
import { createLayoutSource } from "./layout-source.ts";
import { shapes } from "./shapes/all-shapes.ts";
import { once, type Source } from "./source.ts";
import { extentOf, indexLines, type Located, locateKinds } from "./tree.ts";
import { createTreeSource } from "./tree-source.ts";

/** A syntax tree takes up to 200 bytes for each character of dense code: beyond this a file costs too much memory. */
const maximumCharacters = 300_000;
/** Longer lines on average are written by machines. */
const maximumAverageLine = 300;

/** Whether a text is small enough to parse and looks as if a person wrote it. */
export function isWorthParsing(text: string): boolean {
  return text.length <= maximumCharacters && text.length / text.split("\n").length <= maximumAverageLine;
}

/**
 * Levels of a syntax tree; a chain of 190 `else if` has about that many. Rules look at what is around a node and inside of
 * it, natively and without a pause, and on a chain of thousands that takes minutes.
 */
const maximumDepth = 400;

/**
 * Whether brackets are nested deeper than a tree may be, strings and comments included. A parser spends seconds on thousands
 * of brackets that nothing closes, and what it makes of them is one flat error.
 */
export function isNestedTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const step = nesting[text.charCodeAt(at)];
    if (step === undefined || step === 0) continue;
    depth = Math.max(0, depth + step);
    if (depth > maximumDepth) return true;
  }
  return false;
}

/** What a character adds to the depth, by its code. Sets take five times as long. */
const nesting = Int8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return "([{".includes(character) ? 1 : ")]}".includes(character) ? -1 : 0;
});

/**
 * Nesting takes tokens. Of 39,000 units of up to five tokens that were tried in the grammars, each repeated 40 times, the densest
 * made two levels of each token (`a b c` is two calls in Ruby) and a few around the innermost one.
 */
const levelsOfToken = 2;
const innermostLevels = 8;

/**
 * Whether a tree has more levels than it can be searched with. Each question to the tree costs as much as parsing a line does:
 * it is asked only for nodes that hold enough tokens to be that deep.
 */
export function isTooDeep(root: SgNode): boolean {
  const text = root.text();
  const first = extentOf(root).from;
  const tokens = tokensBefore(text);
  /** The most levels that a node may have, itself among them. */
  const levelsIn = (node: SgNode) => {
    const { from, to } = extentOf(node);
    const count = (tokens[to - first] ?? 0) - (tokens[from - first] ?? 0);
    return levelsOfToken * count + innermostLevels;
  };
  if (levelsIn(root) <= maximumDepth) return false;
  const open = [{ node: root, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    if (depth > maximumDepth) return true;
    for (const child of node.children())
      if (depth + levelsIn(child) > maximumDepth) open.push({ node: child, depth: depth + 1 });
  }
  return false;
}

/** How many tokens begin in front of each index: words, and every other character but blanks. */
function tokensBefore(text: string): Uint32Array {
  const tokens = new Uint32Array(text.length + 1);
  let count = 0;
  let last: number = blank;
  for (let at = 0; at < text.length; at++) {
    const now = classes[text.charCodeAt(at)] ?? sign;
    if (now === sign || (now === letter && last !== letter)) count += 1;
    tokens[at + 1] = count;
    last = now;
  }
  return tokens;
}

const blank = 0;
const letter = 1;
/** Also what is beyond ASCII: nobody knows what an operator is made of. */
const sign = 2;
const classes = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /\s/.test(character) ? blank : /\w/.test(character) ? letter : sign;
});

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
    ...{ path, text, root, shape, hasKind },
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
