import { closeSync, constants, openSync, readSync } from "node:fs";
import { nameBytes } from "./names.ts";

/**
 * The first bytes of a file of a checkout, fewer when it has no more; they are those of its blob (`HARDENED_ATTRIBUTES`).
 * Throws the operating system's error.
 *
 * Not asynchronous: that takes ten times as long as the 12 µs of a file that was written a moment ago, and a change may have
 * thousands. For the review process, which serves nobody meanwhile.
 *
 * @param path of a regular file of the head's tree: git has written it, so neither does it lead out of the checkout, nor is
 *   a folder above it a link
 */
export function fileStart(root: string, path: string, maxBytes: number): Buffer {
  const name = Buffer.concat([Buffer.from(`${root}/`), nameBytes(path)]);
  const file = openSync(name, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const bytes = Buffer.alloc(maxBytes);
    return bytes.subarray(0, readSync(file, bytes, 0, maxBytes, 0));
  } finally {
    closeSync(file);
  }
}
