import type { SgNode } from "@ast-grep/napi";
import { LRUCache } from "lru-cache";
import { extensionOf, type Grammar, grammarOf, grammarsOf, loadAstGrep } from "./languages.ts";
import { createLayoutSource } from "./layout-source.ts";
import { shapes } from "./shapes/all-shapes.ts";
import { memo, once, type Source } from "./source.ts";
import { CachedNode, extentOf, indexLines } from "./tree.ts";
import { createTreeSource } from "./tree-source.ts";

/** A syntax tree takes up to 200 bytes for each character of dense code: a larger file takes too much memory. */
const maximumCharacters = 600_000;
/** If lines are longer on average, the file is generated. */
const maximumAverageLine = 300;

/** Whether a text is small enough to parse and looks handwritten. */
export function isWorthParsing(text: string): boolean {
  return text.length <= maximumCharacters && text.length / text.split("\n").length <= maximumAverageLine;
}

/** Maximum levels of a syntax tree: rules search around and inside a node without a pause, on a chain of thousands for minutes. */
const maximumDepth = 400;

/** Whether brackets, also in strings and comments, are nested too deep: a parser spends seconds on thousands of unclosed ones. */
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

/** The change in depth for a character, by its code. Sets take five times as long. */
const nesting = Int8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return "([{".includes(character) ? 1 : ")]}".includes(character) ? -1 : 0;
});

/** Maximum levels per token: the densest of 39,000 units tried in the grammars had two (`a b c` is two calls in Ruby). */
const levelsOfToken = 2;
const innermostLevels = 8;

/** Whether the tree of a text has more levels than can be searched. */
export const isTooDeep = (root: SgNode, text: string): boolean => isDeep(new CachedNode(root), text);

/** Queries only nodes with enough tokens to be that deep: each query costs as much as parsing a line. */
function isDeep(root: CachedNode, text: string): boolean {
  const tokens = tokensBefore(text);
  const levelsIn = ({ extent: { from, to } }: CachedNode) =>
    levelsOfToken * ((tokens[to] ?? 0) - (tokens[from] ?? 0)) + innermostLevels;
  if (levelsIn(root) <= maximumDepth) return false;
  const open = [{ node: root, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, depth } = next;
    if (depth > maximumDepth) return true;
    for (const child of node.children)
      if (depth + levelsIn(child) > maximumDepth) open.push({ node: child, depth: depth + 1 });
  }
  return false;
}

/** The number of tokens that begin before each index: words, and every other character except blanks. */
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
/** Includes everything beyond ASCII, because operators may contain any such character. */
const sign = 2;
const classes = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /\s/.test(character) ? blank : /\w/.test(character) ? letter : sign;
});

/**
 * The contents of a source file, guessed from the layout without a grammar or if it is nested too deep. Null for binaries and texts that are
 * not {@link isWorthParsing}.
 */
export async function parseSource(path: string, text: string): Promise<Source | null> {
  return (await parseText(path, text))?.source ?? null;
}

/** A text that was read, and its syntax tree if a parser read it. */
export interface ParsedText {
  source: Source;
  tree: ParsedTree | null;
}

interface ParsedTree {
  /** The name of its grammar in ast-grep. */
  dialect: string;
  /** First and last line, from 1, of each top-level statement and comment. */
  statements(): { start: number; end: number }[];
  /** Whether the parser understood the whole text and inserted nothing. */
  isSound(): boolean;
  /** The line, from 1, at which the parser first failed or inserted something; null if the tree is sound. */
  faultLine(): number | null;
}

/** A token is one or two nodes of a tree: 120 bytes in the densest of the languages that were measured, with the text beside it. */
const bytesOfToken = 120;
const bytesOfCharacter = 2;
const keptBytes = 40_000_000;

/** The most recently parsed texts, by their estimated bytes: the parts of a review read the same files, one after the other. */
const recent = new LRUCache<string, Promise<ParsedText | null>>({ maxSize: keptBytes });

/** Like {@link parseSource}, but also returns the tree. */
export function parseText(path: string, text: string): Promise<ParsedText | null> {
  const key = keyOf(path, text);
  const known = recent.get(key);
  if (known) return known;
  const parsed = readText(path, text);
  recent.set(key, parsed, { size: bytesOfTree(text) });
  return parsed;
}

const keyOf = (path: string, text: string) => `${path}\0${text}`;

const bytesOfTree = (text: string) =>
  1 + bytesOfCharacter * text.length + bytesOfToken * (tokensBefore(text).at(-1) ?? 0);

/** Like {@link parseSource}, for a text that is needed only once: it does not displace those that are needed again. */
export async function parseOnce(path: string, text: string): Promise<Source | null> {
  const parsed = await (recent.get(keyOf(path, text)) ?? readText(path, text));
  return parsed?.source ?? null;
}

async function readText(path: string, text: string): Promise<ParsedText | null> {
  if (text.includes("\0") || !isWorthParsing(text)) return null;
  const grammar = grammarFor(path, text);
  const byLayout = () => ({ source: createLayoutSource(path, text), tree: null });
  if (!grammar || isNestedTooDeep(text)) return byLayout();
  const astGrep = await loadAstGrep();
  const root = new CachedNode((await astGrep.parseAsync(grammar.dialect, text)).root());
  if (isDeep(root, text)) return byLayout();
  const hasKind = kindsOf(astGrep)(grammar.dialect);
  const shape = shapes[grammar.language];
  const index = indexLines(text);
  const source = createTreeSource({ path, text, root, index, shape, hasKind });
  const statements = () =>
    root.children.map(({ extent: { from, to } }) => ({
      start: index.lineAt(from),
      end: index.lineAt(Math.max(from, to - 1)),
    }));
  const fault = once(() => root.node.find({ rule: { any: [{ kind: "ERROR" }, { regex: "^$" }] } }));
  const isSound = () => fault() === null;
  const faultLine = () => {
    const node = fault();
    return node && index.lineAt(extentOf(node).from);
  };
  return { source, tree: { dialect: grammar.dialect, statements, isSound, faultLine } };
}

/** Whether a dialect has a kind. Each query of the parser costs as much as parsing a word. */
const kindsOf = memo((astGrep: Awaited<ReturnType<typeof loadAstGrep>>) =>
  memo((dialect: string) => memo((kind: string) => astGrep.kind(dialect, kind) !== 0)),
);

/** Only blanks before the word: with line feeds, they would be matched again from each empty line. */
const cppWords = /^[ \t]*(class|namespace|template|public:|private:|using)\b|\b\w+::\w/m;

/** Headers are C++ if they use its words. */
function grammarFor(path: string, text: string): Grammar | null {
  const isCppHeader = extensionOf(path) === "h" && cppWords.test(text);
  return isCppHeader ? (grammarsOf("cpp")[0] ?? null) : grammarOf(path);
}
