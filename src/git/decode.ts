import { isUtf8 } from "node:buffer";

/** Bytes as text: UTF-8 when they are valid UTF-8, else Latin-1, which is right for no file but loses no byte. */
export function decodeText(bytes: Buffer): { text: string; encoding: "utf8" | "latin1" } {
  const encoding = isUtf8(bytes) ? "utf8" : "latin1";
  return { text: bytes.toString(encoding), encoding };
}

/** Splits git's `-z` output; what stands after the last NUL (nothing, in well-formed output) is left out. */
export function splitNul(bytes: Buffer): string[] {
  const whole = isUtf8(bytes);
  if (whole) return bytes.toString("utf8").split("\0").slice(0, -1);
  const parts: string[] = [];
  for (let start = 0, end = bytes.indexOf(0); end >= 0; start = end + 1, end = bytes.indexOf(0, start)) {
    parts.push(decodeText(bytes.subarray(start, end)).text);
  }
  return parts;
}

/** git's own rule: a file is binary when a NUL stands in as many bytes at its beginning. */
export const BINARY_PROBE_BYTES = 8000;

/** Whether git would call this content binary. */
export function looksBinary(bytes: Buffer): boolean {
  return bytes.subarray(0, BINARY_PROBE_BYTES).includes(0);
}
