/** So many bytes at a file's beginning decide whether git takes it for binary: a NUL among them is enough. */
export const PROBED_BYTES = 8_000;

/** Compressed data, images and machine code stay well below this share, sources well above. */
const READABLE_SHARE = 0.95;

/** Tab, line feed, form feed, carriage return. */
const whiteSpace = new Set([0x09, 0x0a, 0x0c, 0x0d]);

/** Bytes that are not UTF-8 were decoded as Latin-1, so that what lies there says nothing. */
const isReadable = (code: number) =>
  (code >= 0x20 && code < 0x7f) || whiteSpace.has(code) || (code >= 0x100 && code !== 0xfffd);

/**
 * Whether a file that git calls binary reads as text once its NULs are left out: a single one in a comment is enough to hide
 * a script from every diff, and UTF-16 has one in every other byte.
 *
 * @param start the decoded {@link PROBED_BYTES} with which the file begins
 */
export function readsAsText(start: string): boolean {
  let [characters, readable] = [0, 0];
  for (let at = 0; at < start.length; at++) {
    const code = start.charCodeAt(at);
    if (code === 0) continue;
    characters += 1;
    if (isReadable(code)) readable += 1;
  }
  return characters > 0 && readable / characters >= READABLE_SHARE;
}
