const NEWLINE = 10;

/** Which line of which file a line of several joined files is. Lines count from 1. */
export class LineMap {
  readonly #files: { path: string; firstLine: number }[] = [];
  #nextLine = 1;
  /** Lines are asked for in order. */
  #at = 0;

  /** A file that follows, not empty; a last line without an end is one too. */
  add(path: string, bytes: Buffer): void {
    this.#files.push({ path, firstLine: this.#nextLine });
    let lines = bytes.at(-1) === NEWLINE ? 0 : 1;
    for (const byte of bytes) if (byte === NEWLINE) lines += 1;
    this.#nextLine += lines;
  }

  /** @param line not before the one that was asked for last */
  locate(line: number): { path: string; line: number } {
    while ((this.#files[this.#at + 1]?.firstLine ?? Number.POSITIVE_INFINITY) <= line) this.#at += 1;
    const file = this.#files[this.#at];
    return { path: file?.path ?? "", line: line - (file?.firstLine ?? 1) + 1 };
  }
}
