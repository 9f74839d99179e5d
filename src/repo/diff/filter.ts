import { posix } from "node:path";
import { type LockReading, NO_PARSER } from "./locks/compare.ts";
import { type BaseFacts, type Origin, reasonByAttributes, skipByOrigin } from "./origin.ts";
import { createPathMatcher, isPathTooLong } from "./paths.ts";
import { hasLockName } from "./skipped-names.ts";
import { isFoundByPath, takesEffect } from "./takes-effect.ts";

/**
 * What accounts for a changed file that no model reads:
 * - `left_out`: the base branch, or the person who asked for the review, leaves it out.
 * - `parsed`: a program of ours that knows its format has read all of it.
 * - `neutral`: nobody has read it. The check is not green, and never red because of it: such changes are frequent.
 * - `unread`: nobody has read it, and it counts as a limit.
 */
export const accounts = ["left_out", "parsed", "neutral", "unread"] as const;
export type Account = (typeof accounts)[number];

/** Why no model reads a changed file, in a few words for people. */
export interface Skip<A extends string = Account> {
  reason: string;
  account: A;
}

export const leftOut = (reason: string): Skip => ({ reason, account: "left_out" });
export const parsed = (reason: string): Skip => ({ reason, account: "parsed" });
export const unread = (reason: string): Skip => ({ reason, account: "unread" });

/** GitHub shows no diff of a longer file, so no comment could be placed there. */
export const MAX_REVIEWABLE_LINES = 20_000;

/** The answer for every path under `paths.private`, in every tool. */
export const WITHHELD = "withheld by configuration";

/** For a file whose name is not private: a pull request may have given it the text or the history of a private one. */
const PRIVATE_TEXT = "text of a private file";

/** A file that was public moves to a private path. */
const MOVED_PRIVATE = "moved to a private path";

/** Whether nothing at all reads a file, because it is private. */
export const isPrivateReason = (reason: string | null): boolean =>
  [WITHHELD, PRIVATE_TEXT, MOVED_PRIVATE].some((one) => one === reason);

/** Reasons of files that were skipped for their size, here or when their diff was read. */
export const OVERLONG_LINES = "overlong lines";
export const TOO_LARGE = "too large";
const PATH_TOO_LONG = "path too long";

/** For a file whose object git does not have, or cannot read because it is damaged. */
export const UNREADABLE = "cannot be read from the repository";

/** For text that git considers binary: code that no diff shows. */
export const TEXT_AS_BINARY = "text with NUL bytes";

/** For text beyond 20 MB, which git does not diff. */
export const TOO_LARGE_FOR_DIFF = `${TOO_LARGE} (more than 20 MB)`;

/** A change as git lists it. Modes are git's six octal digits. */
export interface FilteredChange {
  path: string;
  oldPath: string | null;
  oldMode: string;
  newMode: string;
  oldOid: string;
  newOid: string;
  /** Lines by numstat; null if git considers the file binary. */
  additions: number | null;
  deletions: number | null;
  /** If git cannot read one of its sides; its lines are then unknown. */
  isUnreadable?: true;
}

export interface PathPatterns {
  ignore: readonly string[];
  private: readonly string[];
  /** If given, only files that match one of these are reviewed. */
  only?: readonly string[] | undefined;
  /** Whether a path is private in this change, also by its text (`privacyOf`). Default: by the patterns only. */
  isPrivate?: ((path: string) => boolean) | undefined;
}

/** For a file that nobody asked to have reviewed in this run. */
export const NOT_SELECTED = "left out by --only";

const ABSENT = "000000";

/** The mode after the change, or before a deletion: if it was a link or a submodule, there may be a file with code now. */
export function lastMode({ oldMode, newMode }: Pick<FilteredChange, "oldMode" | "newMode">): string {
  return newMode === ABSENT ? oldMode : newMode;
}

/** Of a new empty file, in repositories of both object formats. */
const emptyBlobs = new Set([
  "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
  "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
]);

/** Whether a change has no line, and one line tells all of it: a file is moved, gets another mode, or is gone. */
export function isOneLineChange(change: FilteredChange): boolean {
  const { oldMode, newMode, oldOid, newOid, additions, deletions } = change;
  // An empty file that nothing finds by its path.
  if (oldMode === ABSENT)
    return newMode === "100644" && emptyBlobs.has(newOid) && !isFoundByPath(change.path);
  if (newMode === ABSENT) return (additions ?? 0) + (deletions ?? 0) === 0 || !oldMode.startsWith("100");
  // Git calls any new empty file a renamed one if another is gone.
  return (
    oldOid === newOid &&
    oldMode.slice(0, 3) === newMode.slice(0, 3) &&
    newMode !== "120000" &&
    !(change.oldPath !== null && emptyBlobs.has(newOid))
  );
}

function skipBySize({ additions, deletions }: FilteredChange, paths: readonly string[]): Skip | null {
  if (paths.some(isPathTooLong)) return unread(PATH_TOO_LONG);
  const lines = (additions ?? 0) + (deletions ?? 0);
  return lines > MAX_REVIEWABLE_LINES ? unread(`${TOO_LARGE} (${lines} changed lines)`) : null;
}

/** Queries about a file whose change or name would let it pass unread. */
interface Unseen {
  /** For a file that git considers binary: why its text cannot be read, or null. */
  hiddenText(): Promise<string | null>;
  /** For a lock file: what a program found in both of its states; null if it is gone. */
  lock(): Promise<LockReading | null>;
  /** The format by which a program of ours has read the whole file; null if there is none. */
  knownFormat(): Promise<string | null>;
}

/** Why no model reads a changed file; null if one is to. `named`: only its name or its header says so, which the pull request chooses. */
type Filter = (
  change: FilteredChange,
  base: (path: string) => BaseFacts,
  unseen: Unseen,
) => Promise<Skip<Account | "named"> | null>;

const EMPTY = "empty file";
const NEW_LOCK = "renamed to the name of a lock file";

const emptyOnPurpose = /(?:^|\/)(?:\.gitkeep|\.keep|py\.typed|__init__\.py)$/;

/**
 * The first reason counts: not selected, private, ignored, no line to read, attributes at base, format, name, header, size. A negative pattern
 * in `paths.ignore` takes back all but the first three. Both paths of a renamed file must be skipped: moved code is still code.
 */
export function createFilter(patterns: PathPatterns): Filter {
  const byName = createPrivacy(patterns.private);
  const isPrivate = patterns.isPrivate ?? byName;
  const ignored = createPathMatcher(patterns.ignore);
  const isLeftOut = leftOutBy(patterns.only);
  const skipByPatterns = (paths: readonly string[], path: string) => {
    if (paths.every(isLeftOut)) return leftOut(NOT_SELECTED);
    if (!paths.some(isPrivate)) return null;
    return paths.every(byName) ? leftOut(WITHHELD) : unread(byName(path) ? MOVED_PRIVATE : PRIVATE_TEXT);
  };
  return async (change, base, unseen) => {
    const paths = change.oldPath === null ? [change.path] : [change.path, change.oldPath];
    const excluded = skipByPatterns(paths, change.path);
    if (excluded !== null) return excluded;
    const configured = paths.map(ignored);
    if (configured.every(({ matched }) => matched)) return leftOut("ignored by configuration");
    if (change.isUnreadable) return unread(UNREADABLE);
    const isBack = (at: number) => configured[at]?.takenBack === true;
    if (!hasLines(change)) {
      const isLeftOut = paths.every(
        (path, at) => !isBack(at) && reasonByAttributes(path, base(path)) !== null,
      );
      return withoutLines(change, unseen, isLeftOut);
    }
    const skips = paths.map((path, at) => (isBack(at) ? null : skipByOrigin(path, base(path))));
    return withLines(change, unseen, await Promise.all(skips), skipBySize(change, paths));
  };
}

const BINARY_LOCK = "binary lock file";

/** Faults of a lock file that was read are findings. */
function lockSkip(reading: LockReading | null): Skip {
  if (reading?.kind === "unread")
    return { reason: reading.reason, account: reading.reason === NO_PARSER ? "neutral" : "unread" };
  const neutral = reading?.neutral ?? null;
  return neutral === null ? parsed("lock file") : { reason: neutral, account: "neutral" };
}

const isLock = ({ path, oldPath, newMode }: FilteredChange) =>
  hasLockName(path) && (oldPath === null || hasLockName(oldPath)) && newMode !== EXECUTABLE;

/** @param skips why each of its paths is skipped */
async function withLines(
  change: FilteredChange,
  unseen: Unseen,
  skips: readonly (Origin | null)[],
  size: Skip | null,
): Promise<Skip<Account | "named"> | null> {
  if (isLock(change) && !skips.includes(null)) return lockSkip(await unseen.lock());
  const format = await unseen.knownFormat();
  const isTakenBack = format === "snapshot" && skips.includes(null);
  if (format !== null && !isTakenBack) return parsed(format);
  const skip = skipOf(skips);
  return skip?.account === "named" && size !== null ? unread(skip.reason) : (skip ?? size);
}

/** The base must leave out both paths of a renamed file, or it is left out by name. */
function skipOf(skips: readonly (Origin | null)[]): Origin | null {
  if (skips.includes(null)) return null;
  return skips.find((skip) => skip?.account === "named") ?? skips[0] ?? null;
}

const hasLines = ({ additions, deletions, ...modes }: FilteredChange) =>
  lastMode(modes).startsWith("100") && additions !== null && deletions !== null && additions + deletions > 0;

/** A change of which git shows no line. `isLeftOut`: the base's attributes leave it out. */
async function withoutLines(
  change: FilteredChange,
  unseen: Unseen,
  isLeftOut: boolean,
): Promise<Skip | null> {
  const { path, oldPath, newMode, newOid, additions } = change;
  if ([path, oldPath ?? ""].some(isPathTooLong)) return unread(PATH_TOO_LONG);
  const isOnPurpose = oldPath === null && newMode !== EXECUTABLE && emptyOnPurpose.test(path);
  if (isOnPurpose && emptyBlobs.has(newOid)) return parsed(EMPTY);
  if (isOneLineChange(change))
    return oldPath === null || !hasLockName(path) ? null : await movedLock(change, unseen);
  if (!newMode.startsWith("100")) return effectWithoutLines(change);
  if (additions === null) return binary(change, unseen, isLeftOut);
  return isLeftOut ? leftOut(EMPTY) : { reason: EMPTY, account: "neutral" };
}

/** A lock file at another path decides which packages are installed there. */
async function movedLock(change: FilteredChange, unseen: Unseen): Promise<Skip | null> {
  if (!isLock(change)) return unread(NEW_LOCK);
  const skip = lockSkip(await unseen.lock());
  return skip.account === "parsed" ? null : skip;
}

async function binary(change: FilteredChange, unseen: Unseen, isLeftOut: boolean): Promise<Skip | null> {
  const { path, newMode } = change;
  // An executable file counts as a program, even if its name is usually that of a script.
  const hidden = newMode === EXECUTABLE ? null : await unseen.hiddenText();
  if (isLeftOut) return leftOut("binary");
  if (hidden !== null) return unread(hidden);
  if (hasLockName(path)) return { reason: BINARY_LOCK, account: "neutral" };
  const format = await unseen.knownFormat();
  return format === null ? effectWithoutLines(change) : parsed(format);
}

/** A path that cannot be matched is not left out: a path that is built to be slow must not bypass the patterns. */
function leftOutBy(only: PathPatterns["only"]): (path: string) => boolean {
  if (only === undefined) return () => false;
  const selected = createPathMatcher(only, true);
  return (path) => !selected(path).matched;
}

/**
 * Whether a path is withheld from every model. A comment (`# ...`) among the patterns starts a new list, and an exception only counts in its
 * own. A path is withheld in every spelling that some file system may treat as the same.
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
  const matchers = listsOf(patterns).map((list) => createPathMatcher(list, true));
  return (path) => matchers.some((match) => match(path).matched);
}

function listsOf(patterns: readonly string[]): string[][] {
  const lists: string[][] = [[]];
  for (const pattern of patterns) {
    if (pattern.startsWith("#")) lists.push([]);
    else lists.at(-1)?.push(pattern);
  }
  return lists.filter((list) => list.length > 0);
}

/* Changes that no diff shows as lines but that take effect. Their reasons are text for people. */

/** A link that is new or has a new target. */
export const LINK = "symbolic link to another place";
export const LINK_OUT = "symbolic link out of the repository";
const SUBMODULE = "submodule at another commit";
const SUBMODULE_ADDED = "new submodule";
/** Only in a work tree: no commit holds what is edited inside. */
export const SUBMODULE_EDITED = "submodule with uncommitted changes";
const BINARY = "binary data";
const BINARY_THAT_RUNS = "binary that runs";

/** Files that are loaded, run or installed unchanged; npm's packages are the `.tgz` files that a lock file may name. */
const runnable =
  /\.(?:jar|war|ear|aar|class|dex|apk|aab|exe|dll|com|scr|msi|sys|so(?:\.[\d.]+)?|dylib|ko|a|lib|o|elf|node|wasm|py[cdo]|whl|egg|gem|crate|tgz|nupkg|phar|deb|rpm|pkg|dmg|appimage|vsix|crx|xpi)$/i;

const EXECUTABLE = "100755";

/** What a link, a submodule or binary data does that no diff shows, and whether it is dangerous; null for anything else. */
export function effectWithoutLines(
  change: FilteredChange,
): { reason: string; account: "unread" | "neutral" } | null {
  const { path, oldMode, newMode, oldOid, newOid, additions } = change;
  if (newMode === "120000") return { reason: LINK, account: "neutral" };
  if (newMode === "160000" && oldMode !== newMode) return { reason: SUBMODULE_ADDED, account: "neutral" };
  if (newMode === "160000") return oldOid === newOid ? null : { reason: SUBMODULE, account: "neutral" };
  if (!newMode.startsWith("100") || additions !== null) return null;
  const runs = newMode === EXECUTABLE || runnable.test(path) || takesEffect(path);
  return runs ? { reason: BINARY_THAT_RUNS, account: "unread" } : { reason: BINARY, account: "neutral" };
}

/** Whether a link at `path` leads out of the repository, into git's own folder, or to an unknown place. */
export function leadsOut(path: string, target: string): boolean {
  if (target === "" || /^[/\\~]|^[a-z]:|\0/i.test(target)) return true;
  const end = posix.normalize(posix.join(posix.dirname(path), target.replaceAll("\\", "/")));
  return end.split("/").some((name) => name === ".." || name.toLowerCase() === ".git");
}
