import { posix } from "node:path";
import { LRUCache } from "lru-cache";
import pMap from "p-map";
import { AppError, errorLine, isUnreadable } from "../core/errors.ts";
import { NAMED_LIKE_SECRET } from "../core/secrets/file-names.ts";
import { count } from "../core/text/count.ts";
import { isTestFile } from "./code/test-file.ts";
import {
  countLines,
  type FileDiff,
  isOverlong,
  MAX_DIFF_LINES,
  NO_NEWLINE,
  parseFilePatch,
  shownBytes,
  surveyPatch,
} from "./diff/file-diff.ts";
import {
  type Account,
  createFilter,
  createPrivacy,
  effectWithoutLines,
  isOneLineChange,
  LINK,
  LINK_OUT,
  lastMode,
  leadsOut,
  leftOut,
  MAX_REVIEWABLE_LINES,
  NOT_SELECTED,
  OVERLONG_LINES,
  type PathPatterns,
  parsed,
  type Skip,
  TEXT_AS_BINARY,
  TOO_LARGE,
  TOO_LARGE_FOR_DIFF,
  UNREADABLE,
  unread,
  WITHHELD,
} from "./diff/filter.ts";
import { isPlainSnapshot, isWholeImage } from "./diff/known-formats.ts";
import { compareLocks, type LockFault, type LockReading, UNREADABLE_LOCK } from "./diff/locks/compare.ts";
import {
  type BaseFacts,
  HEADER_BYTES,
  type LinguistAttributes,
  PROBED_BYTES,
  readsAsText,
  saysGenerated,
} from "./diff/origin.ts";
import { isFoundByPath } from "./diff/takes-effect.ts";
import type { Change, Workspace } from "./git/workspace.ts";
import { showPath } from "./show.ts";

/**
 * How a model reads a changed file: its hunks; `whole`, because it now takes effect, or no longer does; or `line`, because one line tells all
 * of the change: a plain rename, another mode. The last two count as one hunk.
 */
export type Reading = "hunks" | "whole" | "line";

/** A file's role in a review: `reviewable`, or not, with a reason for people. */
export interface ChangedFile {
  change: Change;
  reading: Reading;
  /** Hunks of the `-U3 -M` diff, or 1 for another reading; 0 for a file that no model can read. */
  totalHunks: number;
  /** Bytes of these hunks as the model sees them, under a heading with the path; 0 if there are none. */
  diffBytes: number;
  /** For each of these hunks the digests of its changes, by `surveyPatch`; empty for a file that is not reviewable. */
  changes: readonly (readonly string[])[];
  reviewable: boolean;
  skipReason: string | null;
  /** What accounts for a file that is not reviewable; null for a reviewable one. */
  account: Account | null;
}

export interface DiffSource {
  /** All changed files in git's order, including private ones, which are marked. */
  files(): Promise<readonly ChangedFile[]>;
  /** Parsed diff; with `contextLines` 3, GitHub's diff. Rejects with `too_large` beyond MAX_DIFF_LINES. */
  fileDiff(change: Change, contextLines: number): Promise<FileDiff>;
  /** The hunks that a review of the file counts: of GitHub's diff, or one with all lines of the file; none for a one-line change. */
  shownDiff(file: ChangedFile): Promise<FileDiff>;
  /** The faults of a lock file that programs can read; none if they cannot. */
  lockFaults(change: Change): Promise<readonly LockFault[]>;
  /** Warnings about the classification of files; complete after `files` has resolved. */
  warnings(): readonly string[];
}

/** The base branch's information about changed files; for a renamed one, at either path. */
interface AllBaseFacts {
  of(change: Change, path: string): BaseFacts;
  /** Warnings for people: attributes that could not be read. */
  warnings: readonly string[];
}

/** What the base says about a change. If its attributes cannot be read, the review continues without them: more is read, with a warning. */
async function askBase(workspace: Workspace, changes: readonly Change[]): Promise<AllBaseFacts> {
  const warnings: string[] = [];
  const attributes = await workspace
    .linguistAttributes(changes.flatMap(({ path, oldPath }) => (oldPath === null ? [path] : [path, oldPath])))
    .catch((error: unknown): ReadonlyMap<string, LinguistAttributes> => {
      if (error instanceof AppError && error.code === "aborted") throw error;
      warnings.push(
        `The base's .gitattributes could not be read, so generated and vendored files were told by their headers alone: ${errorLine(error)}`,
      );
      return new Map();
    });
  return {
    warnings,
    of: (change, path) => ({
      attributes: attributes.get(path) ?? null,
      headerSaysGenerated: () => headerSaysGenerated(workspace, change, path),
    }),
  };
}

/**
 * Whether a file's header marks it as generated both at head and at the base's tip: the pull request could mark its own file, and people may
 * have started to edit one that the base marks. An unreadable file is reviewed.
 */
async function headerSaysGenerated(
  workspace: Workspace,
  { path, newMode }: Change,
  basePath: string,
): Promise<boolean> {
  if (!newMode.startsWith("100")) return false;
  try {
    if (!saysGenerated((await workspace.headStart(path, HEADER_BYTES)).text)) return false;
    const before = (await workspace.tree("base")).get(basePath);
    return before !== undefined && saysGenerated((await workspace.readBlob(before.oid)).text);
  } catch {
    return false;
  }
}

/** What was read, or something else if it is too large or cannot be read. */
async function unlessUnread<Value, Other>(
  reading: Promise<Value>,
  other: (reason: string) => Other,
): Promise<Value | Other> {
  return await reading.catch((error: unknown) => {
    if (isUnreadable(error)) return other(UNREADABLE);
    if (error instanceof AppError && error.code === "too_large") return other(TOO_LARGE);
    throw error;
  });
}

/** A patch that is small enough to parse; `what` it is of. Rejects with `too_large` beyond MAX_DIFF_LINES, or if it was too large to read. */
export async function boundedPatch(
  what: string,
  contextLines: number,
  reading: Promise<string>,
): Promise<string> {
  const patch = await unlessUnread(reading, () => null);
  if (patch !== null && countLines(patch) <= MAX_DIFF_LINES) return patch;
  throw new AppError(
    "too_large",
    `The diff of ${what} with ${count(contextLines, "line")} of context has more than ${count(MAX_DIFF_LINES, "line")}`,
    { remedy: "Ask for fewer context_lines, or read the file in parts with read_file_part" },
  );
}

export const GITHUB_CONTEXT = 3;

const CONCURRENCY = 4;

/** Lines of parsed diffs in the cache; the least recently used diff is parsed again on request. */
const KEPT_LINES = 400_000;
/** Longer lines count as several. */
const CHARACTERS_A_LINE = 100;

/** Whether git prints hunks for a change; links and submodules get some too, but these contain no code. */
function isTextual(change: Change): boolean {
  return change.additions !== null && lastMode(change).startsWith("100");
}

/** The patch of a textual change. If a file replaces a link or submodule, only the file's part. */
async function textualPatch(workspace: Workspace, change: Change, contextLines: number): Promise<string> {
  const patch = await workspace.patch(change, contextLines);
  // The file is the second half; lines of content begin with a sign.
  return change.type === "type_changed" ? patch.slice(patch.indexOf("\ndiff --git ") + 1) : patch;
}

/** Why git shows no diff of a text; null if it is no longer a regular file, not text, or unreadable. */
async function hiddenText(workspace: Workspace, { path, newMode, newOid }: Change): Promise<string | null> {
  if (!newMode.startsWith("100")) return null;
  const start = await workspace.headStart(path, PROBED_BYTES).catch(() => null);
  if (start === null || !readsAsText(path, start)) return null;
  if (start.text.includes("\0")) return TEXT_AS_BINARY;
  // The file may also have been binary before.
  const file = await unlessUnread(workspace.readBlob(newOid), () => null).catch(() => undefined);
  return file === null ? TOO_LARGE_FOR_DIFF : TEXT_AS_BINARY;
}

/** Both states of a lock file are read completely, because a single line is enough for an attack. */
const readLock = (workspace: Workspace, change: Change): Promise<LockReading | null> =>
  unlessUnread(readBothLocks(workspace, change), () => ({ kind: "unread", reason: UNREADABLE_LOCK }));

async function readBothLocks(workspace: Workspace, change: Change): Promise<LockReading | null> {
  const { path, oldPath, oldMode, oldOid, newMode, newOid } = change;
  const textOf = async (mode: string, oid: string) =>
    mode.startsWith("100") ? (await workspace.readBlob(oid)).text : null;
  const manifestPath = posix.join(posix.dirname(path), "package.json");
  const manifest = async (ref: "head" | "merge_base") => {
    const entry = (await workspace.tree(ref)).get(manifestPath);
    return (entry && (await textOf(entry.mode, entry.oid))) ?? "";
  };
  const after = await textOf(newMode, newOid);
  if (after === null) return null;
  const isSameKind = posix.basename(oldPath ?? path) === posix.basename(path);
  const before = isSameKind ? await textOf(oldMode, oldOid) : null;
  const changes = await workspace.changes();
  const isChanged = changes.some((one) => one.path === manifestPath || one.oldPath === manifestPath);
  const now = await manifest("head");
  const manifests = [isChanged ? await manifest("merge_base") : now, now] as const;
  const reading = compareLocks(path, before, after, manifests);
  if (oldPath === null || reading.kind === "unread") return reading;
  // What was in use at another path is not in use here.
  const fresh = compareLocks(path, null, after, manifests);
  return fresh.kind === "unread" || reading.neutral !== null
    ? reading
    : { ...reading, neutral: fresh.neutral };
}

const formats = /\.(?:png|jpe?g|gif|webp|avif|ico|snap)$/i;

/** The format by which a program of ours has read all of a file that cannot be run, and all that was there before; null if there is none. */
async function knownFormat(workspace: Workspace, change: Change): Promise<string | null> {
  const { path, oldPath, oldMode, oldOid, newMode, newOid } = change;
  if (newMode !== "100644" || !formats.test(path)) return null;
  const formatAt = (at: string, oid: string) => unlessUnread(formatOf(workspace, at, oid), () => null);
  const format = await formatAt(path, newOid);
  const isNew = !oldMode.startsWith("100");
  return isNew || format === (await formatAt(oldPath ?? path, oldOid)) ? format : null;
}

async function formatOf(workspace: Workspace, path: string, oid: string): Promise<string | null> {
  if (!path.endsWith(".snap")) return isWholeImage(path, await workspace.readBytes(oid)) ? "image" : null;
  const { binary, encoding, text } = await workspace.readBlob(oid);
  return !binary && encoding === "utf8" && isPlainSnapshot(text) ? "snapshot" : null;
}

/** The target of an unreadable link is unknown. */
async function leadsAway(workspace: Workspace, { path, newOid }: Change): Promise<boolean> {
  const target = await workspace.readBlob(newOid).then(
    ({ text }) => text,
    () => "",
  );
  return leadsOut(path, target);
}

/** A context width beyond any file that can be reviewed: the diff has all lines. */
const WHOLE = 2 * MAX_REVIEWABLE_LINES;

/** The patch with all lines of a file; git prints no line of one that is only moved. */
async function wholePatch(workspace: Workspace, change: Change): Promise<string> {
  const patch = await workspace.patch(change, WHOLE);
  if (change.oldOid !== change.newOid) return patch;
  const { text } = await workspace.readBlob(change.newOid);
  const lines = text.replace(/\n$/, "").split("\n");
  const end = text.endsWith("\n") ? "" : `${NO_NEWLINE}\n`;
  const range = `1,${lines.length}`;
  return `${patch}@@ -${range} +${range} @@\n${lines.map((line) => ` ${line}\n`).join("")}${end}`;
}

async function hinderedWhole(workspace: Workspace, { newOid }: Change): Promise<string | null> {
  const file = await unlessUnread(workspace.readBlob(newOid), (reason) => reason);
  if (typeof file === "string") return file;
  if (countLines(file.text) > MAX_REVIEWABLE_LINES) return TOO_LARGE;
  if (file.binary) return MOVED_BINARY;
  return file.text.split("\n").some(isOverlong) ? OVERLONG_LINES : null;
}

/** A binary file that is found by its new path, or by its old one. */
const MOVED_BINARY = "binary at another path or with another mode";

const emptyDiff = (change: Change): FileDiff => ({
  path: change.path,
  oldPath: change.oldPath,
  header: [],
  hunks: [],
});

/** Parses each diff once, even for concurrent requests. A failure is retried at the next call. */
function createDiffCache(workspace: Workspace, keptLines: number): DiffSource["fileDiff"] {
  const cache = new LRUCache<string, FileDiff, { change: Change; contextLines: number }>({
    maxSize: keptLines,
    sizeCalculation: sizeOfDiff,
    // A read that loses its place goes on for those who wait for it.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context: { change, contextLines } }) =>
      readDiff(workspace, change, contextLines),
  });
  return async (change, contextLines) =>
    // A file that is edited meanwhile has different diffs before and after.
    await cache.forceFetch(JSON.stringify([contextLines, change]), { context: { change, contextLines } });
}

async function readDiff(workspace: Workspace, change: Change, contextLines: number): Promise<FileDiff> {
  if (!isTextual(change)) return emptyDiff(change);
  if (changesTooMuch(change)) throw changedTooMuch(change);
  const reading =
    contextLines === WHOLE ? wholePatch(workspace, change) : textualPatch(workspace, change, contextLines);
  const patch = await boundedPatch(`'${change.path}'`, contextLines, reading);
  return parseFilePatch(patch, change.path, change.oldPath);
}

function sizeOfDiff({ hunks }: FileDiff): number {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const characters = lines.reduce((sum, { text }) => sum + text.length, 0);
  return Math.ceil(Math.max(1, lines.length, characters / CHARACTERS_A_LINE));
}

const changesTooMuch = ({ additions, deletions }: Change) =>
  (additions ?? 0) + (deletions ?? 0) > MAX_DIFF_LINES;

function changedTooMuch({ path, additions, deletions }: Change): AppError {
  const changed = count((additions ?? 0) + (deletions ?? 0), "changed line");
  return new AppError(
    "too_large",
    `'${path}' has ${changed}, and no diff has more than ${count(MAX_DIFF_LINES, "line")}`,
    {
      remedy: "Read the file in parts with read_file_part, at merge_base for what was removed",
    },
  );
}

/** Whether a moved file, or one with another mode, must be read whole: where it is decides what runs it, or what it is. */
function isReadWhole({ path, oldPath, oldMode, newMode }: Change): boolean {
  if (!newMode.startsWith("100") || !oldMode.startsWith("100")) return false;
  if (oldPath === null) return oldMode !== newMode && isFoundByPath(path);
  const isOther = posix.extname(path) !== posix.extname(oldPath) || isTestFile(path) !== isTestFile(oldPath);
  return isOther || isFoundByPath(path) || isFoundByPath(oldPath);
}

function readingOf(change: Change): Reading {
  if (isReadWhole(change)) return "whole";
  return isOneLineChange(change) ? "line" : "hunks";
}

interface Survey {
  hunks: number;
  bytes: number;
  /** Digests of its changes, by hunk. */
  changes: ChangedFile["changes"];
  unreadable: string | null;
}

const unseen: Survey = { hunks: 0, bytes: 0, changes: [], unreadable: null };
/** The lists of files tell it, so it takes no room of the diff. The hash of a file covers its paths, modes and content. */
const oneLine: Survey = { hunks: 1, bytes: 0, changes: [[""]], unreadable: null };

const reviewable = { reviewable: true, skipReason: null, account: null };
/** In a broken tree: only one of them would be shown. */
const TWICE = "path that the tree names twice";
const NOTHING_TO_SHOW = "no line to show";

interface Described {
  file: ChangedFile;
  skip: Skip<Account | "named"> | null;
}

/** Changed lines of files that are skipped for their name or header, up to which they are read; or a quarter of the rest. */
const NAMED_LINES = 400;

const linesOf = ({ change: { additions, deletions } }: ChangedFile) => (additions ?? 0) + (deletions ?? 0);

/** The pull request chooses names and headers, so files that they call generated are read like others while few lines change, smallest first. */
function withNamed(all: readonly Described[]): ChangedFile[] {
  const times = Map.groupBy(all, ({ file }) => file.change.path);
  const [named, others] = [true, false].map((is) =>
    all.filter(({ skip }) => (skip?.account === "named") === is),
  );
  const rest = (others ?? []).reduce((sum, { file, skip }) => sum + (skip === null ? linesOf(file) : 0), 0);
  let room = Math.max(NAMED_LINES, rest / 4);
  const read = new Set<ChangedFile>();
  for (const { file } of (named ?? []).toSorted((a, b) => linesOf(a.file) - linesOf(b.file))) {
    room -= linesOf(file);
    if (room >= 0 && file.totalHunks > 0) read.add(file);
  }
  return all.map(({ file, skip }) => {
    const isTwice = (times.get(file.change.path)?.length ?? 0) > 1;
    if (!isTwice && (skip === null || read.has(file))) return file;
    const { reason, account } = isTwice || skip === null ? unread(TWICE) : skip;
    const decided = account === "named" ? "unread" : account;
    return { ...file, changes: [], reviewable: false, skipReason: reason, account: decided };
  });
}

/** Untracked files are nobody's decision yet. A staged or committed one is part of the change. */
const skipWithheld = (reason: string) => (reason === NAMED_LIKE_SECRET ? unread : leftOut)(reason);

/** Bytes around a file's hunks: `## `, its path and two line feeds, an old path and a mode. */
const headingBytes = ({ path, oldPath, oldMode, newMode }: Change) => {
  const was = oldPath === null ? 0 : shownBytes(` (was ${showPath(oldPath)})`);
  return shownBytes(showPath(path)) + 5 + was + (oldMode === newMode ? 0 : " (mode 100644 -> 100755)".length);
};

/** The changed files of a workspace, read once and again after edits, and their diffs, of which the last ones are cached. */
export function createDiffSource(
  workspace: Workspace,
  patterns: PathPatterns,
  keptLines = KEPT_LINES,
): DiffSource {
  const skipReason = createFilter(patterns);
  const { isPrivate = createPrivacy(patterns.private) } = patterns;
  let all: { of: readonly Change[]; files: Promise<ChangedFile[]> } | undefined;
  let warnings: readonly string[] = [];
  const locks = new WeakMap<Change, ReturnType<typeof readLock>>();

  /** Compares each lock file once. A failure is retried at the next call. */
  function lockOf(change: Change): ReturnType<typeof readLock> {
    const known = locks.get(change);
    if (known !== undefined) return known;
    const reading = readLock(workspace, change);
    locks.set(change, reading);
    reading.catch(() => locks.delete(change));
    return reading;
  }

  /** Does not parse: a change of a thousand files is surveyed as a whole, but read file by file. */
  async function survey(change: Change, reading: Reading): Promise<Survey> {
    if ([change.path, change.oldPath].some((path) => path !== null && isPrivate(path))) return unseen;
    if (changesTooMuch(change)) return { ...unseen, unreadable: TOO_LARGE };
    if (reading === "line") return oneLine;
    const hindered = reading === "whole" ? await hinderedWhole(workspace, change) : null;
    if (hindered !== null) return { ...unseen, unreadable: hindered };
    const reads = reading === "whole" ? wholePatch(workspace, change) : patchOf(change);
    const patch = await unlessUnread(reads, (unreadable) => ({ ...unseen, unreadable }));
    if (typeof patch !== "string") return patch;
    const { hunks, overlongChange, shownBytes: bytes, changes } = surveyPatch(patch);
    const digests = reading === "whole" ? changes.map(() => [""]) : changes;
    return { hunks, bytes, changes: digests, unreadable: overlongChange ? OVERLONG_LINES : null };
  }

  const patchOf = async (change: Change) =>
    isTextual(change) ? await textualPatch(workspace, change, GITHUB_CONTEXT) : "";

  async function describe(
    change: Change,
    reading: Reading,
    { hunks, bytes, changes, unreadable }: Survey,
    base: AllBaseFacts,
  ): Promise<Described> {
    const baseFacts = (path: string) => base.of(change, path);
    const unseen = {
      hiddenText: () => hiddenText(workspace, change),
      lock: () => lockOf(change),
      knownFormat: () => knownFormat(workspace, change),
    };
    const filtered = await skipReason(change, baseFacts, unseen);
    const isDecided = filtered?.reason === NOT_SELECTED || filtered?.reason === WITHHELD;
    const withheld = isDecided ? undefined : workspace.withheld.get(change.path);
    const hindered = unreadable ?? (hunks === 0 ? NOTHING_TO_SHOW : null);
    const diffBytes = bytes === 0 ? 0 : bytes + headingBytes(change);
    return {
      file: { change, reading, totalHunks: hunks, diffBytes, changes, ...reviewable },
      skip: withheld === undefined ? await skipFor(change, filtered, hindered) : skipWithheld(withheld),
    };
  }

  /** @param hindered why no model can read it */
  async function skipFor(
    change: Change,
    filtered: Described["skip"],
    hindered: string | null,
  ): Promise<Described["skip"]> {
    if (filtered?.reason === LINK && (await leadsAway(workspace, change))) return unread(LINK_OUT);
    if (hindered === null || (filtered !== null && filtered.account !== "named")) return filtered;
    if (hindered !== MOVED_BINARY || filtered !== null) return unread(filtered?.reason ?? hindered);
    const format = await knownFormat(workspace, change);
    return format === null ? effectWithoutLines({ ...change, additions: null }) : parsed(format);
  }

  async function describeAll(changes: readonly Change[]): Promise<ChangedFile[]> {
    const readings = changes.map(readingOf);
    // git reads the patches while the base's attributes are requested.
    const [base, surveys] = await Promise.all([
      askBase(workspace, changes),
      pMap(changes, (change, at) => survey(change, readings[at] ?? "hunks"), { concurrency: CONCURRENCY }),
    ]);
    warnings = base.warnings;
    const describeAt = (change: Change, at: number) =>
      describe(change, readings[at] ?? "hunks", surveys[at] ?? unseen, base);
    return withNamed(await pMap(changes, describeAt, { concurrency: CONCURRENCY }));
  }

  const fileDiff = createDiffCache(workspace, keptLines);
  return {
    fileDiff,
    async lockFaults(change) {
      const reading = await lockOf(change);
      return reading?.kind === "read" ? reading.faults : [];
    },
    async shownDiff({ change, reading }) {
      if (reading === "line") return emptyDiff(change);
      return await fileDiff(change, reading === "whole" ? WHOLE : GITHUB_CONTEXT);
    },
    async files() {
      const changes = await workspace.changes();
      if (all?.of !== changes) all = { of: changes, files: describeAll(changes) };
      const mine = all;
      mine.files.catch(() => {
        if (all === mine) all = undefined;
      });
      return mine.files;
    },
    warnings: () => warnings,
  };
}
