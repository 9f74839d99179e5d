import { crc32, inflateSync } from "node:zlib";

/**
 * Whether `bytes` are a picture of the format that the extension of `path` names, from the first to the last byte. Linear, never throws.
 * - Decoded is PNG, also in ICO: checksums match, and the pixels inflate to exactly their size and to 64 MB at most. No animations.
 * - Only walked are GIF, JPEG, WebP, AVIF and bitmaps in ICO: their blocks, segments, chunks or boxes.
 * Metadata is bounded, but may be anything, as pixels may: a script, an archive, or text for people.
 */
export function isWholeImage(path: string, bytes: Uint8Array): boolean {
  const read = readers.get(/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "");
  if (read === undefined || bytes.length > 20e6) return false;
  // Even a small picture may have a color profile, a preview and an editor's history.
  const most = Math.min(256 * 1024, Math.max(64 * 1024, bytes.length / 2));
  try {
    const input = inputOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    read(input);
    return input.left() === 0 && input.metadata <= most;
  } catch {
    // A `need` that is not met, a read past the end, or data that zlib cannot inflate.
    return false;
  }
}

function need(isMet: boolean): asserts isMet {
  if (!isMet) throw new Error("not a whole image");
}

/** Reads bytes in order, and counts those that are metadata. To read past the end is an error. */
function inputOf(bytes: Buffer) {
  let at = 0;
  const advance = (length: number) => {
    need(length >= 0 && length <= bytes.length - at);
    at += length;
    return at - length;
  };
  return {
    metadata: 0,
    advance,
    advanceTo: (byte: number) => advance(bytes.indexOf(byte, at) - at),
    take: (length: number) => bytes.subarray(advance(length), at),
    text: (length: number) => bytes.toString("latin1", advance(length), at),
    /** A number of so many bytes, the first of which weighs most. */
    big: (length: number) => bytes.readUIntBE(advance(length), length),
    little: (length: number) => bytes.readUIntLE(advance(length), length),
    position: () => at,
    left: () => bytes.length - at,
  };
}
type Input = ReturnType<typeof inputOf>;

const pngTexts = ["tEXt", "zTXt", "iTXt", "iCCP", "eXIf", "sPLT", "pCAL", "sCAL"];
/** Other chunks without pixels, and their most bytes: of the standard, its extensions, ImageMagick (vpAg, caNv, orNT) and Apple (iDOT). */
const pngChunks = new Map(
  Object.entries({
    PLTE: 768,
    hIST: 512,
    tRNS: 256,
    cHRM: 32,
    mDCV: 24,
    cLLI: 8,
    cICP: 4,
    gAMA: 4,
    sRGB: 1,
    sBIT: 4,
    bKGD: 6,
    pHYs: 9,
    tIME: 7,
    oFFs: 9,
    sTER: 1,
    vpAg: 9,
    caNv: 16,
    orNT: 1,
    iDOT: 28,
    IEND: 0,
  }),
);
/** First column and row, and the distance of columns and rows, in each pass over an interlaced picture. */
const adam7 = ["0088", "4088", "0448", "2044", "0224", "1022", "0112"];

/** https://www.w3.org/TR/png-3/ */
function png(input: Input, mostInflated = 64 * 2 ** 20): void {
  need(input.text(12) === "\x89PNG\r\n\x1a\n\0\0\0\r");
  const header = input.take(17);
  need(header.toString("latin1", 0, 4) === "IHDR" && input.big(4) === crc32(header));
  const [width, height] = [header.readUInt32BE(4), header.readUInt32BE(8)];
  const [depth = 0, color = 0, compression, filtering, interlacing] = header.subarray(12);
  const samples = [1, 0, 3, 1, 2, 0, 4][color] ?? 0;
  need(width > 0 && height > 0 && samples > 0 && [1, 2, 4, 8, 16].includes(depth));
  // Only gray and indexed pixels are smaller than a byte, and an index is at most a byte.
  need((samples === 1 || depth >= 8) && (color !== 3 || depth <= 8));
  need(compression === 0 && filtering === 0 && (interlacing === 0 || interlacing === 1));
  const rows = (interlacing === 1 ? adam7 : ["0011"]).map((pass) => {
    const [x, y, across, down] = [...pass].map(Number) as [number, number, number, number];
    const columns = Math.ceil((width - x) / across);
    const count = columns > 0 ? Math.ceil((height - y) / down) : 0;
    return { count, bytes: 1 + Math.ceil((columns * depth * samples) / 8) };
  });
  inflate(pngPixels(input), rows, mostInflated);
}

/** Reads the chunks after the header. Those with pixels follow each other. */
function pngPixels(input: Input): Buffer {
  const pixels: Buffer[] = [];
  const seen = new Set<string>();
  for (let last = ""; last !== "IEND"; ) {
    const length = input.big(4);
    const type = input.text(4);
    const data = input.take(length);
    need(input.big(4) === crc32(data, crc32(type)));
    if (type === "IDAT") {
      need(last === type || !seen.has(type));
      pixels.push(data);
    } else {
      const most = pngChunks.get(type);
      need(most === undefined ? pngTexts.includes(type) : length <= most && !seen.has(type));
      input.metadata += length;
    }
    seen.add(type);
    last = type;
  }
  return Buffer.concat(pixels);
}

/** Each row of so many bytes starts with its filter. */
function inflate(data: Buffer, rows: { count: number; bytes: number }[], most: number): void {
  const size = rows.reduce((sum, { count, bytes }) => sum + count * bytes, 0);
  need(size <= most);
  // In Node 22.20, no option refuses bytes after the end.
  const inflated: unknown = inflateSync(data, { maxOutputLength: size, info: true });
  const { buffer, engine } = inflated as { buffer: Buffer; engine: { bytesWritten: number } };
  need(buffer.length === size && engine.bytesWritten === data.length);
  let at = 0;
  for (const { count, bytes } of rows)
    for (let row = 0; row < count; row++, at += bytes) need((buffer[at] ?? 0) <= 4);
}

/** https://www.w3.org/Graphics/JPEG/itu-t81.pdf */
function jpeg(input: Input): void {
  need(input.big(2) === 0xffd8);
  let [frames, scans] = [0, 0];
  for (let marker = jpegMarker(input, false); marker !== 0xd9; marker = jpegMarker(input, marker === 0xda)) {
    // Frames, tables, scans, the distance of restarts, comments, and what a program adds.
    need([0xc0, 0xc1, 0xc2, 0xc4, 0xdb, 0xda, 0xdd, 0xfe].includes(marker) || marker >> 4 === 0xe);
    const length = input.big(2);
    input.advance(length - 2);
    input.metadata += length;
    if (marker <= 0xc2) frames++;
    if (marker === 0xda) scans++;
  }
  need(frames === 1 && scans > 0);
}

/** Fill bytes may precede a marker. In the data of a scan, 255 is followed by 0 or is the start of a restart marker. */
function jpegMarker(input: Input, isInScan: boolean): number {
  for (;;) {
    if (isInScan) input.advanceTo(0xff);
    need(input.big(1) === 0xff);
    let marker = 0xff;
    while (marker === 0xff) marker = input.big(1);
    if (!isInScan || (marker !== 0 && (marker < 0xd0 || marker > 0xd7))) return marker;
  }
}

/** https://www.w3.org/Graphics/GIF/spec-gif89a.txt */
function gif(input: Input): void {
  const skipColors = (flags: number) => input.advance(flags & 0x80 ? 6 << (flags & 7) : 0);
  need(/^GIF8[79]a$/.test(input.text(6)));
  skipColors(input.take(7).readUInt8(4));
  let pictures = 0;
  for (let kind = input.big(1); kind !== 0x3b; kind = input.big(1)) {
    if (kind === 0x2c) {
      skipColors(input.take(9).readUInt8(8));
      const bits = input.big(1);
      need(bits >= 2 && bits <= 8 && skipBlocks(input) > 0);
      pictures++;
    } else {
      // Timing, a comment, text, or what a program adds.
      need(kind === 0x21 && [0xf9, 0xfe, 0x01, 0xff].includes(input.big(1)));
      input.metadata += skipBlocks(input);
    }
  }
  need(pictures > 0);
}

/** The number of bytes in the blocks up to an empty one. */
function skipBlocks(input: Input): number {
  const start = input.position();
  for (let size = input.big(1); size > 0; size = input.big(1)) input.advance(size);
  return input.position() - start - 1;
}

/** https://developers.google.com/speed/webp/docs/riff_container */
function webp(input: Input): void {
  need(input.text(4) === "RIFF" && input.little(4) === input.left() && input.text(4) === "WEBP");
  let pictures = 0;
  while (input.left() > 0) {
    const name = input.text(4);
    const { length } = input.take(input.little(4));
    need(length % 2 === 0 || input.big(1) === 0);
    need(/^(?:VP8[ LX]|ALPH|ANIM|ANMF|ICCP|EXIF|XMP )$/.test(name));
    if (/^(?:VP8[ L]|ANMF)$/.test(name)) pictures++;
    else if (name !== "ALPH") input.metadata += length;
  }
  need(pictures > 0);
}

/** https://aomediacodec.github.io/av1-avif/ and ISO/IEC 14496-12 */
function avif(input: Input): void {
  const names: string[] = [];
  while (input.left() > 0) {
    const size = input.big(4);
    const name = input.text(4);
    const data = input.take(size - 8);
    if (names.length === 0) need(name === "ftyp" && /^(?:.{4})*avif/s.test(data.toString("latin1", 0, 64)));
    if (name !== "mdat") input.metadata += size;
    if (name !== "free" && name !== "skip") names.push(name);
  }
  need(["ftyp,meta,mdat", "ftyp,mdat,meta"].includes(names.join()));
}

/** https://learn.microsoft.com/previous-versions/ms997538(v=msdn.10) */
function ico(input: Input): void {
  need(input.little(4) === 0x10000);
  const entries = Array.from({ length: input.little(2) }, () => input.take(16));
  // Together, they inflate to as much as one PNG.
  need(entries.length > 0 && entries.length <= 64);
  for (const entry of entries.sort((a, b) => a.readUInt32LE(12) - b.readUInt32LE(12))) {
    need(entry.readUInt32LE(12) === input.position());
    const data = input.take(entry.readUInt32LE(8));
    const picture = inputOf(data);
    if (data[0] === 0x89) png(picture, 2 ** 20);
    else bitmap(picture);
    need(picture.left() === 0);
    input.metadata += picture.metadata;
  }
}

/** The header gives the double height: after the colors, there may be a mask with one bit a pixel, or two (favicon.io). */
function bitmap(input: Input): void {
  need(input.little(4) === 40);
  const [width, height] = [input.little(4), input.little(4) >>> 1];
  need(width > 0 && height > 0 && input.little(2) <= 1);
  const bits = input.little(2);
  need([1, 4, 8, 16, 24, 32].includes(bits) && input.little(4) === 0);
  input.advance(12);
  const colors = input.little(4) || (bits <= 8 ? 2 ** bits : 0);
  input.advance(4 + 4 * colors);
  const bytesOf = (bitsInPixel: number) => 4 * Math.ceil((width * bitsInPixel) / 32) * height;
  input.advance(bytesOf(bits));
  need(colors <= 256 && [0, bytesOf(1), (width * height) / 4].includes(input.left()));
  input.advance(input.left());
}

const readers = new Map(Object.entries({ png, jpg: jpeg, jpeg, gif, webp, avif, ico }));

/* Snapshots of Jest and Vitest. They are JavaScript that a test runner executes, but an ordinary one only assigns strings. */

const blank = /\s+/y;
// A carriage return, U+2028 and U+2029 also end a comment: what follows one of them on the same visible line would run.
const comment = /\/\/[^\n\r\u2028\u2029]*(?:\r?\n|$)/y;
const [beforeName, beforeValue, afterValue] = [/exports\[`/y, /`\] = `/y, /`;/y];
/** Of a template literal without a substitution. A backslash escapes the next character, whatever that is. */
const part = /[^`\\$]+|\\[\s\S]|\$(?!\{)/y;

/**
 * Whether a `.snap` file is nothing but comment lines, white space, and statements "exports[`name`] = `value`;" without a substitution: to run
 * it can only assign strings, or fail. Never throws; takes linear time.
 */
export function isPlainSnapshot(text: string): boolean {
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const isHere = pattern.test(text);
    if (isHere) at = pattern.lastIndex;
    return isHere;
  };
  while (at < text.length) {
    if (take(blank) || take(comment)) continue;
    for (const start of [beforeName, beforeValue]) {
      if (!take(start)) return false;
      while (take(part));
    }
    if (!take(afterValue)) return false;
  }
  return true;
}
