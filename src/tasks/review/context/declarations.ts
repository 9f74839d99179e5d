import { type CodeFile, type DefinitionSite, fullName, isRun, isType } from "../../../repo/code/code-file.ts";
import {
  bestTargets,
  closeness,
  constructors,
  fitOf,
  isCommonName,
  isMember,
  NAMED,
  nearestFirst,
  ownObject,
  receiverOf,
} from "../../../repo/code/names.ts";
import { type Definition, definitionsAt } from "../../../repo/code/source.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { type Changed, isWithin, shareOf } from "./changed.ts";
import { clamped, firstOfFiles, joined, type LineSpan, type Lookup, type Mention, rarity } from "./lookup.ts";
import { beginning, definitionPiece, type Piece, placePiece, type ShownLines } from "./pieces.ts";

const MEMBER = 0.6;
/** A type or function up to this length is shown whole, a longer one around the member or place. */
const WHOLE_LINES = 30;
const NEIGHBORS = 8;
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
    // If the diff shows a member, it also shows its neighbors.
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
  const why = ` with ${whose.join(", ")}, which ${fullName(after.definition)} uses`;
  const piece = definitionPiece(
    "member",
    { file, definition: type },
    rangesOf(members, type, file),
    score,
    why,
  );
  return [{ ...piece, line: first.line, subject: first.name, mayBeCut: false }];
}

const IN_TITLE = 4;

function rangesOf(members: readonly Declared[], type: Definition, file: CodeFile): LineSpan[] {
  const start = Math.max(type.docStart, type.start - MAX_DOC_LINES);
  if (type.end - type.start < WHOLE_LINES) return [{ start, end: type.end }];
  const head = { start, end: Math.min(type.signatureEnd, type.start + MAX_HEAD_LINES - 1) };
  const near = members.map(({ range }) =>
    clamped({ start: range.start - NEIGHBORS, end: range.end + NEIGHBORS }, type),
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

const AROUND = 3;
/** A value that is assigned or read in more places is too common. */
const MAX_PLACES = 15;
const SHOWN_PLACES = 3;
const USES_IN_FILE = 2;
const REPEATED_PLACE = 0.15;
const MAX_RUN_HEAD = 2;

/** Code that passes values to the changed code, or takes them from it. */
interface Passing {
  kind: "producer" | "consumer" | "sibling";
  weight: number;
  isWanted(mention: Mention, name: string): boolean;
  title(name: string, where: string, one: Changed): string;
}

/** Code that sets the names that added lines newly rely on. `namedPieces` and `memberPieces` show definitions. */
const producer: Passing = {
  kind: "producer",
  weight: 0.7,
  isWanted: ({ role }) => role === "write",
  title: (name, where, one) => `sets ${name}${where}${becauseOf(one, "now reads")}`,
};

const consumer: Passing = {
  kind: "consumer",
  weight: 0.55,
  isWanted: ({ file, line, role }, name) => role === "read" && isMember(file.lines[line - 1] ?? "", name),
  title: (name, where, one) => `reads ${name}${where}${becauseOf(one, "now sets")}`,
};

const otherUse: Passing = {
  kind: "sibling",
  weight: 0.55,
  isWanted: ({ role }) => role === "call" || role === "read",
  title: (name, where) => `uses ${name} too${where}`,
};

export function valuePieces(changed: readonly Changed[], lookup: Lookup): Piece[] {
  const other = { ...otherUse, weight: otherUse.weight * Math.sqrt(shareOf(changed)) };
  return changed.flatMap((one) => {
    const piecesOf = (names: Iterable<string>, passing: Passing) =>
      [...names].flatMap((name) => passingPieces(one, name, passing, lookup));
    const called = one.calls.filter(({ line }) => one.added.includes(line)).map(({ name }) => name);
    return [
      ...piecesOf(one.newNames, producer),
      ...piecesOf(one.setNames, consumer),
      ...piecesOf(new Set([...called, ...one.newNames]), other),
    ];
  });
}

function passingPieces(one: Changed, name: string, passing: Passing, lookup: Lookup): Piece[] {
  const all = placesOf(one, name, lookup, passing.isWanted);
  const places = passing.kind === "sibling" ? firstOfFiles(all, ({ file }) => file.path, USES_IN_FILE) : all;
  return places.map((place, at) => {
    const around = definitionsAt(place.file.definitions, place.line).filter(isRun).at(-1);
    const title = passing.title(name, around ? ` in ${fullName(around)}` : "", one);
    const score = scoreOf(one, place, passing.weight, at, places.length);
    return placePiece(passing.kind, place, placeRanges(place, around), { subject: name, title, score });
  });
}

function placesOf(one: Changed, name: string, lookup: Lookup, isWanted: Passing["isWanted"]): Mention[] {
  if (isCommonName(name) || lookup.isCommon(name)) return [];
  const found = lookup.mentions(name).filter((mention) => {
    const { path } = mention.file;
    return isWanted(mention, name) && !isWithin(one, { path, line: mention.line }) && !isTestFile(path);
  });
  if (found.length > MAX_PLACES) return [];
  const own = one.site.definition.start;
  return nearestFirst(one.path, found, ({ file, line }) =>
    file.path === one.path ? Math.abs(line - own) : line,
  );
}

/** After the first few, a place is only named. */
function scoreOf(one: Changed, { file }: Mention, weight: number, at: number, count: number): number {
  if (at >= SHOWN_PLACES) return 0;
  return (one.risk * weight * rarity(count) * closeness(one.path, file.path)) / (1 + at * REPEATED_PLACE);
}

const becauseOf = ({ after }: Changed, what: string) =>
  after === null ? "" : `, which ${fullName(after.definition)} ${what}`;

function placeRanges({ line }: Mention, around: Definition | undefined): LineSpan[] {
  const near = { start: line - AROUND, end: line + AROUND };
  if (around === undefined) return [near];
  const { start, end, signatureEnd } = around;
  if (end - start < WHOLE_LINES) return [{ start, end }];
  return [{ start, end: Math.min(signatureEnd, start + MAX_RUN_HEAD - 1) }, near];
}
