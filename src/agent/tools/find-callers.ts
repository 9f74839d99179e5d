import { z } from "zod";
import { count } from "../../core/text/count.ts";
import { cutLine, splitLines } from "../../core/text/cut.ts";
import {
  type DefinitionSite,
  definitionAt,
  fullName,
  functionAround,
  isProse,
  isRun,
  type ParsedFile,
  parseFile,
} from "../../repo/code/code-file.ts";
import { familyOf, folderOf, isGo, type Modules } from "../../repo/code/imports.ts";
import {
  closeness,
  constructors,
  fitOf,
  isCommonName,
  KNOWN,
  mentionsIn,
  NAMED,
  ownObject,
  POSSIBLE,
} from "../../repo/code/names.ts";
import type { Definition, Reference } from "../../repo/code/source.ts";
import { reasonByName } from "../../repo/diff/skipped-names.ts";
import type { LineMatch, TreeEntry } from "../../repo/git/workspace.ts";
import { modulesOf, readText } from "../../repo/parsed-files.ts";
import { fileKindOf, kindRank } from "../../repo/search-rank.ts";
import { fitting, showPath, unreadNotes } from "../../repo/show.ts";
import {
  type DefinitionSearch,
  type FoundDefinition,
  findDefinition,
  type NamingFile,
  searchLines,
  wantedName,
} from "./find-definition.ts";
import { resolveFile } from "./paths.ts";
import { HEADS, type Link, linkAt, supertypesIn, typesDeclaredFor, typesWith } from "./receiver-types.ts";
import { defineTool, type Executed, type Rendered, type ToolContext, ToolError } from "./tool.ts";

const MAX_NAME = 200;
/** Maximum files that are parsed, and their characters, which take about one second. */
const MAX_FILES = 150;
const MAX_CHARACTERS = 1_500_000;
const PARSE_MS = 5_000;
const MAX_CALLERS = 200;
const MAX_PLACES = 8;
const LINE_BYTES = 300;
const SENTENCES_BYTES = 2_000;

const Input = z.strictObject({
  name: z.string().min(1).max(MAX_NAME).describe("parse, Parser.next ..."),
  file_path: z.string().describe("Where it is defined."),
});
type Input = z.infer<typeof Input>;

interface Caller {
  file_path: string;
  line_number: number;
  line_content: string;
  /** The function or test around it, with its lines; null at top level. */
  around: { name: string; start_line: number; end_line: number } | null;
  /** The member of a base class or an interface that the use names; null if it names the definition itself. */
  through: string | null;
}

export interface CallersOutput {
  /** Full name and place of the definition; `start_line` is that of its own text. */
  definition: { name: string; file_path: string; start_line: number; end_line: number };
  /** Uses in other files: product code, then tests, each by nearness, path and line. */
  callers: Caller[];
  /** Number of uses in other files, including those beyond the first. */
  total: number;
  /** Lines of its own file that use it, outside of the definition. */
  own_lines: number[];
  /** Places with the name in code that probably mean something else. */
  unsure: { file_path: string; line_number: number }[];
  /** Files with the name that are not code. */
  named_in: string[];
  /** Number of vendored and generated files with the name, which are not read. */
  foreign_files: number;
}

/** Parses files of the head while time and room last; null for a file that is left out. */
function createParser({ workspace }: ToolContext, modules: Modules, signal: AbortSignal) {
  const files = new Map<string, Promise<ParsedFile | null>>();
  /** Searches between the files take no time of it. */
  let milliseconds = PARSE_MS;
  let room = MAX_CHARACTERS;
  let isComplete = true;
  const unread = new Set<string>();

  async function parse(entry: TreeEntry): Promise<ParsedFile | null> {
    const file = await readText(entry, workspace, unread);
    if (file === null) return null;
    room -= file.text.length;
    return await parseFile({ path: entry.path, ref: "head", lines: splitLines(file.text) }, modules);
  }
  return {
    /** Whether no file was left out because of a limit. */
    isComplete: () => isComplete,
    /** Paths of files that git cannot read. */
    unread,
    async file(entry: TreeEntry): Promise<ParsedFile | null> {
      const known = files.get(entry.path);
      if (known !== undefined) return await known;
      if (files.size >= MAX_FILES || room <= 0 || milliseconds <= 0 || signal.aborted) {
        isComplete = false;
        return null;
      }
      const start = performance.now();
      const parsed = parse(entry).finally(() => (milliseconds -= performance.now() - start));
      files.set(entry.path, parsed);
      return await parsed;
    },
  };
}

/** The types that the receiver of a member may be declared as. In Go, each interface with the member is one. */
function receiverTypes(
  site: DefinitionSite,
  found: readonly FoundDefinition[],
  heads: readonly LineMatch[],
): ReadonlySet<string> {
  const { file, definition } = site;
  const isKin = (path: string) => familyOf(path) === familyOf(file.path);
  const kin = heads.filter(({ path }) => isKin(path));
  const related = found.flatMap(({ entry, definition: { container } }) =>
    container !== null && container !== definition.container && isKin(entry.path) ? container : [],
  );
  const types = typesWith(definition.container ?? "", supertypesIn(kin, site), new Set(related));
  const interfaces = new Set(
    isGo(file.path) ? kin.flatMap(({ text }) => /^type (\w+)/.exec(text)?.[1] ?? []) : [],
  );
  for (const one of related) if (interfaces.has(one)) types.add(one);
  return types;
}

/** If a name has more definitions, a use means this one only if its file knows it. */
const AMBIGUOUS = 3;
/** With two or three definitions, the least fit of a use: more than for a method that a class calls on itself and defines itself. */
const FITTING = 0.4;
/** More than any fit: the type of the receiver decides. */
const CERTAIN = 2;

function leastFit(name: string, { found }: DefinitionSearch): number {
  const containers = new Set(found.map(({ definition }) => definition.container)).size;
  if (isCommonName(name) || containers > AMBIGUOUS) return KNOWN;
  return containers > 1 ? FITTING : POSSIBLE;
}

function mayUse({ name, role }: Pick<Reference, "name" | "role">, definition: Definition): boolean {
  if (role === "definition" || role === "import") return false;
  return !isRun(definition) || role === "call" || (role !== "type" && !isCommonName(name));
}

/** A place that has the name. If it is not sure to mean the definition, the type of its receiver may tell. */
interface Place {
  file: ParsedFile["code"];
  line: number;
  link: Link | null;
  isSure: boolean;
}

/** The places in one file that have the name, one for each line. */
function placesIn(parsed: ParsedFile, { name, target, least, types }: Question): Place[] {
  const { code: file } = parsed;
  const places: Place[] = [];
  const isKin = familyOf(file.path) === familyOf(target.file.path);
  // A function that is not called may be a variable of the same name. What another call returns is no object that the code around knows.
  const leastOf = (role: Reference["role"], link: Link | null) => {
    if (types.size > 0 && link && link.types.length > 0) return CERTAIN;
    if (isRun(target.definition) && role !== "call") return Math.max(least, KNOWN);
    return least > POSSIBLE && link?.isCall ? NAMED : least;
  };
  for (const mention of mentionsIn(parsed, new Set([name]))) {
    const { line, role, receiver } = mention;
    if (places.at(-1)?.line === line || !mayUse(mention, target.definition)) continue;
    const use = { file, receiver, around: definitionAt(file, line) };
    const hasObject = isKin && receiver !== null && !ownObject.test(receiver);
    const link = hasObject ? linkAt(receiver, file, use.around) : null;
    places.push({ file, line, link, isSure: isKin && fitOf(use, target) >= leastOf(role, link) });
  }
  return places;
}

const isBeside = (path: string, other: string) => folderOf(path) === folderOf(other);

/** Which of the types a receiver has: by its link, or as its own file, or a function that gives it, is declared; undefined if it has none. */
function typeAt({ file, link }: Place, types: ReadonlySet<string>, declared: Declarations) {
  if (!link) return undefined;
  if (link.types.length > 0) return link.types.find((one) => types.has(one));
  const given = declared.get(link.name);
  const isGiven = link.isCall && !isCommonName(link.name);
  const isKnown = (path: string) => isGiven || file.imports.has(path) || isBeside(path, file.path);
  return given?.get(file.path) ?? given?.get([...given.keys()].find(isKnown) ?? "");
}

function callerAt({ file, line }: Place, through: string | null): Caller {
  const around = functionAround(file, line);
  return {
    file_path: file.path,
    line_number: line,
    line_content: file.lines[line - 1] ?? "",
    around: around && { name: fullName(around), start_line: around.start, end_line: around.end },
    through,
  };
}

/** The definition by which others use it: for a constructor, its type. */
function usedAs(definition: Definition): Definition {
  const { name, container } = definition;
  if (container === null || !constructors.has(name)) return definition;
  return { ...definition, name: container, kind: "class", container: null };
}

/** The definition in question with what it is used by, and the files that have its name. */
interface Question {
  found: FoundDefinition;
  name: string;
  target: DefinitionSite;
  least: number;
  /** The types of receivers by which its uses are known; empty if it is no member. */
  types: ReadonlySet<string>;
  naming: readonly NamingFile[];
  isComplete: boolean;
  unread: ReadonlySet<string>;
}

async function questionOf(
  input: Input,
  first: TreeEntry,
  parser: ReturnType<typeof createParser>,
  context: ToolContext,
  signal: AbortSignal,
): Promise<Question> {
  const searchFor = (name: string) =>
    findDefinition({ wanted: wantedName(name), ref: "head", first, line: null }, context, signal);
  const search = await searchFor(input.name);
  const found = search.found.find(({ entry, isBest }) => entry.path === first.path && isBest);
  const home = found && (await parser.file(first));
  if (!found || !home) throw new ToolError(notThere(input, search));
  const definition = usedAs(found.definition);
  const { name } = definition;
  const target = { file: home.code, definition };
  const none = { found, name, target, types: new Set<string>() };
  if (name !== found.definition.name) {
    return { ...(await searchFor(name)), ...none, least: POSSIBLE };
  }
  const least = leastFit(name, search);
  if (definition.container === null) return { ...search, ...none, least };
  const heads = await searchLines({ pattern: HEADS, fixedString: false }, context, signal);
  return { ...search, ...none, types: receiverTypes(target, search.found, heads.matches), least };
}

const isRead = ({ entry: { path } }: NamingFile) => fileKindOf(path) !== "foreign" && !isProse(path);

/** The places that use the definition, and the others. */
async function divide(
  places: readonly Place[],
  { name, target, types }: Question,
  context: ToolContext,
  signal: AbortSignal,
) {
  const open = places.filter(({ isSure }) => !isSure);
  const declared = await declarationsFor(open, types, context, signal);
  const { container } = target.definition;
  const uses: Caller[] = [];
  const unsure: CallersOutput["unsure"] = [];
  for (const place of places) {
    const type = place.isSure ? container : typeAt(place, types, declared);
    if (type === undefined) unsure.push({ file_path: place.file.path, line_number: place.line });
    else uses.push(callerAt(place, type === container ? null : `${type}.${name}`));
  }
  return { uses, unsure };
}

async function execute(
  input: Input,
  context: ToolContext,
  signal: AbortSignal,
): Promise<Executed<CallersOutput>> {
  const first = await resolveFile(input.file_path, "head", context);
  const isReadable = (path: string) => !context.isPrivate(path) && reasonByName(path) === null;
  const parser = createParser(context, await modulesOf(context.workspace, isReadable), signal);
  const question = await questionOf(input, first, parser, context, signal);
  const { found, naming } = question;
  const paths = naming.map(({ entry }) => entry.path);
  const places: Place[] = [];
  for (const { entry } of nearestFirst(naming, first.path).filter(isRead)) {
    const parsed = await parser.file(entry);
    if (parsed !== null) for (const place of placesIn(parsed, question)) places.push(place);
  }
  const { uses, unsure } = await divide(places, question, context, signal);
  const others = uses.filter(({ file_path }) => file_path !== first.path);
  const own = uses.filter(({ file_path }) => file_path === first.path).map((use) => use.line_number);
  const callers = others.slice(0, MAX_CALLERS);
  const isAll = question.isComplete && parser.isComplete();
  const notes = [
    ...(isAll ? [] : ["Some files that hold the name were not searched."]),
    ...unreadNotes([...question.unread, ...parser.unread]),
  ];
  return {
    output: {
      definition: {
        name: fullName(found.definition),
        file_path: first.path,
        start_line: found.definition.start,
        end_line: found.end,
      },
      callers,
      total: others.length,
      unsure,
      own_lines: own.filter((line) => line < found.start || line > found.end),
      named_in: paths.filter((path) => fileKindOf(path) !== "foreign" && isProse(path)),
      foreign_files: paths.filter((path) => fileKindOf(path) === "foreign").length,
    },
    truncated: notes.length > 0 || others.length > callers.length,
    ...(notes.length > 0 ? { note: notes.join(" ") } : {}),
  };
}

/** Types by name and file. */
type Declarations = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The names before these places that lines declare as one of the types. */
async function declarationsFor(
  open: readonly Place[],
  types: ReadonlySet<string>,
  context: ToolContext,
  signal: AbortSignal,
): Promise<Declarations> {
  const isWord = (name: string) => /^\w+$/.test(name);
  const names = new Set(open.flatMap(({ link }) => (link && isWord(link.name) ? link.name : [])));
  const found = new Map([...names].slice(0, MAX_LINKS).map((name) => [name, new Map<string, string>()]));
  if (found.size === 0 || types.size === 0) return found;
  const [one, other] = [[...found.keys()], [...types].filter(isWord)].map(
    (all) => `\\b(?:${all.join("|")})\\b`,
  );
  const pattern = `${one}.*${other}|${other}.*${one}`;
  const { matches } = await searchLines({ pattern, fixedString: false }, context, signal);
  let left = MAX_DECLARING;
  for (const { path, text } of matches)
    for (const word of new Set(text.match(/\w+/g))) {
      const files = found.get(word);
      if (!files || files.has(path) || left-- <= 0) continue;
      const type = typesDeclaredFor(word, text).find((name) => types.has(name));
      if (type !== undefined) files.set(path, type);
    }
  return found;
}

const MAX_LINKS = 100;
/** Lines that are read for declarations, in some hundredths of a second. */
const MAX_DECLARING = 5_000;

const nearestFirst = (naming: readonly NamingFile[], path: string) =>
  naming.toSorted(
    ({ entry: a }, { entry: b }) =>
      kindRank(a.path) - kindRank(b.path) || closeness(path, b.path) - closeness(path, a.path),
  );

function notThere({ name, file_path }: Input, { found }: DefinitionSearch): string {
  const places = found.slice(0, MAX_PLACES).map(({ entry, start }) => `${entry.path}:${start}`);
  const elsewhere = places.length === 0 ? "" : `; it is defined in ${places.join(", ")}`;
  return `no definition of '${name}' in '${file_path}'${elsewhere}`;
}

/** Places in one line, the first of them. */
function listed(places: readonly string[]): string {
  const more = places.length - MAX_PLACES;
  return places.slice(0, MAX_PLACES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** A line of the text, with the number of uses that it shows. */
interface ShownLine {
  text: string;
  uses: 0 | 1;
}

function callerLines(callers: readonly Caller[]): ShownLine[] {
  const lines: ShownLine[] = [];
  const say = (text: string) => lines.push({ text, uses: 0 });
  let isTest = false;
  let last = { path: "", label: "" };
  for (const { file_path: path, line_number, line_content, around, through } of callers) {
    if (!isTest && fileKindOf(path) !== "product") {
      isTest = true;
      say("Tests and examples:");
    }
    if (path !== last.path) say(showPath(path));
    const label = around ? `in ${around.name} (${around.start_line}-${around.end_line})` : "at top level";
    if (path !== last.path || label !== last.label) say(`-- ${label}`);
    last = { path, label };
    const mark = through === null ? "" : ` through ${through}`;
    lines.push({ text: `${line_number}${mark}:${cutLine(line_content, LINE_BYTES)}`, uses: 1 });
  }
  return lines;
}

/** Says plainly if nothing, or nothing but tests, uses the definition. */
function verdictOf({ callers, total, unsure }: CallersOutput): string {
  const isProduct = callers.some(({ file_path }) => fileKindOf(file_path) === "product");
  const files = new Set(callers.map(({ file_path }) => file_path)).size;
  if (isProduct) return `${count(total, "use")} outside of its file, in ${count(files, "file")}`;
  const isUnsure = unsure.some(({ file_path }) => fileKindOf(file_path) === "product");
  const uses = isUnsure ? "is known to use it" : "uses it";
  return total === 0
    ? `nothing outside of its file ${uses}`
    : `nothing outside of its file ${uses}, except ${count(total, "use")} in tests and examples`;
}

function render(output: CallersOutput, _: Input, maxBytes: number): Rendered {
  const { definition, callers, total, own_lines, unsure, named_in, foreign_files } = output;
  const { name, file_path, start_line, end_line } = definition;
  const lines = callerLines(callers);
  const texts = lines.map(({ text }) => text);
  const shown = fitting(texts, maxBytes - SENTENCES_BYTES);
  const missing = total - lines.slice(0, shown).reduce((sum, { uses }) => sum + uses, 0);
  const at = unsure.map((one) => `${showPath(one.file_path)}:${one.line_number}`);
  const text = [
    `${showPath(file_path)}, ${name}, lines ${start_line}-${end_line}: ${verdictOf(output)}`,
    ...texts.slice(0, shown),
    ...(missing > 0 ? [`(${count(missing, "further use")})`] : []),
    ...(own_lines.length > 0 ? [`In its own file: ${listed(own_lines.map((line) => `line ${line}`))}`] : []),
    ...(at.length > 0 ? [`Probably something else of that name: ${listed(at)}`] : []),
    ...(named_in.length > 0 ? [`Named in: ${listed(named_in.map(showPath))}`] : []),
    ...(foreign_files > 0 ? [`Vendored and generated, not read: ${count(foreign_files, "file")}`] : []),
  ];
  return { text: text.join("\n"), ...(missing > 0 ? { truncated: true } : {}) };
}

export const findCallers = defineTool<Input, CallersOutput>({
  name: "find_callers",
  title: "Find callers",
  description:
    "Who uses a function, method, type or constant: places outside its file with the function around each, product code before tests, also through its interface or base class.",
  returns:
    "`definition`; `callers` (product code, then tests, by nearness): `file_path`, `line_number`, `line_content`, `around` (the function, with its lines), `through` (the member of a base class or interface that it is called by); `total`; `own_lines`: uses in its own file; `unsure`: places that probably mean something else of that name; `named_in`: files with the name that are not code; `foreign_files`.",
  example: { name: "Parser.next", file_path: "src/parser.ts" },
  kind: "read",
  input: Input,
  execute,
  render,
});
