import { type CodeFile, definitionAt, fullName, isRun, isType } from "../../code/code-file.ts";
import { closeness, constructors, fitOf, isCommonName, KNOWN, POSSIBLE } from "../../code/names.ts";
import { type Definition, definitionsAt } from "../../code/source.ts";
import { isTestFile } from "../../code/test-file.ts";
import type { KnownCall, OpenedGraph } from "../known-graph.ts";
import type { Changed } from "./changed.ts";
import { joined, type Lookup, type Mention, type Range, type RepositoryFiles } from "./lookup.ts";
import type { Piece, ShownLines } from "./pieces.ts";

/** What the graph says of the calls of a changed definition. */
interface KnownCalls {
  /** Whether a call surely means this very definition. */
  isSure(path: string, line: number): boolean;
  /** Calls that mean it more likely than not. */
  likely: readonly KnownCall[];
}

/** What is less likely than not is no caller. */
const LIKELY = 0.5;
/** From here on nobody needs to be told that it is not quite sure. */
const SURE = 0.9;
/** Calls of one definition that are looked at: more of them tell nothing new. */
const MAX_CALLS = 40;
/** What reading the file of a caller is worth, against finding a name. */
const CALLER_WORTH = 2;

const nothing: KnownCalls = { isSure: () => false, likely: [] };

/** Asks the graph who calls what changed. Says nothing of what was taken away: the head has it no more. */
export function knownCalls(
  changed: readonly Changed[],
  graph: OpenedGraph | null,
  files: Pick<RepositoryFiles, "isReadable">,
): (one: Changed) => KnownCalls {
  if (graph === null) return () => nothing;
  const known = new Map(changed.map((one) => [one, callsOf(one, graph, files)]));
  return (one) => known.get(one) ?? nothing;
}

function callsOf(
  { path, after }: Changed,
  graph: OpenedGraph,
  { isReadable }: Pick<RepositoryFiles, "isReadable">,
): KnownCalls {
  if (after === null || !(isRun(after.definition) || isType(after.definition))) return nothing;
  const { name, signatureEnd } = after.definition;
  const found = graph.callers({ path, name, line: signatureEnd }, LIKELY);
  const calls = found.filter((one) => isReadable(one.path));
  const sure = calls.filter(({ certainty }) => certainty >= SURE);
  const places = new Set(sure.map((one) => `${one.line} ${one.path}`));
  return {
    isSure: (at, line) => places.has(`${line} ${at}`),
    likely: calls.slice(0, MAX_CALLS),
  };
}

/** What reading each file with callers is worth. */
export function callerFiles(
  changed: readonly Changed[],
  callsOf: (one: Changed) => KnownCalls,
): Map<string, number> {
  const worth = new Map<string, number>();
  for (const one of changed) {
    const calls = callsOf(one).likely;
    // Of what many call each caller says little.
    for (const path of new Set(calls.map((call) => call.path)))
      worth.set(path, (worth.get(path) ?? 0) + (CALLER_WORTH * one.risk) / Math.sqrt(calls.length));
  }
  return worth;
}

const CALLER = 0.75;
const TEST = 0.45;
/** Lines around a use. */
const BEFORE = 3;
const AFTER = 4;
/** A function up to this length is shown whole. */
const WHOLE_LINES = 14;
const MAX_HEAD_LINES = 3;
/** Uses within one function that are shown. */
const MAX_USES = 3;
/** Each further place of the same name says less. */
const REPEATED = 0.3;
/** A name with more definitions is not of this one unless the file knows it. */
const AMBIGUOUS = 3;

/** The places that use what changed: its callers, users of a type or constant, readers of a field; and the tests of it. */
export function usePieces(
  changed: readonly Changed[],
  lookup: Lookup,
  shown: ShownLines,
  callsOf: (one: Changed) => KnownCalls,
): Piece[] {
  return changed.flatMap((one) => {
    const groups = groupsOf(one, lookup, shown, callsOf(one));
    const tests = groups.filter(({ file }) => isTestFile(file.path));
    const code = groups.filter(({ file }) => !isTestFile(file.path));
    return [...ranked(code, one, "caller", CALLER), ...ranked(tests, one, "test", TEST)];
  });
}

/** Under which names others use it: what makes an object goes by the name of its type. */
export function namesOf(one: Changed): string[] {
  const { name } = one;
  const definition = definitionOf(one);
  if (!definition || definition.kind === "test" || definition.kind === "module" || nameless.has(name))
    return [];
  return constructors.has(name) && definition.container !== null ? [definition.container] : [name];
}

/** What stands where a name would. */
const nameless = new Set(["exports", "default", "module", "anonymous", "_"]);

const definitionOf = ({ after, before }: Changed) => (after ?? before)?.definition ?? null;

/** The uses of a name in one function, or outside of any. */
interface Group {
  name: string;
  file: CodeFile;
  around: Definition | null;
  lines: number[];
  /** 0 to 1: how likely it is that this very definition is meant. */
  fit: number;
  /** How sure the graph is of it; null where the place itself tells. */
  certainty: number | null;
}

/** A place that uses a definition. */
interface Use extends Pick<Mention, "file" | "line"> {
  name: string;
  fit: number;
  certainty: number | null;
}

function groupsOf(one: Changed, lookup: Lookup, shown: ShownLines, calls: KnownCalls): Group[] {
  const groups = new Map<string, Group>();
  const mentioned = namesOf(one).flatMap((name) => usesOf(one, name, lookup, calls));
  for (const use of [...mentioned, ...unmentioned(one, mentioned, lookup, calls)]) {
    const { file, line, name, fit, certainty } = use;
    if (shown.has(file, line) || isWithin(one, use)) continue;
    const around = functionAround(file, line);
    const key = `${name} ${file.path} ${around?.start ?? `line ${Math.ceil(line / 20)}`}`;
    const group = groups.get(key) ?? { name, file, around, lines: [], fit, certainty };
    if (group.lines.at(-1) !== line) group.lines.push(line);
    if (fit > group.fit) Object.assign(group, { fit, certainty });
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Where a name stands that means it, as far as the place tells, and the graph. */
function usesOf(one: Changed, name: string, lookup: Lookup, calls: KnownCalls): Use[] {
  const containers = new Set(lookup.definitions(name).map(({ definition }) => definition.container));
  const least = containers.size > AMBIGUOUS || isCommonName(name) ? KNOWN : POSSIBLE;
  return lookup.mentions(name).flatMap((mention) => {
    const { file, line, role } = mention;
    if (!isUse(one, mention)) return [];
    // The graph's doubt takes nothing away: what it cannot follow, names and files often tell all the same.
    const fit = role === "call" && calls.isSure(file.path, line) ? 1 : fitOfUse(one, mention);
    // What is clearly meant is worth the same, whatever tells it.
    return fit < least ? [] : [{ file, line, name, fit: fit >= KNOWN ? 1 : fit, certainty: null }];
  });
}

/** Calls that only the graph has found: under another name, or in a file where the name was not looked for. */
function unmentioned(one: Changed, known: readonly Use[], lookup: Lookup, { likely }: KnownCalls): Use[] {
  const [name] = namesOf(one);
  if (name === undefined) return [];
  const places = new Set(known.map(({ file, line }) => `${line} ${file.path}`));
  return likely.flatMap(({ path, line, certainty }) => {
    const file = lookup.file(path);
    if (!file || places.has(`${line} ${path}`)) return [];
    if (certainty < SURE && isCommonName(name)) return [];
    return [{ file, line, name, certainty, fit: certainty >= SURE ? 1 : certainty }];
  });
}

/** Whether a mention uses it: what makes an object is called, what has a common name is at least not just read. */
function isUse(one: Changed, { role }: Mention): boolean {
  if (role === "definition" || role === "import") return false;
  const definition = definitionOf(one);
  if (role === "type" && definition !== null && isRun(definition)) return false;
  const isCalledOnly =
    definition !== null && isRun(definition) && (isCommonName(one.name) || definition.container === one.name);
  return role === "call" || !(isCalledOnly || constructors.has(one.name));
}

function isWithin({ path, after }: Changed, { file, line }: Pick<Mention, "file" | "line">): boolean {
  return (
    after !== null && file.path === path && line >= after.definition.start && line <= after.definition.end
  );
}

/** How likely it is that this very definition is meant. */
function fitOfUse(one: Changed, { file, line, receiver }: Mention): number {
  const site = one.after ?? one.before;
  if (site === null) return 0;
  const { name, kind, container, start } = site.definition;
  // What makes an object is used by the name of its type.
  const isType = constructors.has(name) && container !== null;
  const definition = isType
    ? { name: container, kind: "class" as const, container: null, start }
    : { name, kind, container, start };
  return fitOf({ file, receiver, around: definitionAt(file, line) }, { file: site.file, definition });
}

/** The function that a line lies in, or the test. */
function functionAround(file: CodeFile, line: number): Definition | null {
  const test = definitionsAt(file.definitions, line)
    .filter(({ kind }) => kind === "test")
    .at(-1);
  const around = test ?? definitionAt(file, line);
  return around && (isRun(around) || around.kind === "test") ? around : null;
}

function ranked(groups: readonly Group[], one: Changed, kind: "caller" | "test", weight: number): Piece[] {
  const nearness = kind === "test" ? likelyTest : closeness;
  const worth = ({ file, fit }: Group) => fit * nearness(one.path, file.path);
  const sorted = groups.toSorted(
    (a, b) =>
      worth(b) - worth(a) ||
      (a.file.path < b.file.path ? -1 : Number(a.file.path > b.file.path)) ||
      first(a) - first(b),
  );
  return sorted.map((group, at) => {
    const score = (one.risk * weight * worth(group)) / (1 + REPEATED * at);
    return pieceOf(group, kind, score);
  });
}

/** Tests lie elsewhere, but are often named like what they test. */
function likelyTest(path: string, test: string): number {
  const stem = path.replace(/^.*\//, "").replace(/\..*$/, "").toLowerCase();
  return test.toLowerCase().includes(stem) ? 1 : 0.7;
}

const first = ({ lines }: Group) => lines[0] ?? 0;

function pieceOf(group: Group, kind: "caller" | "test", score: number): Piece {
  const { file, around, lines, name, certainty } = group;
  const uses = lines.slice(0, MAX_USES);
  const more =
    lines.length > uses.length ? `, also on ${lines.slice(MAX_USES, MAX_USES + 8).join(", ")}` : "";
  const where = around === null ? "" : ` in ${around.kind} ${fullName(around)}`;
  return {
    kind,
    file,
    ranges: rangesAround(group, uses),
    extent: around && { start: around.start, end: around.end },
    line: uses[0] ?? 1,
    subject: name,
    title: `uses ${name}${where}${more}${sureness(certainty)}`,
    score,
    mayBeCut: false,
  };
}

/** Said of what is likely and no more. */
function sureness(certainty: number | null): string {
  return certainty !== null && certainty < SURE ? `, ${Math.round(certainty * 100)} % sure` : "";
}

function rangesAround({ file, around }: Group, lines: readonly number[]): Range[] {
  const near = lines.map((line) => ({ start: line - BEFORE, end: line + AFTER }));
  if (around === null) return joined(near, file.lines.length);
  const { start, end, signatureEnd } = around;
  if (end - start < WHOLE_LINES) return [{ start, end }];
  const inside = near.map((range) => ({
    start: Math.max(start, range.start),
    end: Math.min(end, range.end),
  }));
  const head = { start, end: Math.min(signatureEnd, start + MAX_HEAD_LINES - 1) };
  return joined([head, ...inside], file.lines.length);
}
