import { AppError } from "../../core/errors.ts";
import { isMemberOf, readWantedName, type WantedName } from "../../repo/code/code-file.ts";
import { definers, definesLikely, SURE } from "../../repo/code/likely-definition.ts";
import { compareRanks } from "../../repo/code/names.ts";
import type { Definition } from "../../repo/code/source.ts";
import type { LineMatch, SearchQuery, TreeEntry } from "../../repo/git/workspace.ts";
import { parseEntry, readText } from "../../repo/parsed-files.ts";
import { kindRank } from "../../repo/search-rank.ts";
import { folderDistance, folderOf } from "./paths.ts";
import { type ToolContext, ToolError } from "./tool.ts";

/** Maximum lines of one search; a more frequent word is searched again on lines that look like definitions. */
const MAX_LINES = 5_000;
/** Maximum changed files whose old version is read, because no search covers the merge base. */
const MAX_OLD_FILES = 300;
const SEARCH_MS = 8_000;

/** A file that contains the name at the requested revision. */
export interface NamingFile {
  entry: TreeEntry;
  mentions: { line: number; text: string }[];
  isChanged: boolean;
}

/** Finds the regular files that contain a word, without private ones; not complete if there are more matches than were read. */
async function filesNaming(
  word: string,
  ref: "head" | "merge_base",
  context: ToolContext,
  signal: AbortSignal,
  unread: Set<string>,
) {
  const { workspace } = context;
  const found = await searchHead(word, context, signal);
  for (const path of found.unread ?? []) unread.add(path);
  const [head, tree, changes] = await Promise.all([
    workspace.tree("head"),
    workspace.tree(ref),
    workspace.changes(),
  ]);
  const changed = new Set(
    changes.flatMap(({ path, oldPath }) => [path, ...(oldPath === null ? [] : [oldPath])]),
  );
  const files = new Map<string, NamingFile>();
  for (const { path, line, text } of found.matches) {
    const entry = tree.get(path);
    // An unchanged file is the same at the merge base as at head.
    if (!entry || entry.oid !== head.get(path)?.oid) continue;
    const file = files.get(path) ?? { entry, mentions: [], isChanged: changed.has(path) };
    file.mentions.push({ line, text });
    files.set(path, file);
  }
  if (ref === "head") return { files: [...files.values()], isComplete: !found.limited };
  const old = [...changed].flatMap((path) => {
    const entry = tree.get(path);
    return entry?.mode.startsWith("100") && !files.has(path) && !context.isPrivate(path) ? [entry] : [];
  });
  const read = await oldFilesNaming(word, old.slice(0, MAX_OLD_FILES), context, signal, unread);
  return { files: [...files.values(), ...read], isComplete: !found.limited && old.length <= MAX_OLD_FILES };
}

async function searchHead(word: string, context: ToolContext, signal: AbortSignal) {
  const any = await searchLines({ pattern: word, fixedString: true }, context, signal);
  if (!any.limited) return any;
  const escaped = word.replace(
    /[^\p{L}\p{N}_]/gu,
    (character) => `\\x{${character.codePointAt(0)?.toString(16)}}`,
  );
  const pattern = `\\b(?:${definers})\\b.*\\b${escaped}\\b`;
  const defined = await searchLines({ pattern, fixedString: false }, context, signal);
  return { ...any, matches: [...any.matches, ...defined.matches] };
}

/** The lines of the head that match, without private files; those that were found in time. */
export async function searchLines(
  { pattern, fixedString }: Pick<SearchQuery, "pattern" | "fixedString">,
  context: ToolContext,
  signal: AbortSignal,
): Promise<{ matches: readonly LineMatch[]; limited: boolean; unread?: readonly string[] }> {
  const query: SearchQuery = {
    pattern,
    fixedString,
    wholeWord: fixedString,
    contextLines: 0,
    maxResults: MAX_LINES,
    wants: (path) => !context.isPrivate(path),
    ignoreCase: false,
    invertMatch: false,
    mode: "content",
  };
  const ended = AbortSignal.any([signal, AbortSignal.timeout(SEARCH_MS)]);
  try {
    const hits = await context.workspace.search(query, ended);
    return hits.mode === "content" ? hits : { matches: [], limited: false };
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    if (error.code === "aborted") return { matches: [], limited: true };
    throw error.code === "usage" ? new ToolError(error.message.trim()) : error;
  }
}

async function oldFilesNaming(
  word: string,
  entries: readonly TreeEntry[],
  { workspace }: ToolContext,
  signal: AbortSignal,
  unread: Set<string>,
): Promise<NamingFile[]> {
  const files: NamingFile[] = [];
  for (const entry of entries) {
    if (signal.aborted) break;
    const file = await readText(entry, workspace, unread);
    if (!file?.text.includes(word)) continue;
    const mentions = file.text
      .split("\n")
      .flatMap((text, at) => (text.includes(word) ? [{ line: at + 1, text }] : []));
    files.push({ entry, mentions, isChanged: true });
  }
  return files;
}

/** Maximum files parsed for one call: first those that very likely define the name, then others; fewer after a definition was found. */
const MAX_SURE_FILES = 40;
const MAX_MORE_FILES = 12;
const MAX_OTHER_FILES = 40;
const PARSE_MS = 5_000;
const MAX_NEAR_FOLDERS = 20;

interface DefinitionQuery {
  wanted: WantedName;
  ref: "head" | "merge_base";
  /** A file to read first, even if it does not contain the name. */
  first: TreeEntry | null;
  /** A line of the definition in that file; null if it is not known. */
  line: number | null;
}

/** A definition of the name. Lines are 1-indexed and inclusive; `start` includes the comment above it. */
export interface FoundDefinition {
  entry: TreeEntry;
  definition: Definition;
  start: number;
  end: number;
  /** Its members, if it is a class or similar. */
  members: readonly Definition[];
  /** Whether it has the requested line of the named file. */
  hasLine: boolean;
  /** Whether it is in the requested file or type, or at the line, if one was named; a test only if there is nothing else. */
  isBest: boolean;
}

export interface DefinitionSearch {
  found: FoundDefinition[];
  naming: readonly NamingFile[];
  isComplete: boolean;
  /** Paths of files that git cannot read. */
  unread: ReadonlySet<string>;
}

/** The definition that a caller names. Throws a ToolError if it holds no name. */
export function wantedName(name: string): WantedName {
  const wanted = readWantedName(name);
  if (wanted === null) throw new ToolError(`'${name}' is not a name; give one like parse or Parser.next`);
  return wanted;
}

/** Finds the definitions of a name: searches the files that contain the word, then parses them. */
export async function findDefinition(
  query: DefinitionQuery,
  context: ToolContext,
  signal: AbortSignal,
): Promise<DefinitionSearch> {
  const { wanted, ref, first } = query;
  const unread = new Set<string>();
  const { files, isComplete } = await filesNaming(wanted.word, ref, context, signal, unread);
  const naming = inOrder(files, first);
  const others = naming.filter(({ entry }) => entry.path !== first?.path);
  const { sure, rest } = byLikelihood(others, wanted.word);
  const deadline = performance.now() + PARSE_MS;
  const mayGoOn = () => performance.now() < deadline && !signal.aborted;
  const looked = new Set<string>();
  const found: FoundDefinition[] = [];
  const look = async (entries: readonly TreeEntry[]) => {
    for (const entry of entries) {
      if (!mayGoOn()) return;
      looked.add(entry.path);
      const parsed = await parseEntry(entry, context.workspace, unread);
      const line = entry.path === first?.path ? query.line : null;
      for (const one of definitionsIn(entry, parsed?.definitions ?? [], wanted, line)) found.push(one);
    }
  };
  await look([...(first ? [first] : []), ...sure.slice(0, MAX_SURE_FILES)]);
  await look(rest.slice(0, found.length > 0 ? MAX_MORE_FILES : MAX_OTHER_FILES));
  // Lines that only might define the name are mostly calls: they are skipped if a definition was found.
  const wanting = found.length > 0 ? sure : [...sure, ...rest];
  const missed = wanting.some(({ path }) => !looked.has(path));
  return { found: ranked(found, query, naming), naming, isComplete: isComplete && !missed, unread };
}

/** The files that very likely define a word, and the rest with possible definitions first; both keep their order of nearness. */
function byLikelihood(files: readonly NamingFile[], word: string): { sure: TreeEntry[]; rest: TreeEntry[] } {
  const rated = files.map(({ entry, mentions }) => ({
    entry,
    likely: Math.max(...mentions.map(({ text }) => definesLikely(text, word))),
  }));
  rated.sort((a, b) => b.likely - a.likely);
  const entries = (wanted: (likely: number) => boolean) =>
    rated.filter(({ likely }) => wanted(likely)).map(({ entry }) => entry);
  return { sure: entries((likely) => likely >= SURE), rest: entries((likely) => likely < SURE) };
}

/** The files nearest to the named one, or to the change, come first; then tests, and foreign files last. */
function inOrder(files: readonly NamingFile[], first: TreeEntry | null): NamingFile[] {
  const changed = files.filter(({ isChanged }) => isChanged).map(({ entry }) => folderOf(entry.path));
  const near = first ? [folderOf(first.path)] : [...new Set(changed)].slice(0, MAX_NEAR_FOLDERS);
  const keys = files.map((file) => {
    const folder = folderOf(file.entry.path);
    const distance = near.length === 0 ? 0 : Math.min(...near.map((one) => folderDistance(one, folder)));
    return { file, key: [kindRank(file.entry.path), file.isChanged ? 0 : 1, distance] };
  });
  return keys.sort((a, b) => compareRanks(a.key, b.key)).map(({ file }) => file);
}

const hasBody = ({ end, signatureEnd }: Definition) => end > signatureEnd;

/**
 * The definitions of a name in one file; overloads of one function, or a getter and a setter, count as one.
 * @param line if there is one, definitions with a body do not count as one: the line chooses between them
 */
function definitionsIn(
  entry: TreeEntry,
  definitions: readonly Definition[],
  { isName }: WantedName,
  line: number | null,
): FoundDefinition[] {
  const joined: FoundDefinition[] = [];
  for (const definition of definitions) {
    if (definition.kind === "test" || !isName(definition.name)) continue;
    const { docStart, end } = definition;
    const last = joined.at(-1);
    const isChosen = line !== null && last !== undefined && hasBody(last.definition) && hasBody(definition);
    const isSame = !isChosen && last?.definition.container === definition.container;
    // A definition within the last one, such as a constructor, is shown with it.
    if (last && (end <= last.end || (isSame && docStart <= last.end + 2))) last.end = Math.max(last.end, end);
    else {
      const members = definitions.filter(
        (one) => one.container === definition.name && one.start > definition.start && one.end <= end,
      );
      joined.push({ entry, definition, start: docStart, end, members, hasLine: false, isBest: false });
    }
  }
  return joined.map((one) => ({ ...one, hasLine: line !== null && one.start <= line && line <= one.end }));
}

/** Members without a body come after those with one. */
const minorKinds: ReadonlySet<string> = new Set(["field"]);

function ranked(
  found: readonly FoundDefinition[],
  { wanted, first }: DefinitionQuery,
  order: readonly NamingFile[],
): FoundDefinition[] {
  const places = new Map(order.map(({ entry }, at) => [entry.path, at]));
  const keyed = found.map((one) => {
    const isFirst = one.entry.path === first?.path;
    const isMember = wanted.container === null || isMemberOf(one.definition, wanted.container);
    const isMinor = minorKinds.has(one.definition.kind);
    const kind = isFirst ? 0 : kindRank(one.entry.path);
    const asked = [isMember ? 0 : 1, isFirst ? 0 : 1, one.hasLine ? 0 : 1, kind, isMinor ? 1 : 0];
    const rest = [hasBody(one.definition) ? 0 : 1, places.get(one.entry.path) ?? 0, one.start];
    return { one, asked, key: [...asked, ...rest] };
  });
  keyed.sort((a, b) => compareRanks(a.key, b.key));
  const best = keyed[0]?.asked ?? [];
  return keyed.map(({ one, asked }) => ({ ...one, isBest: compareRanks(asked, best) === 0 }));
}
