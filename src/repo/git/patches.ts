import { isUtf8 } from "node:buffer";
import { LRUCache } from "lru-cache";
import { AppError } from "../../core/errors.ts";
import { decodeText } from "../../core/text/decode.ts";
import { markerPath, quotePath } from "./names.ts";
import { parseChanges } from "./object-listing.ts";
import { isObjectName, runGit, streamGit } from "./run-git.ts";
import type { Change, ObjectPlace } from "./workspace.ts";

const SUBMODULE_MODE = "160000";
/** Cache size for recent hunks at other widths. */
const KEPT_BYTES = 32 * 1024 * 1024;

/** The change's patches. One git process prints all of them; other context widths are read file by file. */
export class Patches {
  readonly #place: ObjectPlace;
  readonly #limits: PatchLimits;
  readonly #readBlob: (oid: string) => Promise<Buffer>;
  readonly #bodies: LRUCache<string, Buffer>;
  readonly #disposed = new AbortController();
  #changes: Promise<readonly Change[]> | undefined;
  #sections: Promise<Map<string, PatchSection[] | "unread">> | undefined;

  /** @param readBlob returns a whole blob, faster than a separate git process */
  constructor(
    place: ObjectPlace,
    readBlob: (oid: string) => Promise<Buffer>,
    limits: Partial<PatchLimits> = {},
  ) {
    this.#place = place;
    this.#readBlob = readBlob;
    this.#limits = { ...defaultPatchLimits, ...limits };
    this.#bodies = new LRUCache({ maxSize: Math.max(1, Math.min(KEPT_BYTES, this.#limits.readBytes)) });
  }

  /** The changes in git's order. Available before the patches are. */
  changes(): Promise<readonly Change[]> {
    if (this.#changes === undefined) this.#start();
    return this.#changes as Promise<readonly Change[]>;
  }

  /**
   * The file's patch as git prints it. A change of type has two sections: one deletes the old file, one adds the new one. Rejects with
   * `too_large` for a file after those that could be read.
   */
  async patch(change: Change, contextLines: number): Promise<string> {
    const sections = (await this.#allSections()).get(change.path);
    if (sections === "unread")
      throw new AppError(
        "too_large",
        `The change is so large that the patch of '${change.path}' was not read`,
      );
    if (!sections) throw new AppError("git_failed", `There is no patch of '${change.path}'`);
    let patch = "";
    for (const section of sections) {
      const body = await this.#body(change, section, contextLines);
      patch += decodeHeader(Buffer.from(section.header, "latin1"), change) + decodeText(body).text;
    }
    return patch;
  }

  async #body(change: Change, section: PatchSection, contextLines: number): Promise<Buffer> {
    const sides = sidesOf(change, section);
    // A whole added or deleted file has no unchanged lines, and a submodule has one line.
    const sameWidth = contextLines === PATCH_CONTEXT || !sides.from || !sides.to || sides.submodule;
    // A section without hunks has none at any width: binary, mode only, a pure rename.
    if (!section.hasHunks) return Buffer.alloc(0);
    if (sameWidth && section.hunks !== undefined) return section.hunks;
    if (sides.submodule) return submoduleHunk(sides);
    const width = sameWidth ? PATCH_CONTEXT : contextLines;
    const key = `${sides.from} ${sides.to} ${width}`;
    const known = this.#bodies.get(key);
    if (known) return known;
    const body = await this.#hunksOf(sides, width);
    this.#bodies.set(key, body, { size: body.length + 1 });
    return body;
  }

  async #hunksOf({ from, to }: Sides, width: number): Promise<Buffer> {
    if (from && to) return await blobHunks(this.#place, { from, to }, width);
    const content = await this.#readBlob(from ?? to ?? "");
    return wholeFileHunk(content, from ? "-" : "+");
  }

  #allSections(): Promise<Map<string, PatchSection[] | "unread">> {
    if (this.#sections === undefined) this.#start();
    return this.#sections as Promise<Map<string, PatchSection[] | "unread">>;
  }

  /** Reads everything at once. Failures are forgotten, so that a timed-out read can be repeated. */
  #start(): void {
    const listed = Promise.withResolvers<readonly Change[]>();
    this.#changes ??= listed.promise;
    this.#sections = this.#readAll(listed.resolve);
    listed.promise.catch(() => {
      if (this.#changes === listed.promise) this.#changes = undefined;
    });
    this.#sections.catch((error: unknown) => {
      listed.reject(error);
      this.#sections = undefined;
    });
  }

  async #readAll(
    onListed: (changes: readonly Change[]) => void,
  ): Promise<Map<string, PatchSection[] | "unread">> {
    let changes: readonly Change[] = [];
    const splitter = new PatchSplitter(this.#limits);
    const sink = {
      listing: (bytes: Buffer) => {
        changes = parseChanges(bytes);
        onListed(changes);
      },
      patch: (chunk: Buffer) => {
        splitter.push(chunk);
        return splitter.isFull ? ("stop" as const) : undefined;
      },
    };
    const isCut = await streamChange(this.#place, sink, this.#disposed.signal).then(
      () => splitter.isFull,
      // Patches that arrived in time are used.
      (error) => (changes.length > 0 && isTimeout(error)) || Promise.reject(error),
    );
    return assign(changes, splitter.end(isCut), isCut);
  }

  /** Ends a process that is still printing patches. */
  [Symbol.dispose](): void {
    this.#disposed.abort();
  }
}

const isTimeout = (error: unknown) => error instanceof AppError && error.code === "git_timeout";

/** Sections are in the order of the raw records, two for a change of type. */
function assign(
  changes: readonly Change[],
  sections: PatchSection[],
  isCut: boolean,
): Map<string, PatchSection[] | "unread"> {
  const byPath = new Map<string, PatchSection[] | "unread">();
  let at = 0;
  for (const change of changes) {
    const count = change.type === "type_changed" ? 2 : 1;
    const isThere = at + count <= sections.length;
    byPath.set(change.path, isThere || !isCut ? sections.slice(at, at + count) : "unread");
    at += count;
  }
  if (!isCut && at !== sections.length) {
    throw new AppError("git_failed", `git printed ${sections.length} patches for ${changes.length} changes`);
  }
  return byPath;
}

function sidesOf(change: Change, section: PatchSection): Sides & { submodule: boolean } {
  const [, whole, wholeMode] = /^(new|deleted) file mode (\d{6})$/m.exec(section.header) ?? [];
  return {
    from: whole === "new" ? undefined : change.oldOid,
    to: whole === "deleted" ? undefined : change.newOid,
    submodule: (wholeMode ?? change.newMode) === SUBMODULE_MODE,
  };
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

/** Larger hunks are useless to a reader, and several may be in memory. */
const MAX_HUNKS_BYTES = 32 * 1024 * 1024;
const NEWLINE = 10;

/** The compared blobs; undefined means no file. */
interface Sides {
  from?: string | undefined;
  to?: string | undefined;
}

type Both = Record<keyof Sides, string>;

/** git diffs a submodule as a file with one line. */
function submoduleHunk({ from, to }: Sides): Buffer {
  const line = (sign: string, oid: string | undefined) => (oid ? `${sign}Subproject commit ${oid}\n` : "");
  return Buffer.from(`@@ -${from ? "1" : "0,0"} +${to ? "1" : "0,0"} @@\n${line("-", from)}${line("+", to)}`);
}

/** The hunks between two blobs, without a header. Empty if the blobs are equal or binary. Rejects with `too_large`. */
export async function blobHunks(
  place: ObjectPlace,
  { from, to }: Both,
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

/** The hunk of a whole added or deleted file. Built from bytes: as strings, many short lines take many times the memory. */
function wholeFileHunk(content: Buffer, sign: "+" | "-"): Buffer {
  if (content.length === 0) return content;
  const isEnded = content.at(-1) === NEWLINE;
  let lines = isEnded ? 0 : 1;
  for (const byte of content) if (byte === NEWLINE) lines += 1;
  const body = Buffer.allocUnsafe(content.length + lines);
  let at = 0;
  let previous = NEWLINE;
  for (const byte of content) {
    if (previous === NEWLINE) body[at++] = sign.charCodeAt(0);
    body[at++] = byte;
    previous = byte;
  }
  const range = lines === 1 ? "1" : `1,${lines}`;
  const header = sign === "+" ? `@@ -0,0 +${range} @@\n` : `@@ -${range} +0,0 @@\n`;
  const end = isEnded ? "" : "\n\\ No newline at end of file\n";
  return Buffer.concat([Buffer.from(header), body, Buffer.from(end)]);
}

interface ChangeSink {
  /** All raw records and all numstat records, as `-z` prints them. Called once, before any patch; empty without a change. */
  listing(bytes: Buffer): void;
  /** The patches of all files at `PATCH_CONTEXT`, in the pieces that git prints. "stop" ends git at once. */
  patch(chunk: Buffer): "stop" | undefined;
}

/** Unchanged lines around each change, as GitHub shows it. */
const PATCH_CONTEXT = 3;
/** A listing of this size has about a hundred thousand changes; a larger one is an attack. */
const MAX_LISTING_BYTES = 32 * 1024 * 1024;

/**
 * Compares merge base and head once for everything: the changes, their sizes, and the patches. git must read every changed file to find
 * renames and count lines; a second process would read them all again.
 */
async function streamChange(
  place: ObjectPlace,
  sink: ChangeSink,
  signal?: AbortSignal | undefined,
): Promise<void> {
  const { mergeBase, head } = place.shas;
  const what = ["-r", "-z", "--raw", "--numstat", "--no-abbrev", "-p", `-U${PATCH_CONTEXT}`];
  const splitter = new ChangeSplitter(sink);
  await streamGit(
    {
      git: place,
      gitDir: place.gitDir,
      what: "diff",
      args: ["diff-tree", ...what, ...renameOptions, ...diffOptions, mergeBase, head, "--"],
      maxBytes: Number.POSITIVE_INFINITY,
      signal,
    },
    (chunk) => splitter.push(chunk),
  );
  splitter.end();
}

/** Records end with NUL and none is empty; an empty one separates them from the patches. */
const SEPARATOR = Buffer.from([0, 0]);

/** Separates the listing from the patches after it, in pieces of any size. */
export class ChangeSplitter {
  readonly #sink: ChangeSink;
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #isListed = false;

  constructor(sink: ChangeSink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): "stop" | undefined {
    if (this.#isListed) return this.#sink.patch(chunk);
    const isCut = chunk[0] === 0 && this.#pieces.at(-1)?.at(-1) === 0;
    const end = isCut ? 0 : chunk.indexOf(SEPARATOR) + 1;
    if (!isCut && end === 0) {
      this.#keep(chunk);
      return undefined;
    }
    this.#keep(chunk.subarray(0, end));
    this.end();
    return end + 1 < chunk.length ? this.#sink.patch(chunk.subarray(end + 1)) : undefined;
  }

  /** Without a change there is neither a listing nor a separator. */
  end(): void {
    if (this.#isListed) return;
    this.#isListed = true;
    this.#sink.listing(Buffer.concat(this.#pieces.splice(0)));
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > MAX_LISTING_BYTES) {
      throw new AppError("too_large", `The list of changed files has more than ${MAX_LISTING_BYTES} bytes`);
    }
    if (piece.length > 0) this.#pieces.push(piece);
  }
}

const [SPACE, PLUS, MINUS, AT, BACKSLASH] = [0x20, 0x2b, 0x2d, 0x40, 0x5c];
const sectionStart = Buffer.from("diff --git ");

/** Limits of one pass over all patches, and of what is kept in memory. */
interface PatchLimits {
  /** Maximum bytes of hunks that are kept; other files are read again when they are asked for. */
  keptBytes: number;
  /** Maximum bytes of hunks, and maximum hunks, that are read. */
  readBytes: number;
  hunks: number;
}

/** Larger patches take seconds to scan and come from very little data: a change of thousands of ordinary files has a tenth of this. */
export const defaultPatchLimits: PatchLimits = {
  keptBytes: 32 * 1024 * 1024,
  readBytes: 256 * 1024 * 1024,
  hunks: 200_000,
};

/** git's output for one file: the lines before its hunks, and the hunks. */
interface PatchSection {
  /** In Latin-1, one character per byte. */
  header: string;
  /** Whether git printed any hunks. */
  hasHunks: boolean;
  /** Undefined if they did not fit. */
  hunks: Buffer | undefined;
}

/** A section whose end has not arrived. */
interface OpenSection {
  header: string;
  /** Its hunks, in pieces, as long as they fit. */
  pieces: Buffer[];
  bytes: number;
}

/**
 * Splits a stream of patches at its sections, and keeps as many bytes of hunks as allowed. Inside a hunk the counts of its `@@` line decide
 * which lines belong to it, so content that looks like a header cannot mislead it. No byte is read twice.
 */
export class PatchSplitter {
  readonly #limits: PatchLimits;
  readonly #sections: PatchSection[] = [];
  #section: OpenSection | undefined;
  /** The beginning of an incomplete line between hunks. */
  #open: Buffer[] = [];
  /** Whether the last piece ended within a line of a hunk. */
  #inLine = false;
  #oldLeft = 0;
  #newLeft = 0;
  #hunks = 0;
  #readBytes = 0;
  #keptBytes = 0;

  constructor(limits: PatchLimits) {
    this.#limits = limits;
  }

  /** Whether more arrived than is read. */
  get isFull(): boolean {
    return this.#readBytes > this.#limits.readBytes || this.#hunks > this.#limits.hunks;
  }

  push(chunk: Buffer): void {
    let at = this.#finishOpenLine(chunk);
    while (at < chunk.length) {
      const end = this.#contentFrom(chunk, at);
      if (end > at) this.#takeHunk(chunk.subarray(at, end));
      at = end;
      if (at < chunk.length) at = this.#structuralFrom(chunk, at);
    }
  }

  /** @param isCut whether the stream ended early: the open section is then left out */
  end(isCut: boolean): PatchSection[] {
    if (isCut) return this.#sections;
    if (this.#open.length > 0 || this.#inLine || this.#oldLeft > 0 || this.#newLeft > 0)
      throw broken("ends inside a hunk");
    this.#close();
    return this.#sections;
  }

  /** Takes the rest of the line in which the last piece ended. Returns the start of the next one. */
  #finishOpenLine(chunk: Buffer): number {
    if (!this.#inLine && this.#open.length === 0) return 0;
    const end = endOfLine(chunk, 0);
    const isEnded = chunk[end - 1] === NEWLINE;
    const piece = chunk.subarray(0, end);
    if (this.#inLine) {
      this.#inLine = !isEnded;
      this.#takeHunk(piece);
    } else {
      this.#open.push(piece);
      if (isEnded) this.#structural(Buffer.concat(this.#open.splice(0)));
    }
    return end;
  }

  /** The end of the lines from `start` that belong to the open hunk. */
  #contentFrom(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length && this.#isHunkContent(chunk[at])) {
      at = endOfLine(chunk, at);
      this.#inLine = chunk[at - 1] !== NEWLINE;
    }
    return at;
  }

  /** Takes one line outside of hunks. Returns the start of the next one. */
  #structuralFrom(chunk: Buffer, start: number): number {
    const end = endOfLine(chunk, start);
    const line = chunk.subarray(start, end);
    if (line.at(-1) === NEWLINE) this.#structural(line);
    // A copy: a slice would keep the whole piece in memory.
    else this.#open.push(Buffer.from(line));
    return end;
  }

  /** Counts a line that belongs to a hunk. */
  #isHunkContent(first: number | undefined): boolean {
    if (this.#oldLeft === 0 && this.#newLeft === 0) return this.#inHunks() && first === BACKSLASH;
    if (first === SPACE) {
      this.#oldLeft--;
      this.#newLeft--;
    } else if (first === MINUS) this.#oldLeft--;
    else if (first === PLUS) this.#newLeft--;
    else if (first !== BACKSLASH) throw broken("has a line of no known kind");
    return true;
  }

  #structural(line: Buffer): void {
    if (line[0] === AT) {
      this.#openHunk(line);
      this.#takeHunk(line);
      return;
    }
    if (line.subarray(0, sectionStart.length).equals(sectionStart)) {
      this.#close();
      this.#section = { header: "", pieces: [], bytes: 0 };
    }
    if (this.#section === undefined || this.#inHunks()) throw broken("has a line outside of every file");
    // As text, because a small buffer keeps the larger one that it was cut from.
    this.#section.header += line.toString("latin1");
  }

  #openHunk(line: Buffer): void {
    const counts = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line.toString("latin1", 0, 100));
    if (!counts) throw broken("has a hunk header that cannot be read");
    this.#oldLeft = Number(counts[1] ?? 1);
    this.#newLeft = Number(counts[2] ?? 1);
    this.#hunks += 1;
  }

  #inHunks(): boolean {
    return this.#section !== undefined && this.#section.bytes > 0;
  }

  #takeHunk(bytes: Buffer): void {
    if (this.#section === undefined) throw broken("has a line outside of every file");
    this.#readBytes += bytes.length;
    this.#section.bytes += bytes.length;
    if (this.#fits(this.#section)) this.#section.pieces.push(Buffer.from(bytes));
    else this.#section.pieces = [];
  }

  #fits({ bytes }: OpenSection): boolean {
    return this.#keptBytes + bytes <= this.#limits.keptBytes;
  }

  #close(): void {
    const section = this.#section;
    if (section === undefined) return;
    const hunks = this.#fits(section) ? joined(section.pieces) : undefined;
    this.#keptBytes += hunks?.length ?? 0;
    this.#sections.push({ header: section.header, hasHunks: section.bytes > 0, hunks });
    this.#section = undefined;
  }
}

/** The index after the line feed, or after the piece if there is none. */
function endOfLine(chunk: Buffer, from: number): number {
  const newline = chunk.indexOf(NEWLINE, from);
  return newline < 0 ? chunk.length : newline + 1;
}

function broken(what: string): AppError {
  return new AppError("git_failed", `The patch that git printed ${what}`);
}

/** Copies the pieces into memory of their own: other buffers share larger blocks, and each would keep its whole block. */
function joined(pieces: readonly Buffer[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) at += piece.copy(whole, at);
  return whole;
}

/**
 * The lines before the hunks as git printed them. If a name is not UTF-8, the lines with a name are rewritten with its bytes escaped: text
 * cannot represent them, and git accepts a patch with either.
 */
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
