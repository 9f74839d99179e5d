import { createHmac, hash } from "node:crypto";
import type { Coverage } from "../../agent/loop/coverage.ts";
import { defaultRepoConfig, type EffectiveConfig } from "../../config/repo-config.ts";
import type { Finding, Side } from "../../core/finding.ts";
import { HASH_CHARACTERS, PATH_CHARACTERS, type Reviewed } from "../../core/ledger/state.ts";
import type { FileDiff, Hunk } from "../../repo/diff/file-diff.ts";
import type { ChangedFile, DiffSource } from "../../repo/diff-source.ts";
import type { History } from "../shapes/review-input.ts";

const sha256 = (text: string) => hash("sha256", text, "base64url");

/** The name at the merge base: renaming a file makes nothing in it new. */
const firstName = ({ change }: Pick<ChangedFile, "change">) => change.oldPath ?? change.path;

export const fileMark = (path: string) => sha256(path).slice(0, PATH_CHARACTERS);

export const markOf = (hash: string) => hash.slice(0, PATH_CHARACTERS);

/** Records a due re-check of an earlier finding in a file. No content has this hash, so the file counts as changed. */
export const lookAgain = (mark: string) => mark + "-".repeat(HASH_CHARACTERS - PATH_CHARACTERS);

/** Hashes the changes of a file for the state: one digest, or all in order. */
type ContentHash = (path: string, digests: readonly string[]) => string;

/** The part of the configuration that decides what is searched and reported. */
const reportingRules = (config: EffectiveConfig) => {
  const {
    instructions,
    minimum_severity,
    severity_by_path = [],
    rules,
    guidance,
    organization_rules,
  } = config;
  const more = [guidance, organization_rules].filter((one) => one !== undefined);
  return JSON.stringify([instructions, minimum_severity, severity_by_path, rules, ...more]);
};
const defaultRules = reportingRules(defaultRepoConfig);

/** Under other rules everything is new: the author chooses the base branch, and with an old branch the rules of that time. */
export function keyUnder(config: EffectiveConfig, key: string): string {
  const rules = reportingRules(config);
  return rules === defaultRules ? key : sha256(JSON.stringify([key, rules]));
}

/**
 * Hashes with a secret key. The author of a pull request chooses the content, and hashes this short have findable collisions; without
 * the key, no one can search for them.
 */
export function contentHashBy(key: string): ContentHash {
  return (path, digests) => {
    const content = createHmac("sha256", key)
      .update([path, ...digests].join("\0"))
      .digest("base64url");
    return fileMark(path) + content.slice(0, HASH_CHARACTERS - PATH_CHARACTERS);
  };
}

/** The hunks of a change that earlier reviews have read, recognized by content. Paths are those of the head. */
export interface ReviewedHunks {
  /** Numbers of the file's reviewed `-U3` hunks, from 1. */
  known(path: string): ReadonlySet<number>;
  hasNew(path: string): boolean;
  /** Whether the file, which may have left the change, lost a reviewed change, or a re-check in it is due. */
  hasLost(path: string): boolean;
  /** True if no earlier review is remembered: every hunk is new. */
  isFirst: boolean;
  isKnownLine(path: string, side: Side, line: number): Promise<boolean>;
  /** Whether the finding is in a reviewed hunk, and no hunk that was not reviewed is among its evidence. */
  isOldNews(finding: Pick<Finding, "path" | "side" | "line" | "evidence">): Promise<boolean>;
  contentHash: ContentHash;
}

/**
 * Compares the current change with what was reviewed. A hunk is known if all of its changes are. Equal changes are counted: if there
 * are more of them now, all of them are new, because the new one cannot be told from the others.
 *
 * A reviewed change that was taken back may have made the rest harmless, and no hunk shows that it is gone. So if a file lost a
 * reviewed change and nothing in it is new, or all of it is gone, the whole change is new.
 */
export function findReviewedHunks(
  files: readonly ChangedFile[],
  history: Pick<History, "reviewed" | "key"> | null,
  diffs: Pick<DiffSource, "shownDiff">,
): ReviewedHunks {
  const reviewed = history?.reviewed ?? null;
  const byPath = new Map(files.map((file) => [file.change.path, file]));
  const contentHash = contentHashBy(history?.key ?? "");
  const { known, lost } = reviewed ? compare(files, reviewed, contentHash) : nothing;
  const knownIn = (path: string) => known.get(path) ?? none;
  async function isKnownLine(path: string, side: Side, line: number): Promise<boolean> {
    const file = byPath.get(path);
    if (!file || knownIn(path).size === 0) return false;
    const { hunks } = await diffs.shownDiff(file);
    return knownIn(path).has(hunks.findIndex((hunk) => holds(hunk, side, line)) + 1);
  }
  async function isNewPlace({ path, start_line, end_line }: Finding["evidence"][number]): Promise<boolean> {
    const file = byPath.get(path);
    if (!file?.reviewable) return false;
    const { hunks } = await diffs.shownDiff(file);
    const isIn = ({ newStart, newLines }: Hunk) => newStart <= end_line && start_line < newStart + newLines;
    return hunks.some((hunk, at) => isIn(hunk) && !knownIn(path).has(at + 1));
  }
  return {
    contentHash,
    isFirst: reviewed === null,
    known: knownIn,
    isKnownLine,
    async isOldNews({ path, side, line, evidence }) {
      if (!(await isKnownLine(path, side, line))) return false;
      for (const place of evidence) if (await isNewPlace(place)) return false;
      return true;
    },
    hasNew(path) {
      const file = byPath.get(path);
      return file?.reviewable === true && file.totalHunks > knownIn(path).size;
    },
    hasLost(path) {
      const file = byPath.get(path);
      return [path, ...(file ? [firstName(file)] : [])].some((name) => lost.has(fileMark(name)));
    },
  };
}

/** By the hunk header only, because analyzers may match thousands of lines of one file. */
function holds(hunk: Hunk, side: Side, line: number): boolean {
  const [start, lines] = side === "RIGHT" ? [hunk.newStart, hunk.newLines] : [hunk.oldStart, hunk.oldLines];
  return start <= line && line < start + lines;
}

const none: ReadonlySet<number> = new Set();
const nothing: Compared = { known: new Map(), lost: new Set() };

function changeHashes(file: ChangedFile, contentHash: ContentHash): string[][] {
  const name = firstName(file);
  return file.changes.map((digests) => digests.map((digest) => contentHash(name, [digest])));
}

/** They make nothing known, but they show later that a change is gone. */
export function unreadHashes(
  file: ChangedFile,
  hunks: ReadonlySet<number>,
  contentHash: ContentHash,
): string[] {
  const name = firstName(file);
  return file.changes.flatMap((digests, at) =>
    hunks.has(at + 1) ? digests.map((digest) => contentHash(name, ["unread", digest])) : [],
  );
}

export const allHunks = ({ changes }: ChangedFile) => new Set(changes.map((_, at) => at + 1));

interface Compared {
  known: ReadonlyMap<string, ReadonlySet<number>>;
  /** Prefixes of files that lost a reviewed change. */
  lost: ReadonlySet<string>;
}

function compare(
  files: readonly ChangedFile[],
  { unit, hashes }: Reviewed,
  contentHash: ContentHash,
): Compared {
  const hunks = new Map(files.map((file) => [file.change.path, hunkHashes(file, unit, contentHash)]));
  // A file that was recorded as a whole counts once.
  const now = countOf([...hunks.values()].flatMap((of) => (unit === "change" ? of.flat() : (of[0] ?? []))));
  const read = countOf(hashes);
  const isRead = (hash: string) => (now.get(hash) ?? 0) <= (read.get(hash) ?? 0);
  const known = new Map<string, ReadonlySet<number>>();
  for (const [path, ofFile] of hunks)
    known.set(path, new Set(ofFile.flatMap((one, at) => (one.every(isRead) ? [at + 1] : []))));
  const unread = countOf(files.flatMap((file) => unreadHashes(file, allHunks(file), contentHash)));
  const isLost = ([hash, count]: [string, number]) => count > (now.get(hash) ?? unread.get(hash) ?? 0);
  const lost = [...read].filter(isLost).map(([hash]) => hash);
  const gone = new Set(lost.filter((hash) => hash !== lookAgain(markOf(hash))).map(markOf));
  const hasNew = ({ change, reviewable, totalHunks }: ChangedFile) =>
    reviewable && totalHunks > (known.get(change.path)?.size ?? 0);
  // A file without a readable line counts as gone.
  const withNew = files.filter((file) => file.reading !== "line" && hasNew(file));
  const isNew = new Set(withNew.map((file) => fileMark(firstName(file))));
  if ([...gone].some((mark) => !isNew.has(mark))) known.clear();
  return { known, lost: new Set(lost.map(markOf)) };
}

function hunkHashes(file: ChangedFile, unit: Reviewed["unit"], contentHash: ContentHash): string[][] {
  if (unit === "change") return changeHashes(file, contentHash);
  const whole = [contentHash(firstName(file), file.changes.flat())];
  return file.changes.map(() => whole);
}

function countOf(hashes: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const hash of hashes) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  return counts;
}

export const countReviewed = (files: readonly ChangedFile[], known: Pick<ReviewedHunks, "known">): number =>
  files.reduce((sum, { change }) => sum + known.known(change.path).size, 0);

export const headingNote = (note: string) => (note === "" ? "" : ` (${note})`);

/**
 * The new hunks of a file, and how many they are, in words; empty if all are new.
 * @param read numbers of the `-U3` hunks that were read
 */
export function newHunks(diff: FileDiff, read: ReadonlySet<number>): { hunks: Hunk[]; note: string } {
  const all = diff.hunks.length;
  const hunks = diff.hunks.filter((_, at) => !read.has(at + 1));
  if (hunks.length === all) return { hunks, note: "" };
  return { hunks, note: `new: ${hunks.length} of ${all} hunks; an earlier review has read the rest` };
}

/** A larger change is recorded by whole files, because the state must fit into a comment. */
export const MAX_CHANGES = 2_000;

/** Everything that counts as reviewed now: the served hunks of this and earlier reviews. Unread changes are recorded as unread. */
export function reviewedNow(
  files: readonly ChangedFile[],
  coverage: Pick<Coverage, "unshown">,
  contentHash: ContentHash,
  maxChanges = MAX_CHANGES,
): Reviewed {
  const changes = files.reduce((sum, { changes: hunks }) => sum + hunks.flat().length, 0);
  if (changes <= maxChanges)
    return {
      unit: "change",
      hashes: files.flatMap((file) => [
        ...readHashes(file, coverage, contentHash),
        ...unreadHashes(file, new Set(coverage.unshown(file.change.path)), contentHash),
      ]),
    };
  return { unit: "file", hashes: servedHashes(files, "file", coverage, contentHash) };
}

/** The hashes by which these files count as reviewed, as far as they were served. */
export function servedHashes(
  files: readonly ChangedFile[],
  unit: Reviewed["unit"],
  coverage: Pick<Coverage, "unshown">,
  contentHash: ContentHash,
): string[] {
  if (unit === "change") return files.flatMap((file) => readHashes(file, coverage, contentHash));
  const read = files.filter(
    (file) => file.changes.length > 0 && coverage.unshown(file.change.path).length === 0,
  );
  return read.map((file) => contentHash(firstName(file), file.changes.flat()));
}

/** Hashes of the changes in a file's reviewed hunks, except for some hunks. */
export function readHashes(
  file: ChangedFile,
  coverage: Pick<Coverage, "unshown">,
  contentHash: ContentHash,
  leftOut: ReadonlySet<number> = new Set(),
): string[] {
  const unread = new Set(coverage.unshown(file.change.path));
  const hunks = changeHashes(file, contentHash);
  return hunks.flatMap((hashes, at) => (unread.has(at + 1) || leftOut.has(at + 1) ? [] : hashes));
}
