import { AppError } from "../errors.ts";
import type { LineMatch, SearchQuery, TreeEntry } from "../git/workspace.ts";
import { definers } from "./likely-definition.ts";
import { type ToolContext, ToolError } from "./tool.ts";

/** Lines of one search; a word with more of them is searched once more, where it looks defined. */
const MAX_LINES = 5_000;
/** Changed files whose old version is read, since nothing searches at the merge base. */
const MAX_OLD_FILES = 300;
const SEARCH_MS = 8_000;

/** A line on which the name stands. */
export interface Mention {
  line: number;
  text: string;
}

/** A file in which a name stands, at the revision that was asked for. */
export interface NamingFile {
  entry: TreeEntry;
  mentions: Mention[];
  isChanged: boolean;
}

export interface NamingFiles {
  files: NamingFile[];
  /** False when the name stands in more places than were looked at. */
  isComplete: boolean;
}

/** Finds the regular files that hold a word, none that is private. */
export async function filesNaming(
  word: string,
  ref: "head" | "merge_base",
  context: ToolContext,
  signal: AbortSignal,
): Promise<NamingFiles> {
  const { workspace } = context;
  const found = await searchHead(word, context, signal);
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
    // What is unchanged says at the merge base what it says at head.
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
  const read = await oldFilesNaming(word, old.slice(0, MAX_OLD_FILES), context, signal);
  return { files: [...files.values(), ...read], isComplete: !found.limited && old.length <= MAX_OLD_FILES };
}

async function searchHead(word: string, context: ToolContext, signal: AbortSignal) {
  const any = await search({ pattern: word, fixedString: true }, context, signal);
  if (!any.limited) return any;
  const escaped = word.replace(
    /[^\p{L}\p{N}_]/gu,
    (character) => `\\x{${character.codePointAt(0)?.toString(16)}}`,
  );
  const pattern = `\\b(?:${definers})\\b.*\\b${escaped}\\b`;
  const defined = await search({ pattern, fixedString: false }, context, signal);
  return { matches: [...any.matches, ...defined.matches], limited: true };
}

async function search(
  { pattern, fixedString }: Pick<SearchQuery, "pattern" | "fixedString">,
  context: ToolContext,
  signal: AbortSignal,
): Promise<{ matches: readonly LineMatch[]; limited: boolean }> {
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
): Promise<NamingFile[]> {
  const files: NamingFile[] = [];
  for (const entry of entries) {
    if (signal.aborted) break;
    const file = await workspace.readBlob(entry.oid).catch(() => null);
    if (file === null || file.binary || !file.text.includes(word)) continue;
    const mentions = file.text
      .split("\n")
      .flatMap((text, at) => (text.includes(word) ? [{ line: at + 1, text }] : []));
    files.push({ entry, mentions, isChanged: true });
  }
  return files;
}
