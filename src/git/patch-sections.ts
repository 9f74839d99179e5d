import { FoldedBytes, joined, type Kept } from "./folded-bytes.ts";
import type { PatchSink } from "./patch-splitter.ts";

/** What one pass over all patches may come to, and what is kept of it in memory. */
export interface PatchLimits {
  /** Bytes of hunks that are kept as they are; beyond them, they are packed. */
  plainBytes: number;
  /** Packed bytes that are kept. */
  packedBytes: number;
  /** Bytes of hunks, and hunks, that are read at all. */
  readBytes: number;
  hunks: number;
}

/**
 * What is larger than these takes seconds to look through and unfolded from very little: a change of thousands of everyday
 * files has a tenth of it.
 */
export const defaultPatchLimits: PatchLimits = {
  plainBytes: 8 * 1024 * 1024,
  packedBytes: 8 * 1024 * 1024,
  readBytes: 256 * 1024 * 1024,
  hunks: 200_000,
};

/** What git printed of one file: what stands before its hunks, and the hunks. */
export interface Section {
  /** In Latin-1, one character a byte. */
  header: string;
  /** Whether it printed any hunks. */
  hasHunks: boolean;
  /** Undefined when they did not fit. */
  hunks: Kept;
}

/** Keeps as many bytes of hunks as it may, and of each section its header. */
export class SectionCollector implements PatchSink {
  readonly #limits: PatchLimits;
  readonly #sections: Section[] = [];
  #header: string | undefined;
  #open: Buffer[] = [];
  #openBytes = 0;
  #readBytes = 0;
  #hunks = 0;
  #plainBytes = 0;
  readonly #folded: FoldedBytes;

  constructor(limits: PatchLimits) {
    this.#limits = limits;
    this.#folded = new FoldedBytes(limits.packedBytes);
  }

  /** Whether more came than is read. */
  get isFull(): boolean {
    return this.#readBytes > this.#limits.readBytes || this.#hunks > this.#limits.hunks;
  }

  header(header: Buffer): void {
    this.#close();
    // Text: a small buffer keeps the larger one that it was cut from.
    this.#header = header.toString("latin1");
  }

  hunk(line: Buffer): void {
    this.#hunks += 1;
    this.body(line);
  }

  body(bytes: Buffer): void {
    this.#readBytes += bytes.length;
    this.#openBytes += bytes.length;
    if (this.#openBytes <= this.#limits.plainBytes) this.#open.push(Buffer.from(bytes));
    else this.#open = [];
  }

  /** @param isCut whether the stream ended before its time: the section that was open is left out */
  end(isCut: boolean): Section[] {
    if (!isCut) this.#close();
    return this.#sections;
  }

  #close(): void {
    const header = this.#header;
    if (header === undefined) return;
    this.#sections.push({ header, hasHunks: this.#openBytes > 0, hunks: this.#keep() });
    this.#header = undefined;
    this.#open = [];
    this.#openBytes = 0;
  }

  #keep(): Kept {
    const bytes = joined(this.#open);
    if (bytes.length < this.#openBytes) return () => undefined;
    if (this.#plainBytes + bytes.length <= this.#limits.plainBytes) {
      this.#plainBytes += bytes.length;
      return () => bytes;
    }
    return this.#folded.keep(bytes);
  }
}
