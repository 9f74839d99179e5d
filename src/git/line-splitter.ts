const NEWLINE = 10;
const MAX_BYTES = 32 * 1024 * 1024;

interface SplitterOptions {
  /** The byte that ends a line: newline, or NUL in git's `-z` output. Default newline. */
  end?: number;
  /** A longer line is left out: nobody can use it and it must not fill the memory. Default 32 MB. */
  maxBytes?: number;
}

/** git's `-z` output, of whose records none is left out. */
export const byNul: SplitterOptions = { end: 0, maxBytes: Number.POSITIVE_INFINITY };

/**
 * Cuts a stream into lines as it comes. A line is handed on as bytes of the piece it came in: whoever keeps a part of it makes a
 * copy, or the whole stream stays in memory for it.
 */
export class LineSplitter {
  readonly #onLine: (line: Buffer) => "stop" | undefined;
  readonly #end: number;
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(
    onLine: (line: Buffer) => "stop" | undefined,
    { end = NEWLINE, maxBytes = MAX_BYTES }: SplitterOptions = {},
  ) {
    this.#onLine = onLine;
    this.#end = end;
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): "stop" | undefined {
    let start = 0;
    for (let end = chunk.indexOf(this.#end); end >= 0; end = chunk.indexOf(this.#end, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      if (this.#finish(piece) === "stop") return "stop";
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return undefined;
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  #finish(last: Buffer): "stop" | undefined {
    const fits = this.#bytes + last.length <= this.#maxBytes;
    const line = fits && this.#pieces.length > 0 ? Buffer.concat([...this.#pieces, last]) : last;
    this.#pieces = [];
    this.#bytes = 0;
    return fits ? this.#onLine(line) : undefined;
  }
}
