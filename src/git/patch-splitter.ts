import { AppError } from "../errors.ts";

/** What a stream of patches is told to, section by section. No bytes given to it outlive the call. */
export interface PatchSink {
  /** A section begins; `header` are its bytes up to the first hunk. */
  header(header: Buffer): void;
  /** A hunk of this section begins, with its `@@` line. */
  hunk(line: Buffer): void;
  /** Further bytes of this hunk. */
  body(bytes: Buffer): void;
}

const NEWLINE = 10;
const [SPACE, PLUS, MINUS, AT, BACKSLASH] = [0x20, 0x2b, 0x2d, 0x40, 0x5c];
const sectionStart = Buffer.from("diff --git ");

/**
 * Splits a stream of patches at its sections. Inside a hunk the counts of its `@@` line decide what belongs to it, so
 * content that looks like a header cannot fool it. A line of content goes on in the pieces in which it comes, however long
 * it is; no byte is looked at twice.
 */
export class PatchSplitter {
  readonly #sink: PatchSink;
  /** The beginning of a line between hunks, the rest of which has not come yet. */
  #open: Buffer[] = [];
  /** Whether the last piece ended within a line of a hunk. */
  #inLine = false;
  #header: Buffer[] = [];
  #inBody = false;
  #oldLeft = 0;
  #newLeft = 0;

  constructor(sink: PatchSink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    let at = this.#finishOpenLine(chunk);
    while (at < chunk.length) {
      const end = this.#contentFrom(chunk, at);
      if (end > at) this.#sink.body(chunk.subarray(at, end));
      at = end;
      if (at < chunk.length) at = this.#structuralFrom(chunk, at);
    }
  }

  end(): void {
    if (this.#open.length > 0 || this.#inLine || this.#oldLeft > 0 || this.#newLeft > 0)
      throw broken("ends inside a hunk");
    this.#flushHeader();
  }

  /** Takes the end of the line in which the last piece ended. Returns where the next one begins. */
  #finishOpenLine(chunk: Buffer): number {
    if (!this.#inLine && this.#open.length === 0) return 0;
    const end = endOfLine(chunk, 0);
    const isEnded = chunk[end - 1] === NEWLINE;
    const piece = chunk.subarray(0, end);
    if (this.#inLine) {
      this.#inLine = !isEnded;
      this.#sink.body(piece);
    } else {
      this.#open.push(piece);
      if (isEnded) this.#structural(Buffer.concat(this.#open.splice(0)));
    }
    return end;
  }

  /** Where the lines of the open hunk end that begin here. */
  #contentFrom(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length && this.#isHunkContent(chunk[at])) {
      at = endOfLine(chunk, at);
      this.#inLine = chunk[at - 1] !== NEWLINE;
    }
    return at;
  }

  /** Takes one line that is no hunk's. Returns where the next one begins. */
  #structuralFrom(chunk: Buffer, start: number): number {
    const end = endOfLine(chunk, start);
    const line = chunk.subarray(start, end);
    if (line.at(-1) === NEWLINE) this.#structural(line);
    // A copy: this piece's own would keep the whole.
    else this.#open.push(Buffer.from(line));
    return end;
  }

  /** Counts the line off when it is one of a hunk. */
  #isHunkContent(first: number | undefined): boolean {
    if (this.#oldLeft === 0 && this.#newLeft === 0) return this.#inBody && first === BACKSLASH;
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
      this.#flushHeader();
      this.#inBody = true;
      this.#openHunk(line);
      this.#sink.hunk(line);
      return;
    }
    if (line.subarray(0, sectionStart.length).equals(sectionStart)) {
      this.#flushHeader();
      this.#inBody = false;
    } else if (this.#header.length === 0) throw broken("has a line outside of every file");
    this.#header.push(line);
  }

  #openHunk(line: Buffer): void {
    const counts = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line.toString("latin1", 0, 100));
    if (!counts) throw broken("has a hunk header that cannot be read");
    this.#oldLeft = Number(counts[1] ?? 1);
    this.#newLeft = Number(counts[2] ?? 1);
  }

  #flushHeader(): void {
    if (this.#header.length > 0) this.#sink.header(Buffer.concat(this.#header));
    this.#header = [];
  }
}

/** The place behind the line feed, or behind the piece where there is none. */
function endOfLine(chunk: Buffer, from: number): number {
  const newline = chunk.indexOf(NEWLINE, from);
  return newline < 0 ? chunk.length : newline + 1;
}

function broken(what: string): AppError {
  return new AppError("git_failed", `The patch that git printed ${what}`);
}
