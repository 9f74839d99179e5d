import type { SandboxLimits } from "../bubblewrap.ts";

/** The messages between a session's two sides. Each character of a path is one byte of the name (Latin-1), because names need not be text. */
export type ToSupervisor =
  /** Creates a file (body: its bytes) or a link (120000; body: its target). */
  | { kind: "file"; path: string; mode: "100644" | "100755" | "120000" }
  | RunOrder
  /** Requests the bytes of files that the command left, and, with `links`, the targets of links. */
  | { kind: "take"; paths: readonly string[]; maxBytes: number; links: boolean };

/** Runs the command in the inner sandbox, within limits. The body is the system call filter. */
export interface RunOrder {
  kind: "run";
  /** Bubblewrap and its arguments; they end with the command. */
  program: string;
  args: readonly string[];
  /** Whether the workspace gets links to the files of the prepared environment. */
  environment: boolean;
  timeoutMs: number;
  limits: SandboxLimits;
}

export interface Frame {
  header: unknown;
  body: Buffer;
}

/** Two lengths of four bytes each, big-endian: of the header and of the body. */
const LENGTHS = 8;
/** Lists of files are the longest headers. */
const MAX_HEADER = 32 * 1024 * 1024;

/** The bytes of a message: lengths, header as JSON, body. */
export function encodeFrame(header: object, body: Uint8Array = new Uint8Array()): Buffer {
  const text = Buffer.from(JSON.stringify(header), "utf8");
  const lengths = Buffer.alloc(LENGTHS);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(body.length, 4);
  return Buffer.concat([lengths, text, body]);
}

export class FrameReader {
  #pieces: Buffer[] = [];
  #bytes = 0;
  readonly #maxBody: number;

  /** @param maxBody bytes */
  constructor(maxBody: number) {
    this.#maxBody = maxBody;
  }

  /** The frames that are complete with this piece. Throws if a header or body is too long, or a header is not JSON. */
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

  /** At least `count` bytes in one buffer. */
  #peek(count: number): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && first.length >= count) return first;
    const joined = Buffer.concat(this.#pieces);
    this.#pieces = [joined];
    return joined;
  }
}
