/** Keeps head and tail of what may be endless. */
export class KeptOutput {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;
  readonly #kept: number;

  /** @param kept bytes of the head, and of the tail */
  constructor(kept: number) {
    this.#kept = kept;
  }

  get total(): number {
    return this.#total;
  }

  get truncated(): boolean {
    return this.#total > 2 * this.#kept;
  }

  push(piece: Buffer): void {
    this.#total += piece.length;
    const room = this.#kept - this.#headBytes;
    const first = piece.subarray(0, room);
    if (first.length > 0) this.#head.push(first);
    this.#headBytes += first.length;
    const rest = piece.subarray(first.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Now and then, so that a flood of small pieces costs no more than its bytes.
    if (this.#tailBytes > 8 * this.#kept) this.#shorten();
  }

  bytes(): Buffer {
    this.#shorten();
    const left = this.#total - this.#headBytes - this.#tailBytes;
    const gap = left > 0 ? [Buffer.from(`\n[... ${left} bytes left out here ...]\n`)] : [];
    return Buffer.concat([...this.#head, ...gap, ...this.#tail]);
  }

  #shorten(): void {
    const joined = Buffer.concat(this.#tail);
    const last = joined.subarray(Math.max(0, joined.length - this.#kept));
    // A copy: what is left out is not held on to.
    this.#tail = [Buffer.from(last)];
    this.#tailBytes = last.length;
  }
}
