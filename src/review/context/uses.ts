import { isTestFile } from "../../analyzers/test-file.ts";
import { type Definition, definitionsAt } from "../../code/source.ts";
import { fullName } from "../../tools/definition-name.ts";
import { type KnownCalls, SURE } from "./callers.ts";
import type { Changed } from "./changed.ts";
import { closeness, imports, isSameFolder } from "./closeness.ts";
import { type CodeFile, definitionAt, isRun } from "./code-file.ts";
import { isCommonName } from "./common-names.ts";
import type { Lookup, Mention } from "./lookup.ts";
import type { Piece, ShownLines } from "./pieces.ts";
import { ownObject, receiverOf } from "./receiver.ts";
import { joined, type Range } from "./text-file.ts";

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

/** What makes an object, by the names that languages give it. */
export const constructors: ReadonlySet<string> = new Set([
  "__init__",
  "__new__",
  "constructor",
  "initialize",
  "init",
  "__construct",
]);

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
interface Use extends Omit<Mention, "role"> {
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
  const least = containers.size > AMBIGUOUS || isCommonName(name) ? 1 : 0;
  return lookup.mentions(name).flatMap((mention) => {
    const { file, line, role } = mention;
    if (!isUse(one, mention)) return [];
    // The graph's doubt takes nothing away: what it cannot follow, names and files often tell all the same.
    const fit = role === "call" && calls.isSure(file.path, line) ? 1 : fitOf(one, mention, lookup);
    return fit === 0 || fit < least ? [] : [{ file, line, name, fit, certainty: null }];
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

/** How likely it is that this very definition is meant: by the receiver, and by what the file knows. */
function fitOf(one: Changed, { file, line }: Mention, lookup: Lookup): number {
  const container = definitionOf(one)?.container ?? null;
  if (one.name.startsWith("#") && file.path !== one.path) return 0;
  const receiver = receiverOf(file.lines[line - 1] ?? "", one.name);
  const isKnown = isSameFolder(one.path, file.path) || imports(file, one.path);
  if (container === null) return isKnown ? 1 : 0.6;
  const type = container.toLowerCase();
  if (receiver === null || ownObject.test(receiver)) return file.path === one.path ? 1 : 0.3;
  if (receiver.length > 2 && (type.includes(receiver) || receiver.includes(type))) return 1;
  const names = lookup.mentions(container).some((mention) => mention.file.path === file.path);
  return names || isKnown ? 0.9 : 0.5;
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
