import { isUtf8 } from "node:buffer";
import { AppError } from "../../core/errors.ts";
import { decodeText, splitNul } from "../../core/text/decode.ts";
import { decodeName, markerPath, quotePath } from "./names.ts";
import { hasBlob, parseChanges, type RawEntry, rawEntries } from "./object-listing.ts";
import { isObjectName, runGit, streamGit } from "./run-git.ts";
import { unreadableBlobs } from "./unreadable.ts";
import type { Change, ObjectPlace } from "./workspace.ts";

const SUBMODULE_MODE = "160000";
/** A listing of this size has about a hundred thousand changes; a larger one is an attack. */
const MAX_LISTING_BYTES = 32 * 1024 * 1024;
/** Unchanged lines around each change, as GitHub shows it. */
const PATCH_CONTEXT = 3;

/**
 * Bytes of a change's patches, and their hunks, that are read: a change of thousands of ordinary files has half of this. The files after that
 * are unread, and a check is not green. All of it is in memory, for each review at a time.
 */
const patchLimits = { bytes: 64 * 1024 * 1024, hunks: 200_000 };

/** The change from merge base to head, as one git process prints it. */
export interface ReadChange {
  /** In git's order, unreadable ones last. */
  changes: readonly Change[];
  /** By path; undefined for a file after those that could be read. */
  sections: ReadonlyMap<string, readonly PatchSection[] | undefined>;
}

/** A file's patch as git prints it; two if its type changes. Rejects with `too_large` for a file after those that could be read. */
export async function patchOf(
  place: ObjectPlace,
  { sections: all }: ReadChange,
  change: Change,
  contextLines: number,
): Promise<string> {
  if (change.isUnreadable)
    throw new AppError("revision_unknown", `'${change.path}' cannot be read: git lacks an object of it`);
  if (!all.has(change.path)) throw new AppError("git_failed", `There is no patch of '${change.path}'`);
  const sections = all.get(change.path);
  if (sections === undefined)
    throw new AppError("too_large", `The change is so large that the patch of '${change.path}' was not read`);
  let patch = "";
  for (const { header, hunks } of sections) {
    const isWhole = /^(?:new|deleted) file mode /m.test(header.toString("latin1"));
    // A whole file has no unchanged lines, a submodule has one line, and a rename may have none.
    const isSame = isWhole || change.newMode === SUBMODULE_MODE || hunks.length === 0;
    const sides = { from: change.oldOid, to: change.newOid };
    const shown =
      isSame || contextLines === PATCH_CONTEXT ? hunks : await blobHunks(place, sides, contextLines);
    patch += decodeHeader(header, change) + decodeText(shown).text;
  }
  return patch;
}

/** The options that fix git's format for every diff of this folder: no driver, no program, no configuration. */
const diffOptions = [
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--src-prefix=a/",
  "--dst-prefix=b/",
  "--inter-hunk-context=0",
  "--diff-algorithm=myers",
  "--ignore-submodules=none",
  "--submodule=short",
];

/** Renames as GitHub detects them; `-C` would report an added file as a copy, which GitHub does not. */
const renameOptions = ["-M", "-l1000"];

/** Records end with NUL and none is empty; an empty one separates them from the patches. */
const SEPARATOR = Buffer.from([0, 0]);

/**
 * Compares merge base and head once for everything: a second process would read every changed file again. Files that git cannot read come
 * last, are marked, and have no patch; nothing tells whether they were renamed.
 */
export async function readChange(
  place: ObjectPlace,
  signal: AbortSignal,
  limits = patchLimits,
): Promise<ReadChange> {
  return await compare(place, signal, limits).catch(async (error: unknown) => {
    if (!(error instanceof AppError) || error.code !== "git_failed") throw error;
    const { mergeBase, head } = place.shas;
    const where = { git: place, gitDir: place.gitDir, signal };
    const args = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", mergeBase, head, "--"];
    const { stdout } = await runGit({ ...where, what: "list changes", args, maxBytes: MAX_LISTING_BYTES });
    const sidesOf = ({ oldMode, oldOid, newMode, newOid }: RawEntry) => [
      ...(hasBlob(oldMode) ? [oldOid] : []),
      ...(hasBlob(newMode) ? [newOid] : []),
    ];
    const all = rawEntries(splitNul(stdout, decodeName));
    const lost = await unreadableBlobs(where, all.flatMap(sidesOf));
    const unread = all
      .filter((one) => sidesOf(one).some((oid) => lost.has(oid)))
      .map((one) => ({ ...one, additions: null, deletions: null, isUnreadable: true as const }));
    if (unread.length === 0) throw error;
    const paths = unread.map(({ path }) => path);
    const { changes, sections } = await compare(place, signal, limits, paths);
    return { changes: [...changes, ...unread], sections };
  });
}

async function compare(
  place: ObjectPlace,
  signal: AbortSignal,
  limits: typeof patchLimits,
  without: readonly string[] = [],
): Promise<ReadChange> {
  const { mergeBase, head } = place.shas;
  const what = ["-r", "-z", "--raw", "--numstat", "--no-abbrev", "-p", `-U${PATCH_CONTEXT}`];
  const pieces: Buffer[] = [];
  let bytes = 0;
  const args = ["diff-tree", ...what, ...renameOptions, ...diffOptions, mergeBase, head, "--"];
  const command = { git: place, gitDir: place.gitDir, what: "diff", args, signal, without };
  const isOver = () => bytes > limits.bytes + MAX_LISTING_BYTES;
  const isCut = await streamGit(command, (chunk) => {
    pieces.push(chunk);
    bytes += chunk.length;
    return isOver() ? "stop" : undefined;
  }).then(isOver, (error) => {
    // Patches that arrived in time are used.
    const isLate = error instanceof AppError && error.code === "git_timeout";
    if (!isLate || !Buffer.concat(pieces).includes(SEPARATOR)) throw error;
    return true;
  });
  const output = Buffer.concat(pieces);
  const found = output.indexOf(SEPARATOR);
  // Without a change there is neither a listing nor a separator.
  const end = found < 0 ? output.length : found + 1;
  if (end > MAX_LISTING_BYTES)
    throw new AppError("too_large", `The list of changed files has more than ${MAX_LISTING_BYTES} bytes`);
  const changes = parseChanges(output.subarray(0, end));
  return { changes, sections: sectionsOf(changes, output.subarray(end + 1), { ...limits, isCut }) };
}

/** Sections are in the order of the raw records, two for a change of type. */
function sectionsOf(
  changes: readonly Change[],
  output: Buffer,
  limits: typeof patchLimits & { isCut: boolean },
) {
  const { sections, isWhole } = splitPatches(output, limits);
  const byPath = new Map<string, readonly PatchSection[] | undefined>();
  let at = 0;
  for (const change of changes) {
    const end = at + (change.type === "type_changed" ? 2 : 1);
    byPath.set(change.path, end <= sections.length ? sections.slice(at, end) : undefined);
    at = end;
  }
  if (isWhole && at !== sections.length)
    throw new AppError("git_failed", `git printed ${sections.length} patches for ${changes.length} changes`);
  return byPath;
}

/** git's output for one file: the lines before its hunks, and the hunks. */
interface PatchSection {
  header: Buffer;
  hunks: Buffer;
}

const SECTION = Buffer.from("diff --git ");
const [NEWLINE, SPACE, PLUS, MINUS, AT, BACKSLASH] = [0x0a, 0x20, 0x2b, 0x2d, 0x40, 0x5c];

/**
 * Divides patches into the sections of files; the last one is left out if output was cut or exceeds a limit. The counts of an `@@` line decide
 * which lines belong to its hunk, so content that looks like a header cannot mislead it.
 */
export function splitPatches(
  output: Buffer,
  { bytes, hunks: maxHunks, isCut }: typeof patchLimits & { isCut: boolean },
): { sections: PatchSection[]; isWhole: boolean } {
  const sections: PatchSection[] = [];
  let hunks = 0;
  for (let at = 0; at < output.length; ) {
    if (!startsSection(output, at) && !(isCut && output.length - at < SECTION.length))
      throw broken("has a line outside of every file");
    const start = endOfHeader(output, at);
    let end = start;
    for (; output[end] === AT; hunks++) end = afterHunk(output, end);
    const isOpen = end > output.length || (end === output.length && output.at(-1) !== NEWLINE);
    if (isOpen && !isCut) throw broken("ends inside a hunk");
    if (end > bytes || hunks > maxHunks || (isCut && end >= output.length))
      return { sections, isWhole: false };
    sections.push({ header: output.subarray(at, start), hunks: output.subarray(start, end) });
    at = end;
  }
  return { sections, isWhole: !isCut };
}

const startsSection = (output: Buffer, at: number) =>
  output.subarray(at, at + SECTION.length).equals(SECTION);

/** The index of the first hunk of a section, or of what follows it. */
function endOfHeader(output: Buffer, start: number): number {
  let at = afterLine(output, start);
  while (at < output.length && output[at] !== AT && !startsSection(output, at)) at = afterLine(output, at);
  return at;
}

/** The index after a hunk; beyond the output if that ends before it. */
function afterHunk(output: Buffer, start: number): number {
  const counts = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(
    output.toString("latin1", start, start + 100),
  );
  let at = afterLine(output, start);
  if (at >= output.length && !counts) return output.length + 1;
  if (!counts) throw broken("has a hunk header that cannot be read");
  let [old, now] = [Number(counts[1] ?? 1), Number(counts[2] ?? 1)];
  while (old > 0 || now > 0 || output[at] === BACKSLASH) {
    const sign = output[at];
    if (sign === undefined) return output.length + 1;
    if (sign === SPACE || sign === MINUS) old -= 1;
    if (sign === SPACE || sign === PLUS) now -= 1;
    if (sign !== SPACE && sign !== MINUS && sign !== PLUS && sign !== BACKSLASH)
      throw broken("has a line of no known kind");
    at = afterLine(output, at);
  }
  return at;
}

/** The index after the line feed, or after the output if there is none. */
function afterLine(output: Buffer, from: number): number {
  const newline = output.indexOf(NEWLINE, from);
  return newline < 0 ? output.length : newline + 1;
}

function broken(what: string): AppError {
  return new AppError("git_failed", `The patch that git printed ${what}`);
}

/** Larger hunks are useless to a reader, and several may be in memory. */
const MAX_HUNKS_BYTES = 32 * 1024 * 1024;

/** The hunks between two blobs, without a header. Empty if the blobs are equal or binary. Rejects with `too_large`. */
export async function blobHunks(
  place: ObjectPlace,
  { from, to }: { from: string; to: string },
  contextLines: number,
): Promise<Buffer> {
  if (![from, to].every(isObjectName)) {
    throw new AppError("revision_unknown", "Name a blob by its full object name");
  }
  const { stdout } = await runGit({
    git: place,
    gitDir: place.gitDir,
    what: "diff of two blobs",
    maxBytes: MAX_HUNKS_BYTES,
    args: ["diff", `-U${contextLines}`, ...diffOptions, from, to, "--"],
  });
  const start = stdout.indexOf("\n@@ ");
  return start < 0 ? Buffer.alloc(0) : stdout.subarray(start + 1);
}

/** The lines before the hunks. If a name is not UTF-8, the lines with a name are rewritten with its bytes escaped, which git accepts as well. */
function decodeHeader(header: Buffer, names: { path: string; oldPath: string | null }): string {
  if (isUtf8(header)) return header.toString("utf8");
  const [old, path] = [names.oldPath ?? names.path, names.path];
  const whole = header.toString("latin1");
  const isThere = (mode: string) => !whole.includes(`\n${mode} file mode `);
  const [from, to] = [quotePath(`a/${old}`), quotePath(`b/${path}`)];
  const written = [
    ["diff --git ", `${from} ${to}`],
    ["--- ", markerPath(`a/${old}`)],
    ["+++ ", markerPath(`b/${path}`)],
    ["rename from ", quotePath(old)],
    ["rename to ", quotePath(path)],
    ["Binary files ", `${isThere("new") ? from : ABSENT} and ${isThere("deleted") ? to : ABSENT} differ`],
  ] as const;
  // Neither the marker of a missing file nor any other line contains a name.
  return whole.replace(/[^\n]+/g, (line) => {
    const [start, rest] = written.find(([beginning]) => line.startsWith(beginning)) ?? [];
    return start === undefined || line.slice(start.length) === ABSENT ? line : start + rest;
  });
}

const ABSENT = "/dev/null";
