import { countLines, type FileDiff, headerFacts, shorten, shownBytes } from "./diff/file-diff.ts";
import type { FileText, Workspace } from "./git/workspace.ts";

/** A longer rendering for the model is cut at a line end. Bytes of UTF-8. */
export const MAX_RENDERED_BYTES = 32 * 1024;

/** White space, and letters that look like it. */
const blank = /[\s\u115f\u1160\u2800\u3164\uffa0]/;

/**
 * A path as the model reads and repeats it. One with white space is quoted as a JSON string, which the path tools accept: a name that its
 * author wrote as a sentence must not read like one of ours.
 */
export function showPath(path: string): string {
  return blank.test(path) || path.startsWith('"') ? JSON.stringify(path) : path;
}

/** The heading of a file's hunks, with what none of their lines says: `## src/b.ts (was src/a.ts) (mode 100644 -> 100755)`. */
export function headingOf({ path, oldPath, header }: FileDiff): string {
  const modes = headerFacts(header).filter((fact) => /^mode |executable/.test(fact));
  const facts = [...(oldPath === null ? [] : [`was ${showPath(oldPath)}`]), ...modes];
  return `## ${showPath(path)}${facts.map((fact) => ` (${fact})`).join("")}`;
}

/** The number of first entries that fit into `maxBytes` after escaping, each with its line feed. */
export function fitting(entries: readonly string[], maxBytes: number): number {
  let bytes = 0;
  const past = entries.findIndex((entry) => {
    bytes += shownBytes(entry) + 1;
    return bytes > maxBytes;
  });
  return past < 0 ? entries.length : past;
}

/** Lines from `start` to `end`, 1-indexed and inclusive. */
export interface LineRange {
  start: number;
  end: number;
}

/** A line feed ends a line; it does not begin one. */
export const totalLines = (text: string) => countLines(text) + (text === "" || text.endsWith("\n") ? 0 : 1);

/** The lines of a range as `12|text`, as many as fit into `maxBytes`, but at least one. Only these are created. */
export function takeLines(text: string, { start, end }: LineRange, maxBytes: number): string[] {
  let at = 0;
  for (let line = 1; line < start; line += 1) at = text.indexOf("\n", at) + 1;
  const taken: string[] = [];
  let bytes = 0;
  for (let line = start; line <= end; line += 1) {
    const newline = text.indexOf("\n", at);
    const entry = `${line}|${newline < 0 ? text.slice(at) : text.slice(at, newline)}`;
    bytes += shownBytes(shorten(entry)) + 1;
    if (bytes > maxBytes && taken.length > 0) break;
    taken.push(entry);
    at = newline + 1;
  }
  return taken;
}

/** Maximum unreadable files that are named. */
const MAX_UNREAD = 8;

export const UNREAD = "git lacks the file, or has it damaged";

/** The note about files that git cannot read; none if there are none. */
export function unreadNotes(paths: Iterable<string>): string[] {
  const all = [...new Set(paths)];
  if (all.length === 0) return [];
  const named = all.slice(0, MAX_UNREAD).map(showPath).join(", ");
  const more = all.length > MAX_UNREAD ? ` and ${all.length - MAX_UNREAD} more` : "";
  return [`Not read, because ${UNREAD}: ${named}${more}.`];
}

/** The note for text with lines that are not UTF-8 and were decoded as Latin-1. */
export const LATIN1_NOTE = "Not UTF-8; decoded as Latin-1, so characters beyond ASCII may be wrong.";

/** A line decoded as Latin-1 contains such characters, and none beyond. */
const mayBeLatin1 = (line: string) => /[\x80-\xff]/.test(line) && !/[^\0-\xff]/.test(line);

const isLatin1 = (file: FileText) => !file.binary && file.encoding === "latin1";

/** The note for a diff of blobs if some of their lines were decoded as Latin-1. Unreadable files are ignored. */
export async function latin1Note(
  text: string,
  oids: readonly string[],
  workspace: Workspace,
): Promise<string | undefined> {
  if (!text.split("\n").some(mayBeLatin1)) return undefined;
  const present = oids.filter((oid) => !/^0+$/.test(oid));
  const files = await Promise.allSettled(present.map((oid) => workspace.readBlob(oid)));
  return files.some((file) => file.status === "fulfilled" && isLatin1(file.value)) ? LATIN1_NOTE : undefined;
}
