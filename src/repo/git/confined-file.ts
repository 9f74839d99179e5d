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
import { AppError } from "../../core/errors.ts";
import { pathFault } from "../diff/paths.ts";
import { nameBytes } from "./names.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
const SLASH = Buffer.from("/");

interface ConfinedOptions {
  /** Default "file": only a regular file. */
  kind?: "file" | "file or folder";
  /** The folder in which the system lists a process's open files. If it is missing, names are resolved a second time. */
  descriptors?: string;
}

/**
 * Opens a file of a checkout for reading only. Reads no byte from elsewhere, even if the path is or becomes a link at any depth, a pipe, a
 * device or a folder. Checks the opened file, not its name. Throws `not_allowed`, or the operating system's error if it does not exist.
 * @param root absolute path of the checkout, which may contain links
 * @param key of the file in the tree, as `decodeName` returns it
 */
export function openConfined(root: string, key: string, options: ConfinedOptions = {}): number {
  const { kind = "file", descriptors = "/proc/self/fd" } = options;
  const fault = pathFault(key);
  if (fault !== undefined) throw outside(key, fault);
  const [top, name] = [realpathSync.native(root, "buffer"), nameBytes(key)];
  const place = Buffer.concat([top, SLASH, name]);
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  const file = openSync(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  try {
    const stats = fstatSync(file);
    const isWanted = stats.isFile() || (kind === "file or folder" && stats.isDirectory());
    if (!isWanted) throw outside(key, `no ${kind}`);
    const real = realPlace(file, descriptors) ?? realName(place, stats);
    // A link may also lead to withheld files within the checkout, so the place must match exactly.
    if (!real?.equals(place)) throw outside(key, "elsewhere");
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** The system's path of an open file; undefined if the system does not report it. */
function realPlace(file: number, descriptors: string): Buffer | undefined {
  try {
    return readlinkSync(`${descriptors}/${file}`, "buffer");
  } catch {
    return undefined;
  }
}

/** The path without links, if it still names the opened file. */
function realName(place: Buffer, opened: Stats): Buffer | undefined {
  const real = realpathSync.native(place, "buffer");
  const stats = statSync(real);
  return stats.ino === opened.ino && stats.dev === opened.dev ? real : undefined;
}

function outside(key: string, why: string): AppError {
  return new AppError("not_allowed", `'${key}' is not a file of the checkout: ${why}`);
}

/**
 * The first bytes of a file of a checkout, which equal those of its blob. Our own code reads a checkout only in this way. Throws the same errors as {@link openConfined}. Synchronous, because
 * an asynchronous read takes several times as long. For the review process, which serves nothing else meanwhile.
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
