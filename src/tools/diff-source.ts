import { LRUCache } from "lru-cache";
import pMap from "p-map";
import { type FileDiff, parseFilePatch, shownBytes } from "../diff/file-diff.ts";
import {
  createFilter,
  createPrivacy,
  lastMode,
  NOT_SELECTED,
  OVERLONG_LINES,
  type PathPatterns,
  TEXT_AS_BINARY,
  TOO_LARGE,
  TOO_LARGE_FOR_DIFF,
} from "../diff/filter.ts";
import { lockSourceReason, UNREADABLE_LOCK } from "../diff/lock-sources.ts";
import {
  type BaseWord,
  HEADER_BYTES,
  type LinguistAttributes,
  PROBED_BYTES,
  readsAsText,
  saysGenerated,
} from "../diff/origin.ts";
import { countLines, MAX_DIFF_LINES, surveyPatch } from "../diff/survey.ts";
import { LINK, LINK_OUT, leadsOut } from "../diff/without-lines.ts";
import { AppError, errorLine } from "../errors.ts";
import type { Change, Workspace } from "../git/workspace.ts";
import { count, showPath } from "./show.ts";
import type { ChangedFile, DiffSource } from "./tool.ts";

/** The base branch's information about changed files; for a renamed one, at either path. */
interface BaseWords {
  of(change: Change, path: string): BaseWord;
  /** Warnings for people: attributes that could not be read. */
  warnings: readonly string[];
}

/**
 * Reads the base's information about a change. If its attributes cannot be read, the review continues without them and with a warning: it
 * is better to review a generated file than to skip one that the base wants reviewed.
 */
async function askBase(workspace: Workspace, changes: readonly Change[]): Promise<BaseWords> {
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
 * Whether a file's header marks it as generated both at head and at the base's tip. With the head only, the pull request could mark its own
 * file; with the base only, people have started to edit the file. The head is checked first: its files are on the disk, so few blobs must
 * be read. An unreadable file is reviewed.
 */
async function headerSaysGenerated(
  workspace: Workspace,
  { path, newMode }: Change,
  basePath: string,
): Promise<boolean> {
  if (!newMode.startsWith("100")) return false;
  try {
    if (!saysGenerated((await workspace.headStart(path, HEADER_BYTES)).text, path)) return false;
    const before = (await workspace.tree("base")).get(basePath);
    return before !== undefined && saysGenerated((await workspace.readBlob(before.oid)).text, basePath);
  } catch {
    return false;
  }
}

const isTooLarge = (error: unknown) => error instanceof AppError && error.code === "too_large";

/**
 * A patch that is small enough to parse. Rejects with `too_large` and a suggestion if it has more than MAX_DIFF_LINES lines or was too
 * large to read.
 *
 * @param what describes the owner of the patch
 */
export async function boundedPatch(
  what: string,
  contextLines: number,
  reading: Promise<string>,
): Promise<string> {
  const refusal = () =>
    new AppError(
      "too_large",
      `The diff of ${what} with ${count(contextLines, "line")} of context has more than ${count(MAX_DIFF_LINES, "line")}`,
      { remedy: "Ask for fewer context_lines, or read the file in parts with read_file_part" },
    );
  const patch = await reading.catch((error: unknown) => {
    throw isTooLarge(error) ? refusal() : error;
  });
  if (countLines(patch) > MAX_DIFF_LINES) throw refusal();
  return patch;
}

/** The context width of GitHub's diff. */
export const GITHUB_CONTEXT = 3;

/** Patches read at the same time when all files are surveyed. */
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
  const isTooLarge = (error: unknown) => error instanceof AppError && error.code === "too_large";
  // The file may also have been binary before.
  return workspace.readBlob(newOid).then(
    () => TEXT_AS_BINARY,
    (error) => (isTooLarge(error) ? TOO_LARGE_FOR_DIFF : TEXT_AS_BINARY),
  );
}

/** Both states of a lock file are read completely, because a single line is enough for an attack. */
async function lockSources(workspace: Workspace, change: Change): Promise<string | null> {
  const { path, oldMode, oldOid, newMode, newOid } = change;
  const textOf = async (mode: string, oid: string) =>
    mode.startsWith("100") ? (await workspace.readBlob(oid)).text : null;
  try {
    const after = await textOf(newMode, newOid);
    return after === null ? null : lockSourceReason(path, await textOf(oldMode, oldOid), after);
  } catch (error) {
    if (error instanceof AppError && error.code === "too_large") return UNREADABLE_LOCK;
    throw error;
  }
}

/** The target of an unreadable link is unknown. */
async function reasonOfLink(workspace: Workspace, { path, newOid }: Change): Promise<string> {
  const target = await workspace.readBlob(newOid).then(
    ({ text }) => text,
    () => "",
  );
  return leadsOut(path, target) ? LINK_OUT : LINK;
}

const emptyDiff = (change: Change): FileDiff => ({
  path: change.path,
  oldPath: change.oldPath,
  header: [],
  hunks: [],
});

/** Parses each diff once, even for concurrent requests. A failure is retried at the next call. */
function createDiffCache(workspace: Workspace, keptLines: number): DiffSource["fileDiff"] {
  const kept = new LRUCache<string, FileDiff>({ maxSize: keptLines });
  const reading = new Map<string, Promise<FileDiff>>();

  async function read(change: Change, contextLines: number, key: string): Promise<FileDiff> {
    if (!isTextual(change)) return emptyDiff(change);
    if (changesTooMuch(change)) throw changedTooMuch(change);
    const patch = await boundedPatch(
      `'${change.path}'`,
      contextLines,
      textualPatch(workspace, change, contextLines),
    );
    const diff = parseFilePatch(patch, change.path, change.oldPath);
    const lines = Math.max(countLines(patch), patch.length / CHARACTERS_A_LINE);
    kept.set(key, diff, { size: Math.max(1, Math.ceil(lines)) });
    return diff;
  }

  return async (change, contextLines) => {
    // A file that is edited meanwhile has different diffs before and after.
    const key = JSON.stringify([contextLines, change]);
    const known = kept.get(key) ?? reading.get(key);
    if (known !== undefined) return known;
    const diff = read(change, contextLines, key).finally(() => reading.delete(key));
    reading.set(key, diff);
    return diff;
  };
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

/** Facts about the patch of a change without parsing it. */
interface Survey {
  hunks: number;
  /** Bytes of the hunks as the model sees them. */
  bytes: number;
  /** Digests of its changes, by hunk. */
  changes: ChangedFile["changes"];
  /** Why it cannot be read; null if it can. */
  unreadable: string | null;
}

const unseen: Survey = { hunks: 0, bytes: 0, changes: [], unreadable: null };

/** Bytes around a file's hunks: `## `, its path and two line feeds. */
const headingBytes = (path: string) => shownBytes(showPath(path)) + 5;

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

  /** Does not parse: a change of a thousand files is surveyed as a whole, but read file by file. */
  async function survey(change: Change): Promise<Survey> {
    if ([change.path, change.oldPath].some((path) => path !== null && isPrivate(path))) return unseen;
    if (changesTooMuch(change)) return { ...unseen, unreadable: TOO_LARGE };
    try {
      const patch = isTextual(change) ? await textualPatch(workspace, change, GITHUB_CONTEXT) : "";
      const { hunks, overlongChange, shownBytes: bytes, changes } = surveyPatch(patch);
      return { hunks, bytes, changes, unreadable: overlongChange ? OVERLONG_LINES : null };
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "too_large") throw error;
      return { ...unseen, unreadable: TOO_LARGE };
    }
  }

  async function describe(
    change: Change,
    { hunks, bytes, changes, unreadable }: Survey,
    base: BaseWords,
  ): Promise<ChangedFile> {
    const word = (path: string) => base.of(change, path);
    const unseen = {
      hiddenText: () => hiddenText(workspace, change),
      lockSources: () => lockSources(workspace, change),
    };
    const filtered = await skipReason(change, word, unseen);
    const withheld = filtered === NOT_SELECTED ? undefined : workspace.withheld.get(change.path);
    const skipped = withheld ?? filtered ?? unreadable;
    const reason = skipped === LINK ? await reasonOfLink(workspace, change) : skipped;
    const diffBytes = hunks === 0 ? 0 : bytes + headingBytes(change.path);
    return {
      ...{ change, totalHunks: hunks, diffBytes },
      changes: reason === null ? changes : [],
      ...{ reviewable: reason === null, skipReason: reason },
    };
  }

  async function lookAtAll(changes: readonly Change[]): Promise<ChangedFile[]> {
    // git reads the patches while the base's attributes are requested.
    const [base, surveys] = await Promise.all([
      askBase(workspace, changes),
      pMap(changes, survey, { concurrency: CONCURRENCY }),
    ]);
    warnings = base.warnings;
    const surveyed = changes.map((change, at) => ({ change, survey: surveys[at] ?? unseen }));
    return await pMap(surveyed, (one) => describe(one.change, one.survey, base), {
      concurrency: CONCURRENCY,
    });
  }

  return {
    fileDiff: createDiffCache(workspace, keptLines),
    async files() {
      const changes = await workspace.changes();
      if (all?.of !== changes) all = { of: changes, files: lookAtAll(changes) };
      const mine = all;
      mine.files.catch(() => {
        if (all === mine) all = undefined;
      });
      return mine.files;
    },
    warnings: () => warnings,
  };
}
