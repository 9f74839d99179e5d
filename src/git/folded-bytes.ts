import { deflateSync, inflateSync } from "node:zlib";

/** So much is packed at a time: each packing has memory of its own, and pieces next to each other resemble each other. */
const GROUP_BYTES = 1024 * 1024;

/** Gives bytes back that were kept; undefined where there was no room for them. */
export type Kept = () => Buffer | undefined;

/** Pieces that are packed together. */
interface Group {
  pieces: Buffer[];
  length: number;
  packed: Buffer | undefined;
}

/** Keeps pieces of bytes packed, as many as fit: what unfolded from little folds again. */
export class FoldedBytes {
  readonly #limitBytes: number;
  #packedBytes = 0;
  #open: Group = newGroup();
  /** The group that was read last: neighbours are asked for one after the other. */
  #read: { group: Group; bytes: Buffer } | undefined;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  keep(bytes: Buffer): Kept {
    if (this.#packedBytes >= this.#limitBytes) return () => undefined;
    const group = this.#open;
    const [start, end] = [group.length, group.length + bytes.length];
    group.pieces.push(bytes);
    group.length = end;
    if (group.length >= GROUP_BYTES) this.#pack(group);
    return () => this.#unfolded(group).subarray(start, end);
  }

  #pack(group: Group): void {
    group.packed = joined([deflateSync(Buffer.concat(group.pieces.splice(0)), { level: 1 })]);
    this.#packedBytes += group.packed.length;
    this.#open = newGroup();
  }

  #unfolded(group: Group): Buffer {
    if (this.#read?.group === group && this.#read.bytes.length === group.length) return this.#read.bytes;
    const bytes = group.packed ? inflateSync(group.packed) : Buffer.concat(group.pieces);
    this.#read = { group, bytes };
    return bytes;
  }
}

/** Pieces in memory of their own: other buffers share larger pieces, all of which each of them would keep. */
export function joined(pieces: readonly Buffer[]): Buffer {
  const whole = Buffer.allocUnsafeSlow(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) at += piece.copy(whole, at);
  return whole;
}

const newGroup = (): Group => ({ pieces: [], length: 0, packed: undefined });
