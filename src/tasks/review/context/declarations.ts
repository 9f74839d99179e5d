import { type CodeFile, type DefinitionSite, fullName, isRun, isType } from "../../../repo/code/code-file.ts";
import {
  bestTargets,
  constructors,
  fitOf,
  isMember,
  NAMED,
  nearestFirst,
  ownObject,
  receiverOf,
} from "../../../repo/code/names.ts";
import { type Definition, definitionsAt } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type Changed, isWithin } from "./changed.ts";
import { clamped, joined, type LineSpan, type Lookup, type Mention } from "./lookup.ts";
import { beginning, definitionPiece, type Piece, type ShownLines } from "./pieces.ts";

const MEMBER = 0.6;
/** A type up to this length is shown whole, a longer one around the member. */
const WHOLE_LINES = 30;
const NEIGHBOURS = 8;
const MAX_DOC_LINES = 10;
const MAX_HEAD_LINES = 3;
const MAX_VALUE_LINES = 6;
/** A name that more types have is too common. */
const MAX_DECLARATIONS = 40;
/** Maximum declarations of one name that fit equally well, or of which none is near. */
const FEW = 2;
/** Maximum types, and maximum other definitions, shown for one changed definition. */
const SHOWN = 6;
const REPEATED = 0.1;

interface Declared {
  name: string;
  file: CodeFile;
  /** Includes the comment above. */
  range: LineSpan;
  line: number;
  type: Definition;
  fit: number;
}

interface User {
  one: Changed;
  after: DefinitionSite;
}

/** The types whose members added lines newly read or set; lines around these members are shown. */
export function memberPieces(changed: readonly Changed[], lookup: Lookup, shown: ShownLines): Piece[] {
  const known = new Map<string, Candidate[]>();
  const declarations = (name: string) => {
    const all = known.get(name) ?? declarationsOf(name, lookup);
    known.set(name, all);
    return all;
  };
  const pieces = changed.flatMap((one) => {
    if (one.after === null) return [];
    const user = { one, after: one.after };
    const names = [...new Set([...one.newNames, ...one.setNames])];
    const found = names.flatMap((name) => resolve(user, name, declarations(name), lookup));
    // If the diff shows a member, it also shows its neighbours.
    const unseen = found.filter(({ file, line }) => !shown.has(file, line));
    const types = [...Map.groupBy(unseen, typeKey).values()];
    const byFit = types.toSorted((a, b) => bestOf(b) - bestOf(a));
    return byFit.flatMap((members, at) => pieceOf(user, members, at));
  });
  return withoutRepeated(pieces);
}

function withoutRepeated(pieces: readonly Piece[]): Piece[] {
  const best = new Map<string, Piece>();
  for (const piece of pieces) {
    const key = [piece.file.path, piece.line, ...piece.ranges.flatMap(({ start, end }) => [start, end])].join(
      " ",
    );
    if (piece.score > (best.get(key)?.score ?? -1)) best.set(key, piece);
  }
  return [...best.values()];
}

const bestOf = (members: readonly Declared[]) => Math.max(...members.map(({ fit }) => fit));

/** The declarations that a member's name on added lines may mean; none if the name says too little. */
function resolve(user: User, name: string, all: readonly Candidate[], lookup: Lookup): Declared[] {
  if (all.length === 0 || all.length > MAX_DECLARATIONS) return [];
  const isCommon = lookup.isCommon(name);
  const rated = all.map((declared) => ({ ...declared, fit: fitOfMember(user, declared) }));
  const near = nearestFirst(user.one.path, rated, ({ line }) => line);
  const best = bestTargets(name, near, FEW);
  // Of a common name, the object must tell which one is meant.
  return isCommon ? best.filter(({ fit }) => fit >= NAMED) : best;
}

type Candidate = Omit<Declared, "fit">;

function declarationsOf(name: string, lookup: Lookup): Candidate[] {
  const fields = lookup.definitions(name).flatMap((place) => fieldOf(place));
  const known = new Set(fields.map(typeKey));
  const others: Candidate[] = [];
  for (const mention of lookup.mentions(name)) {
    const declared = declaredAt(name, mention);
    if (declared === null || known.has(typeKey(declared))) continue;
    known.add(typeKey(declared));
    others.push(declared);
  }
  return [...fields, ...others].filter(({ file }) => !isTestFile(file.path));
}

const typeKey = ({ file, type }: Candidate) => `${file.path} ${type.start}`;

function fieldOf({ file, definition }: DefinitionSite): Candidate[] {
  const { name, kind, docStart, start, end } = definition;
  const type = typeAt(file, start);
  if (type === null || !(kind === "field" || (kind === "constant" && definition.container !== null)))
    return [];
  const range = {
    start: Math.max(docStart, start - MAX_DOC_LINES),
    end: Math.min(end, start + MAX_VALUE_LINES),
  };
  return [{ name, file, range, line: start, type }];
}

/** A component of a record, a property among a constructor's parameters, or a member that a constructor sets. */
function declaredAt(name: string, { file, line, role }: Mention): Candidate | null {
  if (role !== "write" && role !== "definition") return null;
  const type = typeAt(file, line);
  if (type === null) return null;
  const run = definitionsAt(file.definitions, line).findLast(isRun);
  const text = file.lines[line - 1] ?? "";
  const declares = run
    ? constructors.has(run.name) && (role === "write" ? isOwn(text, name) : isParameterProperty(text, role))
    : role === "definition" && line <= type.signatureEnd;
  return declares ? { name, file, range: { start: line, end: line }, line, type } : null;
}

const isOwn = (text: string, name: string) => ownObject.test(receiverOf(text, name) ?? "");

const isParameterProperty = (text: string, role: Mention["role"]) =>
  role === "definition" && /\b(?:public|private|protected|readonly)\s/.test(text.slice(0, 500));

const typeAt = (file: CodeFile, line: number) =>
  definitionsAt(file.definitions, line).findLast(isType) ?? null;

function fitOfMember({ one, after }: User, { name, file, type, line }: Candidate): number {
  const { definition } = after;
  if (isWithin(one, { path: file.path, line })) return 0;
  const texts = one.added.map((at) => (after.file.lines[at - 1] ?? "").slice(0, 500));
  const using = texts.filter((text) => isMember(text, name));
  // Without an object it is a member of the own type, or a variable.
  if (using.length === 0)
    return type.name === definition.container && texts.some((text) => text.includes(name)) ? 0.95 : 0;
  const target = { file, definition: { name, kind: "field" as const, container: type.name, start: line } };
  const receivers = new Set(using.map((text) => receiverOf(text, name)));
  const fits = [...receivers].map((receiver) =>
    fitOf({ file: after.file, around: definition, receiver: receiver ?? "" }, target),
  );
  return Math.max(...fits);
}

function pieceOf({ one, after }: User, members: readonly Declared[], at: number): Piece[] {
  const [first] = members;
  if (!first) return [];
  const { file, type } = first;
  const whose = [...new Set(members.map(({ name }) => name))].slice(0, IN_TITLE);
  const score = at < SHOWN ? (one.risk * MEMBER * bestOf(members)) / (1 + at * REPEATED) : 0;
  return [
    {
      kind: "member",
      file,
      score,
      ranges: rangesOf(members, type, file),
      extent: { start: type.start, end: type.end },
      line: first.line,
      subject: first.name,
      title: `${type.kind} ${fullName(type)} with ${whose.join(", ")}, which ${fullName(after.definition)} uses`,
      mayBeCut: false,
    },
  ];
}

const IN_TITLE = 4;

function rangesOf(members: readonly Declared[], type: Definition, file: CodeFile): LineSpan[] {
  const start = Math.max(type.docStart, type.start - MAX_DOC_LINES);
  if (type.end - type.start < WHOLE_LINES) return [{ start, end: type.end }];
  const head = { start, end: Math.min(type.signatureEnd, type.start + MAX_HEAD_LINES - 1) };
  const near = members.map(({ range }) =>
    clamped({ start: range.start - NEIGHBOURS, end: range.end + NEIGHBOURS }, type),
  );
  return joined([head, ...near], file.lines.length);
}

const GLOBAL = 0.65;
/** Definitions up to this length are shown whole, longer ones from their beginning. */
const MAX_GLOBAL_LINES = 25;
const MAX_GLOBAL_DOC_LINES = 8;

const valueKinds: ReadonlySet<string> = new Set(["constant", "variable"]);

/** Constants, types and enumerations that added lines name and the old code did not. Functions are `calleePieces`. */
export function namedPieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  return changed.flatMap((one) => {
    const { after } = one;
    if (after === null) return [];
    const names = [...new Set([...one.newNames, ...one.newTypes])];
    const sites = names.flatMap((name) => {
      const known = lookup
        .definitions(name)
        .filter(
          ({ definition }) =>
            isType(definition) || (valueKinds.has(definition.kind) && definition.container === null),
        )
        .filter(({ file }) => !isTestFile(file.path) || isTestFile(one.path))
        .filter(({ file, definition: { start, end } }) => !isAround(one, file.path, start, end))
        // A variable of another function is not meant.
        .filter(({ file, definition }) => !isLocal(file.lines[definition.start - 1] ?? "", file.path));
      const use = { file: after.file, around: after.definition, receiver: null };
      const rated = known.map((site) => ({ ...site, fit: fitOf(use, site) }));
      return bestTargets(name, rated, 2).slice(0, 1);
    });
    return sites
      .toSorted((a, b) => b.fit - a.fit)
      .map((site, at) => {
        const score = at < SHOWN ? (one.risk * GLOBAL * site.fit) / (1 + at * REPEATED) : 0;
        const ranges = beginning(site, MAX_GLOBAL_LINES, MAX_GLOBAL_DOC_LINES);
        return definitionPiece(
          "named",
          site,
          ranges,
          score,
          `, which ${fullName(after.definition)} now names`,
        );
      });
  });
}

const isAround = ({ path, after }: Changed, at: string, start: number, end: number) =>
  after !== null && at === path && start <= after.definition.start && end >= after.definition.end;

/** Whether a definition is indented: it belongs to a block, of which only Python's, Ruby's and a namespace's hold global ones. */
const isLocal = (text: string, path: string) =>
  /^\s+(?:const|let|var|val|auto)\b/.test(text) ||
  (/^\s+\w+\s*:?=/.test(text) && !/\.(?:rb|cs|java|kt|php)$/.test(path));
