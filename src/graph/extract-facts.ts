import { packageOf } from "../code/imports.ts";
import { extensionOf, grammarOf } from "../code/languages.ts";
import { isWorthParsing, type ParsedTree, parseText } from "../code/parse.ts";
import type { Definition, Source } from "../code/source.ts";
import { documentFacts, isDocument } from "./document-facts.ts";
import type { BlobFacts, DefinitionFact, ReferenceFact, Walked } from "./facts.ts";
import { walkedByCalls } from "./walk/by-calls.ts";
import { createContext } from "./walk/context.ts";
import { reduceTree } from "./walk/reduced-tree.ts";
import { Notes } from "./walk/scope.ts";
import { walks } from "./walk/walks.ts";
import { wordsOf } from "./words.ts";

/** What the facts of a file depend on beside its text: the kind that its name says it is. Null where nothing is read. */
export function kindOf(path: string): string | null {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name === "package.json" || name === "go.mod") return name;
  if (isDocument(path)) return "document";
  return grammarOf(path)?.dialect ?? layoutKinds.get(extensionOf(path)) ?? null;
}

/** Languages without a grammar here, of which definitions are guessed. */
const layoutKinds = new Map(
  ["swift", "scala", "lua", "sh", "bash", "pl", "ex", "exs", "dart"].map((one) => [one, one]),
);

/** A path by which the parser knows a text of this kind. */
const pathFor = (kind: string, extension: string) => `file.${layoutKinds.has(kind) ? kind : extension}`;

const nothing = (text: string): BlobFacts => ({
  ...{ lines: text.split("\n").length, package: null, definitions: [], references: [], imports: [] },
});

/**
 * All that a text tells by itself. It depends on the text and the kind of its name alone, so it holds wherever that text
 * stands. Null for what nobody wrote by hand, or what is too large.
 */
export async function extractFacts(path: string, text: string): Promise<BlobFacts | null> {
  const kind = kindOf(path);
  if (kind === null || text.includes("\0") || !isWorthParsing(text)) return null;
  if (kind === "package.json" || kind === "go.mod")
    return { ...nothing(text), package: packageOf(kind, text) };
  if (kind === "document") return { ...nothing(text), definitions: documentFacts(text) };
  const parsed = await parseText(
    pathFor(kind, extensionOf(path)),
    text,
    (dialect) => walks[dialect]?.kinds ?? [],
  );
  if (!parsed) return null;
  const { source, tree } = parsed;
  return factsOf(text, source, (tree && walk(tree, text)) ?? walkedByCalls(source, text));
}

function walk({ located, dialect }: ParsedTree, text: string): Walked | null {
  const own = walks[dialect];
  if (!own) return null;
  const notes = new Notes();
  own.walk(reduceTree(located(), new Set(own.kinds), text), createContext(text, notes));
  return notes;
}

/** References of one file; only what a machine wrote has more. */
const MAX_REFERENCES = 5_000;
const MAX_DEFINITIONS = 3_000;

function factsOf(text: string, source: Source, walked: Walked): BlobFacts {
  const lines = text.split("\n");
  const plain = withFields(source.definitions.slice(0, MAX_DEFINITIONS), walked);
  const index = new DefinitionIndex(plain, lines.length);
  const types = new Map(walked.types.map(({ name, line, type }) => [index.numberOf(name, line), type]));
  const supers = new Map(
    walked.supers.map((one) => [index.numberOf(one.name, one.line), one.supers.join(",")]),
  );
  const fieldTypes = new Map(walked.fields.map((one) => [`${one.container}.${one.name}`, one.type]));
  const references = walked.references.slice(0, MAX_REFERENCES).flatMap((one): ReferenceFact[] => {
    const { name, line, role, via, declared } = one;
    const own = via === "own" && declared !== null ? index.numberOf(name, declared) : null;
    if (via === "own" && own === null) return [];
    return [
      { name, line, role, via, hint: own === null ? one.hint : String(own), within: index.around(line) },
    ];
  });
  const definitions = plain.map((one, at): DefinitionFact => {
    const type = types.get(at) ?? fieldTypes.get(`${one.container}.${one.name}`) ?? null;
    return {
      ...one,
      outer: index.outerOf(at),
      type,
      supers: supers.get(at) ?? null,
      excerpt: excerptOf(one, lines),
      text: textOf(one, lines),
    };
  });
  return { lines: lines.length, package: null, definitions, references, imports: walked.imports };
}

/** With the fields that assignments alone declare, once each. */
function withFields(definitions: readonly Definition[], { fields }: Walked): Definition[] {
  const known = new Set(definitions.map(({ name, container }) => `${container}.${name}`));
  const added = fields.flatMap(({ name, container, line }): Definition[] => {
    if (known.has(`${container}.${name}`)) return [];
    known.add(`${container}.${name}`);
    const place = { start: line, end: line, docStart: line, signatureEnd: line };
    return [{ name, kind: "field", container, exported: false, ...place }];
  });
  return [...definitions, ...added].sort((a, b) => a.start - b.start || b.end - a.end);
}

/** Definitions of a file by line. */
class DefinitionIndex {
  readonly #definitions: readonly Definition[];
  /** The number of the innermost definition on each line; -1 for none. */
  readonly #innermost: Int32Array;
  readonly #byName = new Map<string, number[]>();
  readonly #outer: (number | null)[] = [];

  constructor(definitions: readonly Definition[], lines: number) {
    this.#definitions = definitions;
    this.#innermost = new Int32Array(lines + 2).fill(-1);
    const open: number[] = [];
    for (const [at, { name, start, end }] of definitions.entries()) {
      this.#byName.set(name, [...(this.#byName.get(name) ?? []), at]);
      while (open.length > 0 && (definitions[open.at(-1) as number] as Definition).end < end) open.pop();
      while (open.length > 0 && (definitions[open.at(-1) as number] as Definition).end < start) open.pop();
      this.#outer.push(open.at(-1) ?? null);
      open.push(at);
      this.#innermost.fill(at, start, Math.min(end, lines) + 1);
    }
  }

  /** The definition of a name whose head is on a line. */
  numberOf(name: string, line: number): number | null {
    const found = this.#byName.get(name)?.filter((at) => {
      const one = this.#definitions[at] as Definition;
      return one.start <= line && line <= one.signatureEnd;
    });
    return found?.at(-1) ?? null;
  }

  around(line: number): number | null {
    const at = this.#innermost[line] ?? -1;
    return at < 0 ? null : at;
  }

  outerOf(at: number): number | null {
    return this.#outer[at] ?? null;
  }
}

const EXCERPT_LINES = 6;
const EXCERPT_CHARACTERS = 400;

function excerptOf({ start, signatureEnd }: Definition, lines: readonly string[]): string {
  const head = lines.slice(start - 1, Math.min(signatureEnd, start + EXCERPT_LINES - 1));
  return head.join("\n").slice(0, EXCERPT_CHARACTERS);
}

/** Lines of a definition whose words it can be found by. */
const TEXT_LINES = 60;
const runs: readonly string[] = ["function", "method", "test", "macro"];

/** Comment above, head, and of what runs also what stands in it. */
function textOf({ kind, docStart, start, end, signatureEnd }: Definition, lines: readonly string[]): string {
  const last = runs.includes(kind) ? end : Math.max(signatureEnd, start);
  return wordsOf(lines.slice(docStart - 1, Math.min(last, docStart + TEXT_LINES)).join("\n"));
}
