import type { TreeEntry } from "../git/workspace.ts";
import type { Definition } from "../syntax/source.ts";
import { isMemberOf, type WantedName } from "./definition-name.ts";
import { kindRank } from "./file-kind.ts";
import { definesLikely, SURE } from "./likely-definition.ts";
import { filesNaming, type NamingFile } from "./naming-files.ts";
import { parseEntry } from "./parsed-files.ts";
import { folderDistance } from "./paths.ts";
import type { ToolContext } from "./tool.ts";

/** Files parsed for one call: those where it surely looks defined, then others; fewer of them once it was found. */
const MAX_SURE_FILES = 40;
const MAX_MORE_FILES = 12;
const MAX_OTHER_FILES = 40;
const PARSE_MS = 5_000;
/** Changed folders whose distance counts. */
const MAX_NEAR_FOLDERS = 20;

export interface DefinitionQuery {
  wanted: WantedName;
  ref: "head" | "merge_base";
  /** A file to look at first, whether or not it holds the name. */
  first: TreeEntry | null;
}

/** A definition of the name. Lines are 1-indexed and inclusive; `start` is that of the comment above it. */
export interface FoundDefinition {
  entry: TreeEntry;
  definition: Definition;
  start: number;
  end: number;
  /** What belongs to it, when it is a class or the like. */
  members: readonly Definition[];
  /** Whether it is what was asked for, as far as a file or a type was named; of tests only where nothing else is. */
  isBest: boolean;
}

export interface DefinitionSearch {
  /** Best first. */
  found: FoundDefinition[];
  naming: readonly NamingFile[];
  /** False when there may be more. */
  isComplete: boolean;
}

/** Finds where a name is defined: files that hold the word by a search, what they define by parsing. */
export async function findDefinition(
  query: DefinitionQuery,
  context: ToolContext,
  signal: AbortSignal,
): Promise<DefinitionSearch> {
  const { wanted, ref, first } = query;
  const { files, isComplete } = await filesNaming(wanted.word, ref, context, signal);
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
      const parsed = await parseEntry(entry, context.workspace);
      for (const one of definitionsIn(entry, parsed?.definitions ?? [], wanted)) found.push(one);
    }
  };
  await look([...(first ? [first] : []), ...sure.slice(0, MAX_SURE_FILES)]);
  await look(rest.slice(0, found.length > 0 ? MAX_MORE_FILES : MAX_OTHER_FILES));
  // Lines that only might define it are mostly calls: they are not worth a word where it was found.
  const wanting = found.length > 0 ? sure : [...sure, ...rest];
  const missed = wanting.some(({ path }) => !looked.has(path));
  return { found: ranked(found, query, naming), naming, isComplete: isComplete && !missed };
}

/** Files in which a word surely looks defined, and the rest, where it might be first; each as near as before. */
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

/** What is nearest to the file that was named, or to the change, comes first; tests after that, foreign files last. */
function inOrder(files: readonly NamingFile[], first: TreeEntry | null): NamingFile[] {
  const changed = files.filter(({ isChanged }) => isChanged).map(({ entry }) => folderOf(entry.path));
  const near = first ? [folderOf(first.path)] : [...new Set(changed)].slice(0, MAX_NEAR_FOLDERS);
  const keys = files.map((file) => {
    const folder = folderOf(file.entry.path);
    const distance = near.length === 0 ? 0 : Math.min(...near.map((one) => folderDistance(one, folder)));
    return { file, key: [kindRank(file.entry.path), file.isChanged ? 0 : 1, distance] };
  });
  return keys.sort((a, b) => compare(a.key, b.key)).map(({ file }) => file);
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);

function compare(left: readonly number[], right: readonly number[]): number {
  const at = left.findIndex((value, index) => value !== right[index]);
  return at < 0 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

/** The definitions of a name in one file; signatures of one function, or a getter and a setter, are one. */
function definitionsIn(
  entry: TreeEntry,
  definitions: readonly Definition[],
  { isName }: WantedName,
): FoundDefinition[] {
  const joined: FoundDefinition[] = [];
  for (const definition of definitions) {
    if (definition.kind === "test" || !isName(definition.name)) continue;
    const { docStart, end } = definition;
    const last = joined.at(-1);
    const isSame = last !== undefined && last.definition.container === definition.container;
    // What lies within the last one, as a constructor does, is shown with it.
    if (last && (end <= last.end || (isSame && docStart <= last.end + 2))) last.end = Math.max(last.end, end);
    else {
      const members = definitions.filter(
        (one) => one.container === definition.name && one.start > definition.start && one.end <= end,
      );
      joined.push({ entry, definition, start: docStart, end, members, isBest: false });
    }
  }
  return joined;
}

/** Members without a body stand behind what has one. */
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
    const asked = [isMember ? 0 : 1, isFirst ? 0 : 1, kind, isMinor ? 1 : 0];
    const hasBody = one.definition.end > one.definition.signatureEnd;
    const rest = [hasBody ? 0 : 1, places.get(one.entry.path) ?? 0, one.start];
    return { one, asked, key: [...asked, ...rest] };
  });
  keyed.sort((a, b) => compare(a.key, b.key));
  const best = keyed[0]?.asked ?? [];
  return keyed.map(({ one, asked }) => ({ ...one, isBest: compare(asked, best) === 0 }));
}
