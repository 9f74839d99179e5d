import { distance } from "fastest-levenshtein";
import { isUnreadable } from "../../core/errors.ts";
import { unescapeInvisible } from "../../core/text/escape-invisible.ts";
import { createPrivacy, WITHHELD } from "../../repo/diff/filter.ts";
import { isPathTooLong, MAX_PATH_BYTES, pathFault } from "../../repo/diff/paths.ts";
import type { Change, FileText, Ref, TreeEntry, Workspace } from "../../repo/git/workspace.ts";
import { UNREAD } from "../../repo/show.ts";
import { type ToolContext, ToolError, WithheldError } from "./tool.ts";

const MAX_SUGGESTIONS = 3;

const fold = (path: string) => path.normalize("NFC").toLowerCase();
const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
/** The folder that contains a path, with a slash at its end; empty for the root. */
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

/** The number of folders that two paths do not share, counted from the root. */
export function folderDistance(left: string, right: string): number {
  const [a, b] = [left.split("/"), right.split("/")];
  let shared = 0;
  while (shared < Math.min(a.length, b.length) && a[shared] === b[shared]) shared += 1;
  return a.length + b.length - 2 * shared;
}

/** Smaller is nearer; undefined if a path is unrelated to the wanted one. */
function score(wanted: string, candidate: string): number | undefined {
  const path = fold(candidate);
  if (path === wanted) return 0;
  const [wantedName, name] = [nameOf(wanted), nameOf(path)];
  const apart = Math.min(folderDistance(folderOf(wanted), folderOf(path)), 20) / 100;
  if (name === wantedName) return 1 + apart;
  // Two swapped letters count as two.
  const limit = wantedName.length < 5 ? 1 : Math.max(2, Math.floor(wantedName.length / 4));
  // Most names are skipped here, because their length differs too much.
  if (Math.abs(wantedName.length - name.length) > limit) return undefined;
  const typos = distance(wantedName, name);
  return typos > limit ? undefined : 1 + typos + apart;
}

/** The paths that a caller most likely meant: the same name elsewhere, another case, a few letters apart. Best first. */
export function nearMisses(wanted: string, paths: Iterable<string>): string[] {
  const folded = fold(wanted);
  const scored: { path: string; score: number }[] = [];
  for (const path of paths) {
    const one = score(folded, path);
    if (one !== undefined) scored.push({ path, score: one });
  }
  return scored
    .sort((left, right) => left.score - right.score)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ path }) => path);
}

/** `; did you mean 'a' or 'b'?`, or an empty text. */
export function didYouMean(suggestions: readonly string[]): string {
  return suggestions.length === 0
    ? ""
    : `; did you mean ${suggestions.map((one) => `'${one}'`).join(" or ")}?`;
}

const refs: readonly Ref[] = ["head", "base", "merge_base"];

/** A given path as a key of tree listings; "" is the root. Throws with the reason if a path is refused. */
function toKey(given: string, roots: readonly string[]): string {
  if (given.includes("\0")) throw new ToolError("the path holds a NUL character");
  const absolute = given.startsWith("/");
  const root = roots.find((one) => given === one || given.startsWith(`${one}/`));
  if (absolute && root === undefined) {
    throw new ToolError(
      `'${given}' is outside the repository; give a path relative to its root, like 'src/a.ts'`,
    );
  }
  const relative = root === undefined ? given : given.slice(root.length);
  const segments = relative.split("/").filter((segment) => segment !== "" && segment !== ".");
  const key = segments.join("/");
  const fault = pathFault(key);
  if (fault === "upwards") {
    throw new ToolError(`'${given}' holds '..'; give the path from the repository root without it`);
  }
  if (fault === "git") {
    throw new ToolError(`'${given}' is inside .git, which is not part of the reviewed files`);
  }
  return key;
}

function unquoted(given: string): string[] {
  if (!given.startsWith('"') || !given.endsWith('"')) return [];
  try {
    const path: unknown = JSON.parse(given);
    return typeof path === "string" ? [path] : [];
  } catch {
    // git's own quoting of a name that is not UTF-8: its escapes are those of the key.
    return [given.slice(1, -1)];
  }
}

/** The keys that a path may mean, the most literal first: as given, or as a rendering shows it. Throws for a path that cannot be a key. */
function pathKeys(given: string, context: ToolContext): [string, ...string[]] {
  if (given.trim() === "") throw new ToolError("the path is empty; give it relative to the repository root");
  const roots = [context.workspace.root, ...(context.alsoRoots ?? [])];
  const forms = new Set([given, unescapeInvisible(given), ...unquoted(given)]);
  // An escaped path is longer than the path, so a path that is too long as given may still be valid in another form.
  const [key, ...others] = [...forms]
    .filter((form) => form !== "" && !isPathTooLong(form))
    .map((form) => toKey(form, roots));
  if (key === undefined) throw new ToolError(`the path is longer than ${MAX_PATH_BYTES} bytes`);
  return [key, ...others];
}

/** The keys of a path to read. If none of them exists on any side, also without the `a/` or `b/` that diffs put before a path. */
export async function keysToRead(given: string, context: ToolContext): Promise<[string, ...string[]]> {
  const keys = pathKeys(given, context);
  const short = keys.flatMap((key) => (/^[ab]\/./.test(key) ? [key.slice(2)] : []));
  if (short.length === 0) return keys;
  const trees = await Promise.all(refs.map((ref) => context.workspace.tree(ref)));
  const exists = trees.some((tree) =>
    keys.some((key) => findKey([key], tree) !== undefined || holds(tree, key)),
  );
  return exists ? keys : [...keys, ...short];
}

export function refusePrivate(path: string, context: ToolContext): void {
  if (context.isPrivate(path)) throw new WithheldError(`'${path}' is ${WITHHELD}`);
}

/** What is no folder, but would have to be one for a path to exist. */
function fileAbove(path: string, tree: ReadonlyMap<string, TreeEntry>): TreeEntry | undefined {
  const parents = path.split("/").map((_, index, parts) => parts.slice(0, index).join("/"));
  return parents.map((parent) => tree.get(parent)).find((entry) => entry !== undefined);
}

/** The error for a path that is missing or of the wrong kind: known facts about it, and a suggestion. */
async function missing(key: string, ref: Ref, context: ToolContext): Promise<ToolError> {
  const tree = await context.workspace.tree(ref);
  const blocking = fileAbove(key, tree);
  if (blocking) return new ToolError(`'${key}' cannot exist at ${ref}: ${describeEntry(blocking)}`);

  for (const other of refs) {
    if (other === ref || !(await context.workspace.tree(other)).has(key)) continue;
    const moved = (await context.workspace.changes()).find((change) => change.oldPath === key);
    const hint =
      moved && ref === "head" && !context.isPrivate(moved.path) ? ` It is now '${moved.path}'.` : "";
    return new ToolError(`no such file '${key}' at ${ref}; it exists at ${other}: pass that as ref.${hint}`);
  }
  const visible = [...tree.keys()].filter((path) => !context.isPrivate(path));
  const slashed = key.replaceAll("\\", "/");
  const separators = key.includes("\\") ? " (folders are separated by '/')" : "";
  return new ToolError(
    `no such file '${key}' at ${ref}${separators}${didYouMean(nearMisses(slashed, visible))}`,
  );
}

function describeEntry(entry: TreeEntry): string {
  if (entry.mode === "120000") {
    return `'${entry.path}' is a symbolic link, and links are not followed; give the path of the file it points to`;
  }
  if (entry.mode === "160000") {
    return `'${entry.path}' is a submodule at commit ${entry.oid}; its files are not part of this repository`;
  }
  return `'${entry.path}' is a file, not a folder`;
}

/** The tree's own spelling of an existing path with one of these keys, also in another Unicode normalization. */
function findKey(keys: readonly string[], tree: ReadonlyMap<string, TreeEntry>): string | undefined {
  const exact = keys.find((key) => tree.has(key));
  if (exact !== undefined) return exact;
  const [first = ""] = keys;
  // ASCII has only one normal form.
  if (/^[\0-\x7f]*$/.test(first)) return undefined;
  const normal = first.normalize("NFC");
  return [...tree.keys()].find((path) => path.normalize("NFC") === normal);
}

const holds = (tree: ReadonlyMap<string, TreeEntry>, folder: string) =>
  folder === "" || [...tree.keys()].some((path) => path.startsWith(`${folder}/`));

/** The entry of a regular file at a revision. Throws a ToolError with the problem and a suggestion. */
export async function resolveFile(given: string, ref: Ref, context: ToolContext): Promise<TreeEntry> {
  const keys = await keysToRead(given, context);
  const tree = await context.workspace.tree(ref);
  const key = findKey(keys, tree);
  refusePrivate(key ?? keys[0], context);
  const entry = key === undefined ? undefined : tree.get(key);
  if (entry?.mode.startsWith("100")) return entry;
  if (entry) throw new ToolError(describeEntry(entry));
  if (keys.some((one) => holds(tree, one)))
    throw new ToolError(`'${given}' is a folder; list_files shows what it holds`);
  throw await missing(keys[0], ref, context);
}

/** The content of a file. Throws a ToolError that names it if git cannot read it. */
export async function readEntry({ path, oid }: TreeEntry, { workspace }: ToolContext): Promise<FileText> {
  return await workspace.readBlob(oid).catch((error: unknown) => {
    throw isUnreadable(error) ? new ToolError(`'${path}' cannot be read: ${UNREAD}`) : error;
  });
}

/** A folder with only private files is private itself, even if no pattern names it. */
function refuseIfAllPrivate(
  folder: string,
  tree: ReadonlyMap<string, TreeEntry>,
  context: ToolContext,
): void {
  if (folder === "") return;
  for (const path of tree.keys()) {
    if (path.startsWith(`${folder}/`) && !context.isPrivate(path)) return;
  }
  throw new ToolError(`'${folder}' is ${WITHHELD}`);
}

/** A folder at head as a key, "" for the root. Throws a ToolError with the problem and a suggestion. */
export async function resolveFolder(given: string, context: ToolContext): Promise<string> {
  const keys = await keysToRead(given, context);
  const tree = await context.workspace.tree("head");
  const key = keys.find((one) => holds(tree, one)) ?? keys[0];
  refusePrivate(key, context);
  if (holds(tree, key)) {
    refuseIfAllPrivate(key, tree, context);
    return key;
  }
  const entry = tree.get(key);
  if (entry) throw new ToolError(describeEntry(entry));
  throw await missing(key, "head", context);
}

/** A file or folder at head as a key, "" for the root. */
export async function resolveFileOrFolder(given: string, context: ToolContext): Promise<string> {
  const keys = await keysToRead(given, context);
  const tree = await context.workspace.tree("head");
  const folder = keys.find((key) => holds(tree, key));
  return folder === undefined
    ? (await resolveFile(given, "head", context)).path
    : resolveFolder(given, context);
}

/** A path for a regular file at head, existing or free. Throws a ToolError with the obstacle. */
export async function resolveTarget(
  given: string,
  context: ToolContext,
): Promise<{ path: string; entry: TreeEntry | null }> {
  const keys = pathKeys(given, context);
  const tree = await context.workspace.tree("head");
  const path = findKey(keys, tree) ?? keys[0];
  refusePrivate(path, context);
  const entry = tree.get(path) ?? null;
  if (entry && !entry.mode.startsWith("100")) throw new ToolError(describeEntry(entry));
  if (entry) return { path, entry };
  if (holds(tree, path) || given.endsWith("/"))
    throw new ToolError(`'${given}' is a folder; give the path of a file`);
  const blocking = fileAbove(path, tree);
  if (blocking) throw new ToolError(`no file can be written at '${path}': ${describeEntry(blocking)}`);
  return { path, entry: null };
}

/** Whether a folder of the head contains files; the root always counts. */
export async function isFolder(key: string, context: ToolContext): Promise<boolean> {
  return holds(await context.workspace.tree("head"), key);
}

/** The tree's spelling of a path, if head or merge base has it; else the path as given. Throws a ToolError for a private one. */
export async function pathOnAnySide(given: string, context: ToolContext): Promise<string> {
  const keys = await keysToRead(given, context);
  const trees = await Promise.all([context.workspace.tree("head"), context.workspace.tree("merge_base")]);
  const path = keys.find((key) => trees.some((tree) => tree.has(key))) ?? keys[0];
  refusePrivate(path, context);
  return path;
}

/** No blob, or the empty one, by SHA-1 and SHA-256: two empty files need not be related. */
const isNothing = (oid: string) =>
  /^(?:0+|e69de29bb2d1d6434b8b29ae775ad8c2e48c5391|473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813)$/.test(
    oid,
  );

/**
 * Whether a path is withheld from every model: by the workspace, by its name, or because its blob has a private path at head, base or merge
 * base, or was made from such a blob by this change.
 * @param patterns `paths.private` of the configuration
 */
export async function privacyOf(
  workspace: Pick<Workspace, "tree" | "changes" | "withheld">,
  patterns: readonly string[],
): Promise<(path: string) => boolean> {
  const byName = createPrivacy(patterns);
  const { withheld } = workspace;
  if (patterns.length === 0) return (path) => withheld.has(path);
  const [changes, ...trees] = await Promise.all([
    workspace.changes(),
    ...refs.map((ref) => workspace.tree(ref)),
  ]);
  const entries = trees.flatMap((tree) => [...tree.values()]).filter(({ mode }) => mode !== "160000");
  const blobs = privateBlobs(entries, changes, byName);
  const names = new Set(entries.filter(({ oid }) => blobs.has(oid)).map(({ path }) => path));
  return (path) => withheld.has(path) || byName(path) || names.has(path);
}

function privateBlobs(
  entries: readonly TreeEntry[],
  changes: readonly Change[],
  byName: (path: string) => boolean,
): Set<string> {
  const unchecked = entries.filter(({ path }) => byName(path)).map(({ oid }) => oid);
  const successors = Map.groupBy(changes, ({ oldOid }) => oldOid);
  const found = new Set<string>();
  for (const oid of unchecked) {
    if (found.has(oid) || isNothing(oid)) continue;
    found.add(oid);
    unchecked.push(...(successors.get(oid) ?? []).map(({ newOid }) => newOid));
  }
  return found;
}
