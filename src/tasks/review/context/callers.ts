import {
  type CodeFile,
  type DefinitionSite,
  definitionAt,
  fullName,
  functionAround,
  isPrivate,
  isRun,
  isType,
} from "../../../repo/code/code-file.ts";
import {
  closeness,
  constructors,
  fitOf,
  isCommonName,
  KNOWN,
  NAMED,
  POSSIBLE,
} from "../../../repo/code/names.ts";
import type { Definition } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { showPath } from "../../../repo/show.ts";
import type { KnownCall, OpenedGraph } from "../../loop/review-run.ts";
import { type Changed, isWithin } from "./changed.ts";
import {
  clamped,
  joined,
  type LineSpan,
  type Lookup,
  type Mention,
  type RepositoryFiles,
  type WordHits,
} from "./lookup.ts";
import type { Piece, ShownLines } from "./pieces.ts";

interface KnownCalls {
  isSure(path: string, line: number): boolean;
  likely: readonly KnownCall[];
}

const LIKELY = 0.5;
/** From this certainty on, the title does not mention doubt. */
const SURE = 0.9;
/** Maximum calls of one definition that are checked: more of them add nothing new. */
const MAX_CALLS = 40;
/** Weight of reading a caller's file, relative to finding a name. */
const CALLER_WORTH = 2;

const nothing: KnownCalls = { isSure: () => false, likely: [] };

/** Asks the graph who calls the changed definitions. Skips deleted ones, because the head no longer has them. */
export function knownCalls(
  changed: readonly Changed[],
  graph: OpenedGraph | null,
  isReadable: RepositoryFiles["isReadable"],
): (one: Changed) => KnownCalls {
  const known = new Map(changed.map((one) => [one, graph ? callsOf(one, graph, isReadable) : nothing]));
  return (one) => known.get(one) ?? nothing;
}

function callsOf(
  { path, after }: Changed,
  graph: OpenedGraph,
  isReadable: RepositoryFiles["isReadable"],
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

export function callerFiles(
  changed: readonly Changed[],
  callsOf: (one: Changed) => KnownCalls,
): Map<string, number> {
  const worth = new Map<string, number>();
  for (const one of changed) {
    const calls = callsOf(one).likely;
    // If a definition has many callers, each one says little.
    for (const path of new Set(calls.map((call) => call.path)))
      worth.set(path, (worth.get(path) ?? 0) + (CALLER_WORTH * one.risk) / Math.sqrt(calls.length));
  }
  return worth;
}

const CALLER = 0.75;
const TEST = 0.45;
const BEFORE = 6;
const AFTER = 8;
/** A function up to this length is shown whole; the best callers also if they are longer. */
const WHOLE_LINES = 30;
const WHOLE_BEST_LINES = 45;
const BEST = 2;
const MAX_HEAD_LINES = 3;
const WHOLE_TEST_LINES = 35;
const SHOWN_TESTS = 2;
const MAX_USES = 3;
const REPEATED = 0.3;
/** With more callers, each one has less weight. */
const FEW = 6;
/** If a name has more definitions, it means this one only if the file knows it. */
const AMBIGUOUS = 3;

/** The places that use a changed definition: callers, users of a type or constant, readers of a field; and its tests. */
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

/** The names by which other code uses it: for a constructor, or a method that the language calls, the name of its type. */
export function namesOf(one: Changed): string[] {
  const { name, kind, container } = one.site.definition;
  if (kind === "test" || kind === "module" || nameless.has(name)) return [];
  return isUsedByType(name) && container !== null ? [container] : [name];
}

/** Whether code uses a method by the name of its type: no call names `__len__`. */
const isUsedByType = (name: string) => constructors.has(name) || /^__\w+__$/.test(name);

const nameless = new Set(["exports", "default", "module", "anonymous", "_"]);

interface CallerGroup {
  name: string;
  file: CodeFile;
  around: Definition | null;
  lines: number[];
  /** 0 to 1: how likely it means this definition. */
  fit: number;
  /** The graph's certainty; null if the place itself shows it. */
  certainty: number | null;
}

interface Use extends Pick<Mention, "file" | "line"> {
  name: string;
  fit: number;
  certainty: number | null;
}

function groupsOf(one: Changed, lookup: Lookup, shown: ShownLines, calls: KnownCalls): CallerGroup[] {
  const groups = new Map<string, CallerGroup>();
  const mentioned = namesOf(one).flatMap((name) => usesOf(one, name, lookup, calls));
  for (const use of [...mentioned, ...unmentioned(one, mentioned, lookup, calls)]) {
    const { file, line, name, fit, certainty } = use;
    if (shown.has(file, line) || isWithin(one, { path: file.path, line })) continue;
    const around = functionAround(file, line);
    const key = `${name} ${file.path} ${around?.start ?? `line ${Math.ceil(line / 20)}`}`;
    const group = groups.get(key) ?? { name, file, around, lines: [], fit, certainty };
    if (group.lines.at(-1) !== line) group.lines.push(line);
    if (fit > group.fit) Object.assign(group, { fit, certainty });
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** The places where a name means the definition, according to the place itself and the graph. */
function usesOf(one: Changed, name: string, lookup: Lookup, calls: KnownCalls): Use[] {
  const containers = new Set(lookup.definitions(name).map(({ definition }) => definition.container));
  // Of a common name, the object must tell which one is meant.
  const isCommon = isCommonName(name) || lookup.isCommon(name);
  const least = isCommon ? NAMED : containers.size > AMBIGUOUS ? KNOWN : POSSIBLE;
  const isOwn = isPrivate(one.site);
  return lookup.mentions(name).flatMap((mention) => {
    const { file, line, role } = mention;
    if (!isUse(one, mention) || (isOwn && file.path !== one.path)) return [];
    // Low certainty of the graph lowers nothing: if it cannot follow a call, names and files often still identify the callee.
    const fit = role === "call" && calls.isSure(file.path, line) ? 1 : fitOfUse(one, mention);
    // Clear uses have the same weight, whichever way they were identified.
    return fit < least ? [] : [{ file, line, name, fit: fit >= KNOWN ? 1 : fit, certainty: null }];
  });
}

/** Calls that only the graph has found: under another name, or in a file that was not searched for the name. */
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

/** Whether a mention is a use. A constructor must be called; a common name must be more than read. */
function isUse(one: Changed, { role }: Mention): boolean {
  if (role === "definition" || role === "import") return false;
  const { definition } = one.site;
  if (role === "type" && isRun(definition)) return false;
  const isCalledOnly = isRun(definition) && (isCommonName(one.name) || definition.container === one.name);
  return role === "call" || !(isCalledOnly || isUsedByType(one.name));
}

function fitOfUse({ site }: Changed, { file, line, receiver }: Mention): number {
  const { name, kind, container, start } = site.definition;
  const isType = isUsedByType(name) && container !== null;
  const definition = isType
    ? { name: container, kind: "class" as const, container: null, start }
    : { name, kind, container, start };
  return fitOf({ file, receiver, around: definitionAt(file, line) }, { file: site.file, definition });
}

function ranked(
  groups: readonly CallerGroup[],
  one: Changed,
  kind: "caller" | "test",
  weight: number,
): Piece[] {
  const nearness = kind === "test" ? likelyTest : closeness;
  const worth = ({ file, fit }: CallerGroup) => fit * nearness(one.path, file.path);
  const sorted = groups.toSorted(
    (a, b) =>
      worth(b) - worth(a) ||
      (a.file.path < b.file.path ? -1 : Number(a.file.path > b.file.path)) ||
      first(a) - first(b),
  );
  // Of many callers, each one says little.
  const share = 1 / Math.sqrt(Math.max(1, groups.length / FEW));
  return sorted.map((group, at) => {
    const isShown = kind === "caller" || at < SHOWN_TESTS;
    const score = isShown ? (one.risk * weight * share * worth(group)) / (1 + REPEATED * at) : 0;
    const wholeCode = at < BEST ? WHOLE_BEST_LINES : WHOLE_LINES;
    return pieceOf(group, kind, score, kind === "test" ? WHOLE_TEST_LINES : wholeCode);
  });
}

/** Tests are in other folders, but often have names like the code they test. */
function likelyTest(path: string, test: string): number {
  const stem = path.replace(/^.*\//, "").replace(/\..*$/, "").toLowerCase();
  return test.toLowerCase().includes(stem) ? 1 : 0.7;
}

const first = ({ lines }: CallerGroup) => lines[0] ?? 0;

function pieceOf(group: CallerGroup, kind: "caller" | "test", score: number, wholeLines: number): Piece {
  const { file, around, lines, name, certainty } = group;
  const uses = lines.slice(0, MAX_USES);
  const more =
    lines.length > uses.length ? `, also on ${lines.slice(MAX_USES, MAX_USES + 8).join(", ")}` : "";
  const where = around === null ? "" : ` in ${around.kind} ${fullName(around)}`;
  return {
    kind,
    file,
    ranges: rangesAround(group, uses, wholeLines),
    extent: around && { start: around.start, end: around.end },
    line: uses[0] ?? 1,
    subject: name,
    title: `uses ${name}${where}${more}${sureness(certainty)}`,
    score,
    mayBeCut: false,
  };
}

function sureness(certainty: number | null): string {
  return certainty !== null && certainty < SURE ? `, ${Math.round(certainty * 100)} % sure` : "";
}

function rangesAround(
  { file, around }: CallerGroup,
  lines: readonly number[],
  wholeLines: number,
): LineSpan[] {
  const near = lines.map((line) => ({ start: line - BEFORE, end: line + AFTER }));
  if (around === null) return joined(near, file.lines.length);
  const { start, end, signatureEnd } = around;
  if (end - start < wholeLines) return [{ start, end }];
  const inside = near.map((range) => clamped(range, around));
  const head = { start, end: Math.min(signatureEnd, start + MAX_HEAD_LINES - 1) };
  return joined([head, ...inside], file.lines.length);
}

const MAX_UNUSED = 10;

/** Names that a runtime calls, and those that a framework finds. */
const calledByOthers = /^(?:main|Main|init|setup|run|handler|default|__\w+__|test\w*|on[A-Z]\w*)$/;

/** Says nothing if the search was not complete, the name is common, or something may use it without its name. */
export function unusedLines(changed: readonly Changed[], lookup: Lookup, hits: WordHits): string[] {
  const lines = changed.flatMap((one) => {
    const { after, path, name } = one;
    if (after === null || !mayBeUnused(one, after, lookup) || !hits.isComplete(name) || hits.isCommon(name))
      return [];
    const { definition } = after;
    const found = hits.of(name);
    const uses = found.filter(
      ({ path: at, line }) =>
        !isTestFile(at) && (at !== path || line < definition.docStart || line > definition.end),
    );
    if (found.length === 0 || uses.length > 0) return [];
    const tests = found.some((hit) => isTestFile(hit.path)) ? "Only tests name" : "Nothing else names";
    return [`${tests} ${fullName(definition)} (${showPath(path)}:${definition.start}).`];
  });
  return lines.slice(0, MAX_UNUSED);
}

/** Whether a missing use says something: whoever uses the definition writes its name. */
function mayBeUnused(one: Changed, after: DefinitionSite, lookup: Lookup): boolean {
  const { file, definition } = after;
  const { name } = definition;
  if (!(isRun(definition) || isType(definition) || definition.kind === "constant")) return false;
  if (namesOf(one)[0] !== name || isCommonName(name) || calledByOthers.test(name) || isPrivate(after))
    return false;
  if (/^\s*(?:@|#\[|\[)/.test(file.lines[definition.start - 1] ?? "")) return false;
  // Another definition of the name may be a declaration that this one implements.
  return lookup
    .definitions(name)
    .every((other) => other.file.path === one.path && other.definition.start === definition.start);
}
