/** Cuts a stream at newlines. A line beyond the limit is left out: nobody can use it and it must not fill the memory. */
export class LineSplitter {
  readonly #onLine: (line: Buffer) => "stop" | undefined;
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(onLine: (line: Buffer) => "stop" | undefined, maxBytes = 32 * 1024 * 1024) {
    this.#onLine = onLine;
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): "stop" | undefined {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      if (this.#finish() === "stop") return "stop";
    }
    this.#keep(chunk.subarray(start));
    return undefined;
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #finish(): "stop" | undefined {
    const fits = this.#bytes <= this.#maxBytes;
    const [first, ...others] = this.#pieces;
    const line = others.length === 0 ? (first ?? Buffer.alloc(0)) : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    return fits ? this.#onLine(line) : undefined;
  }
}
