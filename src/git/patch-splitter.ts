import { AppError } from "../errors.ts";

/** One `diff --git` section. `bodyBytes` are the hunks; their bytes come through `onBody` while the section is open. */
export interface PatchSink {
  /** A section begins; `header` are its bytes up to the first hunk. */
  header(header: Buffer): void;
  /** Bytes of the hunks of the section that was begun last. */
  body(bytes: Buffer): void;
}

const NEWLINE = 10;
const [SPACE, PLUS, MINUS, AT, BACKSLASH] = [0x20, 0x2b, 0x2d, 0x40, 0x5c];
const sectionStart = Buffer.from("diff --git ");

/**
 * Splits a stream of patches at its sections. Inside a hunk the counts of its `@@` line decide what belongs to it, so
 * content that looks like a header cannot fool it.
 */
export class PatchSplitter {
  readonly #sink: PatchSink;
  #rest: Buffer = Buffer.alloc(0);
  #header: Buffer[] = [];
  #inBody = false;
  #oldLeft = 0;
  #newLeft = 0;

  constructor(sink: PatchSink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    let lineStart = 0;
    // Everything from here on belongs to the open hunks and has not been handed on yet.
    let bodyStart = 0;
    for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, lineStart)) {
      const next = end + 1;
      if (!this.#isHunkContent(data, lineStart)) {
        if (this.#inBody && bodyStart < lineStart) this.#sink.body(data.subarray(bodyStart, lineStart));
        this.#structural(data.subarray(lineStart, next));
        bodyStart = this.#inBody ? lineStart : next;
      }
      lineStart = next;
    }
    if (this.#inBody && bodyStart < lineStart) this.#sink.body(data.subarray(bodyStart, lineStart));
    this.#rest = data.subarray(lineStart);
  }

  end(): void {
    if (this.#rest.length > 0 || this.#oldLeft > 0 || this.#newLeft > 0) throw broken("ends inside a hunk");
    this.#flushHeader();
  }

  /** Counts the line off when it is one of a hunk. */
  #isHunkContent(data: Buffer, at: number): boolean {
    const first = data[at];
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

function broken(what: string): AppError {
  return new AppError("git_failed", `The patch that git printed ${what}`);
}
