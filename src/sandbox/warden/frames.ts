/** One message between the two sides of a sandbox: a header that says what it is, and bytes. */
export interface Frame {
  header: unknown;
  body: Buffer;
}

/** Two lengths of four bytes each, big-endian: of the header and of the body. */
const LENGTHS = 8;
/** Lists of files are the longest headers. */
const MAX_HEADER = 32 * 1024 * 1024;

/** A frame as it is sent: lengths, header as JSON, body. */
export function encodeFrame(header: object, body: Uint8Array = new Uint8Array()): Buffer {
  const text = Buffer.from(JSON.stringify(header), "utf8");
  const lengths = Buffer.alloc(LENGTHS);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(body.length, 4);
  return Buffer.concat([lengths, text, body]);
}

/** Makes frames again of what arrives in pieces of any size. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #bytes = 0;
  readonly #maxBody: number;

  /** @param maxBody bytes; a longer body is a fault of whoever sends it */
  constructor(maxBody: number) {
    this.#maxBody = maxBody;
  }

  /**
   * The frames that are whole now.
   * @throws Error where one is longer than it may be, or its header is no JSON
   */
  push(piece: Buffer): Frame[] {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    const frames: Frame[] = [];
    for (let frame = this.#next(); frame !== null; frame = this.#next()) frames.push(frame);
    return frames;
  }

  #next(): Frame | null {
    if (this.#bytes < LENGTHS) return null;
    const lengths = this.#peek(LENGTHS);
    const header = lengths.readUInt32BE(0);
    const body = lengths.readUInt32BE(4);
    if (header > MAX_HEADER || body > this.#maxBody) throw new Error("a message is too long");
    const whole = LENGTHS + header + body;
    if (this.#bytes < whole) return null;
    const bytes = this.#peek(whole);
    this.#pieces = bytes.length > whole ? [bytes.subarray(whole)] : [];
    this.#bytes -= whole;
    return {
      header: JSON.parse(bytes.toString("utf8", LENGTHS, LENGTHS + header)),
      body: bytes.subarray(LENGTHS + header, whole),
    };
  }

  /** At least so many bytes in one piece; more where they came together. */
  #peek(count: number): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && first.length >= count) return first;
    const joined = Buffer.concat(this.#pieces);
    this.#pieces = [joined];
    return joined;
  }
}
