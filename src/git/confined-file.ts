import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { pathFault } from "../diff/paths.ts";
import { AppError } from "../errors.ts";
import { nameBytes } from "./names.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
const SLASH = Buffer.from("/");

interface ConfinedOptions {
  /** Default "file": a regular one. */
  kind?: "file" | "file or folder";
  /** The folder in which the system shows a process's open files. If it is missing, names are looked up a second time. */
  descriptors?: string;
}

/**
 * Opens a file of a checkout for reading, and nothing else. Whatever is there, or is put there meanwhile (links at any
 * depth, pipes, devices, folders), no byte from elsewhere is read. What was opened is judged, not what its name says. The
 * caller closes the descriptor.
 *
 * Throws `not_allowed` for what is no such file, and the operating system's error for what is not there.
 *
 * @param root absolute path of the checkout; it may be reached by links itself
 * @param key of the file in the tree, as `decodeName` has it
 */
export function openConfined(root: string, key: string, options: ConfinedOptions = {}): number {
  const { kind = "file", descriptors = "/proc/self/fd" } = options;
  const fault = pathFault(key);
  if (fault !== undefined) throw outside(key, fault);
  const [top, name] = [realpathSync.native(root, "buffer"), nameBytes(key)];
  const place = Buffer.concat([top, SLASH, name]);
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const file = openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  try {
    const stats = fstatSync(file);
    const isWanted = stats.isFile() || (kind === "file or folder" && stats.isDirectory());
    if (!isWanted) throw outside(key, `no ${kind}`);
    const real = realPlace(file, descriptors) ?? realName(place, stats);
    // A link may also lead to what is withheld within the checkout, so that only the very place will do.
    if (!real?.equals(place)) throw outside(key, "elsewhere");
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Where the system says that an open file is; undefined where it does not say. */
function realPlace(file: number, descriptors: string): Buffer | undefined {
  try {
    return readlinkSync(`${descriptors}/${file}`, "buffer");
  } catch {
    return undefined;
  }
}

/** The name without links, if it still names the file that was opened. */
function realName(place: Buffer, opened: Stats): Buffer | undefined {
  const real = realpathSync.native(place, "buffer");
  const stats = statSync(real);
  return stats.ino === opened.ino && stats.dev === opened.dev ? real : undefined;
}

function outside(key: string, why: string): AppError {
  return new AppError("not_allowed", `'${key}' is no file of the checkout: ${why}`);
}

/**
 * The first bytes of a file of a checkout, fewer when it has no more; they are those of its blob (`HARDENED_ATTRIBUTES`).
 * Our own code reads a checkout only in this way. Throws what {@link openConfined} throws.
 *
 * Not asynchronous: that takes several times as long as the 20 µs of a file that was written a moment ago, and a change may
 * have thousands. For the review process, which has nothing else to serve meanwhile.
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
