import { isUtf8 } from "node:buffer";

const NEWLINE = 10;

/**
 * Decodes each line as UTF-8, or else as Latin-1, which loses no byte: a line reads the same in its file, in a patch and in a match.
 * @returns "latin1" if any line was not UTF-8
 */
export function decodeText(bytes: Buffer): { text: string; encoding: "utf8" | "latin1" } {
  if (isUtf8(bytes)) return { text: bytes.toString("utf8"), encoding: "utf8" };
  return { text: decodeLines(bytes), encoding: "latin1" };
}

/** Like `decodeText`, for at most the first `maxBytes` of a file. A UTF-8 character that crosses the limit is left out. */
export function decodeStart(bytes: Buffer, maxBytes: number): ReturnType<typeof decodeText> {
  const start = bytes.subarray(0, maxBytes);
  // A lead byte and up to two bytes after it: at most three bytes of four.
  const [cut = ""] =
    start.length < maxBytes ? [] : (/[\xc2-\xf4][\x80-\xbf]{0,2}$/.exec(start.toString("latin1")) ?? []);
  const whole = start.subarray(0, start.length - cut.length);
  return decodeText(isUtf8(whole) && !isUtf8(start) ? whole : start);
}

/** Lines of ASCII read the same either way, so only the others are checked. */
function decodeLines(bytes: Buffer): string {
  const text = bytes.toString("latin1");
  const beyondAscii = /[\x80-\xff]/g;
  const parts: string[] = [];
  let taken = 0;
  for (let found = beyondAscii.exec(text); found; found = beyondAscii.exec(text)) {
    const start = text.lastIndexOf("\n", found.index) + 1;
    const newline = bytes.indexOf(NEWLINE, found.index);
    const end = newline < 0 ? bytes.length : newline;
    if (isUtf8(bytes.subarray(start, end))) {
      parts.push(text.slice(taken, start), bytes.toString("utf8", start, end));
      taken = end;
    }
    beyondAscii.lastIndex = end;
  }
  parts.push(text.slice(taken));
  return parts.join("");
}

/** Splits git's `-z` output into its fields; text after the last NUL (none, in well-formed output) is dropped. */
export function splitNul(bytes: Buffer, decode: (field: Buffer) => string): string[] {
  // UTF-8 is decoded character by character, so the text can be split afterwards.
  if (isUtf8(bytes)) return decode(bytes).split("\0").slice(0, -1);
  return splitRecords(bytes).map(decode);
}

/** {@link splitNul} without decoding. */
export function splitRecords(bytes: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let start = 0, end = bytes.indexOf(0); end >= 0; start = end + 1, end = bytes.indexOf(0, start)) {
    records.push(bytes.subarray(start, end));
  }
  return records;
}

/** git's own rule: a file is binary if its first bytes, this many, contain a NUL. */
export const BINARY_PROBE_BYTES = 8000;

export function looksBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, BINARY_PROBE_BYTES).includes(0);
}
