import { BINARY_LOCK, hasLockName, isRoutineLock, isUnreadLock } from "./lock-sources.ts";
import { type BaseWord, reasonByOrigin } from "./origin.ts";
import { createPathMatcher, isPathTooLong } from "./paths.ts";
import {
  EXECUTABLE,
  effectWithoutLines,
  isRoutineWithoutLines,
  isUnreadWithoutLines,
  RENAMED_INTO_EFFECT,
} from "./without-lines.ts";

/** GitHub shows no diff of a longer file, so no comment could be placed there. */
export const MAX_REVIEWABLE_LINES = 20_000;

/** The answer for every path under `paths.private`, in every tool. */
export const WITHHELD = "withheld by configuration";

/** For a file whose name is not private: a pull request may have given it the text or the history of a private one. */
const PRIVATE_TEXT = "text of a private file";

/** Reasons of files that were skipped for their size, here or when their diff was read. */
export const OVERLONG_LINES = "overlong lines";
export const TOO_LARGE = "too large";
const PATH_TOO_LONG = "path too long";

/** Whether a file was skipped only for the size of the file or its path: it may be handwritten and was not read. */
export function isSkippedForSize(reason: string): boolean {
  return reason === OVERLONG_LINES || reason === PATH_TOO_LONG || reason.startsWith(TOO_LARGE);
}

/** For text that git considers binary: code that no diff shows. */
export const TEXT_AS_BINARY = "text with NUL bytes";

/** For text beyond 20 MB, which git does not diff. */
export const TOO_LARGE_FOR_DIFF = `${TOO_LARGE} (more than 20 MB)`;

/** Whether a skipped file may be handwritten and could not be read, or its change takes effect: no review with such a file is complete. */
export function isUnreadable(reason: string): boolean {
  const isUnreadText = reason === TEXT_AS_BINARY || reason === PRIVATE_TEXT;
  return isSkippedForSize(reason) || isUnreadText || isUnreadWithoutLines(reason) || isUnreadLock(reason);
}

/** Whether this is routine: it prevents a green check, but never makes the check red. */
export const isRoutine = (reason: string): boolean => isRoutineWithoutLines(reason) || isRoutineLock(reason);

/** The filter's input for a changed file. Modes are git's six octal digits. */
export interface FilteredChange {
  path: string;
  oldPath: string | null;
  oldMode: string;
  newMode: string;
  oldOid: string;
  newOid: string;
  /** Null if git considers the file binary. */
  additions: number | null;
  deletions: number | null;
}

/** `paths` of the repository configuration. */
export interface PathPatterns {
  ignore: readonly string[];
  private: readonly string[];
  /** If given, only files that match one of these are reviewed. */
  only?: readonly string[] | undefined;
  /** Whether a path is private in this change, also by its text (`privacyOf`). Default: by the patterns only. */
  isPrivate?: ((path: string) => boolean) | undefined;
}

const kinds: Record<string, string> = { "120000": "symbolic link", "160000": "submodule" };

/** For a file that nobody asked to have reviewed in this run. */
export const NOT_SELECTED = "left out by --only";

const BINARY = "binary";
const ABSENT = "000000";

/** The mode after the change, or before a deletion: if it was a link or a submodule, there may be a file with code now. */
export function lastMode({ oldMode, newMode }: Pick<FilteredChange, "oldMode" | "newMode">): string {
  return newMode === ABSENT ? oldMode : newMode;
}

function reasonByKind(change: FilteredChange): string | null {
  const kind = kinds[lastMode(change)];
  if (kind) return kind;
  if (change.additions === null || change.deletions === null) return BINARY;
  if (change.additions + change.deletions > 0) return null;
  if (change.oldOid !== change.newOid) return "empty file";
  if (change.oldPath !== null) return "pure rename";
  return change.newMode === EXECUTABLE ? "made executable" : "mode change only";
}

function reasonBySize({ additions, deletions }: FilteredChange, paths: readonly string[]): string | null {
  if (paths.some(isPathTooLong)) return PATH_TOO_LONG;
  const lines = (additions ?? 0) + (deletions ?? 0);
  return lines > MAX_REVIEWABLE_LINES ? `${TOO_LARGE} (${lines} changed lines)` : null;
}

/** Queries about a file whose change or name would let it pass unread. */
interface Unseen {
  /** For a file that git considers binary: why its text cannot be read, or null. */
  hiddenText(): Promise<string | null>;
  /** For a lock file: a description of the unreviewed places of its packages, or null. */
  lockSources(): Promise<string | null>;
}

/**
 * Why a changed file is not reviewed, in a few words for people; null for a reviewable one. `base` contains the base's information about
 * one of its paths.
 */
type Filter = (
  change: FilteredChange,
  base: (path: string) => BaseWord,
  unseen: Unseen,
) => Promise<string | null>;

/**
 * The first reason counts: not selected, private, ignored, kind of change, attributes at base, name, header, size. A negative pattern in `paths.ignore`
 * takes back a file that its attributes, its name or its header would skip. Both paths of a renamed file must be skipped: code that is
 * moved to a skipped folder is still code.
 */
export function createFilter(patterns: PathPatterns): Filter {
  const byName = createPrivacy(patterns.private);
  const isPrivate = patterns.isPrivate ?? byName;
  const ignored = createPathMatcher(patterns.ignore);
  const isLeftOut = leftOutBy(patterns.only);
  const reasonByPatterns = (paths: readonly string[], path: string) => {
    if (paths.every(isLeftOut)) return NOT_SELECTED;
    return paths.some(isPrivate) ? (byName(path) ? WITHHELD : PRIVATE_TEXT) : null;
  };
  return async (change, base, unseen) => {
    const paths = change.oldPath === null ? [change.path] : [change.path, change.oldPath];
    const excluded = reasonByPatterns(paths, change.path);
    if (excluded !== null) return excluded;
    const configured = paths.map(ignored);
    if (configured.every(({ matched }) => matched)) return "ignored by configuration";
    const kind = reasonByKind(change);
    const hidden = await hiddenIn(change, kind, unseen);
    if (kind && hidden === null) return withoutLines(change, kind);
    const origins = await Promise.all(
      paths.map((path, at) => (configured[at]?.takenBack ? null : reasonByOrigin(path, base(path)))),
    );
    if (origins.includes(null)) return hidden ?? reasonBySize(change, paths);
    return (hasLockName(change.path) ? await unseen.lockSources() : null) ?? origins[0] ?? null;
  };
}

/** A path that cannot be matched is not left out: a path that is built to be slow must not bypass the patterns. */
function leftOutBy(only: PathPatterns["only"]): (path: string) => boolean {
  if (only === undefined) return () => false;
  const selected = createPathMatcher(only, true);
  return (path) => !selected(path).matched;
}

/** An executable file counts as a program, even if its name is usually that of a script. */
async function hiddenIn({ newMode }: FilteredChange, kind: string | null, { hiddenText }: Unseen) {
  return kind === BINARY && newMode !== EXECUTABLE ? hiddenText() : null;
}

function withoutLines(change: FilteredChange, kind: string): string {
  const { path, oldPath } = change;
  // An ordinary file now decides which packages are installed.
  if (oldPath !== null && hasLockName(path) && !hasLockName(oldPath)) return RENAMED_INTO_EFFECT;
  return kind === BINARY && hasLockName(path) ? BINARY_LOCK : (effectWithoutLines(change) ?? kind);
}

/**
 * Whether a path, relative to the repository root, is withheld from every model. A comment (`# ...`) among the patterns starts a new list:
 * a path is withheld if any list withholds it, and an exception only counts in its own list. A path is withheld in every spelling that some
 * file system may treat as the same.
 */
export function createPrivacy(patterns: readonly string[]): (path: string) => boolean {
  const asWritten = matcherOf(patterns);
  const folded = matcherOf(patterns.map(fold));
  return (path) => path !== "" && (asWritten(path) || folded(fold(path)));
}

/** The same text for all spellings that differ in case, in Unicode form, or in invisible characters. */
function fold(text: string): string {
  const lower = text.toLowerCase();
  // ASCII has only one form.
  if (/^[\0-\x7f]*$/.test(lower)) return lower;
  return text
    .normalize("NFKC")
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "")
    .toLowerCase();
}

function matcherOf(patterns: readonly string[]): (path: string) => boolean {
  // A path that cannot be matched is withheld: a path that is built to be slow must not bypass the patterns.
  const lists = listsOf(patterns).map((list) => ({
    start: commonStart(list),
    match: createPathMatcher(list, true),
  }));
  return (path) => {
    const bound = `/${path}`;
    return lists.some(({ start, match }) => bound.startsWith(start) && match(path).matched);
  };
}

/** The common beginning, after a slash, of the paths that the patterns can match: patterns for a folder concern few paths. */
function commonStart(patterns: readonly string[]): string {
  // A pattern without an anchor at the root matches anywhere; an anchored one has a fixed beginning up to its first special character.
  const starts = patterns.map((pattern) => /^!?(\/[^*?[\\]*\/)/.exec(pattern)?.[1] ?? "/");
  return starts.reduce((common, start) => {
    let end = 0;
    while (end < common.length && common[end] === start[end]) end += 1;
    return common.slice(0, end);
  });
}

function listsOf(patterns: readonly string[]): string[][] {
  const lists: string[][] = [[]];
  for (const pattern of patterns) {
    if (pattern.startsWith("#")) lists.push([]);
    else lists.at(-1)?.push(pattern);
  }
  return lists.filter((list) => list.length > 0);
}
