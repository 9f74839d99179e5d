import { closeSync, readSync } from "node:fs";
import { openConfined } from "./confined-file.ts";

/**
 * The first bytes of a file of a checkout, fewer when it has no more; they are those of its blob (`HARDENED_ATTRIBUTES`).
 * The one way in which our own code reads a checkout. Throws what {@link openConfined} throws.
 *
 * Not asynchronous: that takes several times as long as the 20 µs of a file that was written a moment ago, and a change may
 * have thousands. For the review process, which serves nobody meanwhile.
 *
 * @param key of a regular file in the head's tree
 */
export function fileStart(root: string, key: string, maxBytes: number): Buffer {
  const file = openConfined(root, key);
  try {
    const bytes = Buffer.alloc(maxBytes);
    return bytes.subarray(0, readSync(file, bytes, 0, maxBytes, 0));
  } finally {
    closeSync(file);
  }
}
