const NUL = 0;

/**
 * Cuts git's `-z` output at its NULs as it comes. A record is handed on as bytes of the piece it came in: whoever keeps a part
 * of it makes a copy, or the whole listing stays in memory for it.
 */
export class RecordSplitter {
  readonly #onRecord: (record: Buffer) => void;
  #open: Buffer[] = [];

  constructor(onRecord: (record: Buffer) => void) {
    this.#onRecord = onRecord;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NUL); end >= 0; end = chunk.indexOf(NUL, start)) {
      const piece = chunk.subarray(start, end);
      this.#onRecord(this.#open.length === 0 ? piece : Buffer.concat([...this.#open.splice(0), piece]));
      start = end + 1;
    }
    if (start < chunk.length) this.#open.push(chunk.subarray(start));
  }
}
