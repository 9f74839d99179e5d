import { shownBytes } from "./render.ts";

/**
 * How long a path may be, in bytes of what a model reads: quoted, with invisible characters spelled out. No file system
 * takes longer ones, but a tree may name them, and answers could hold nothing beside them.
 */
export const MAX_PATH_BYTES = 4_096;

/** Escaping and quoting make this many bytes of one UTF-16 unit at most. */
const WORST_ESCAPE = 8;

/** Whether a path, as a tree has it, is longer than any tool takes. */
export function isPathTooLong(path: string): boolean {
  return path.length * WORST_ESCAPE > MAX_PATH_BYTES && shownBytes(JSON.stringify(path)) > MAX_PATH_BYTES;
}
