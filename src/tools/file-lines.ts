import { countLines, shorten, shownBytes } from "../diff/file-diff.ts";
import type { FileText, Workspace } from "../git/workspace.ts";

/** Lines from `start` to `end`, 1-indexed and inclusive. */
export interface LineRange {
  start: number;
  end: number;
}

/** A line feed ends a line; it does not begin one. */
export const totalLines = (text: string) => countLines(text) + (text === "" || text.endsWith("\n") ? 0 : 1);

/**
 * The lines of a range as `12|text`, as many as fit into `maxBytes` after rendering, but at least one. Only these are created: a file may
 * have more lines than fit into memory one by one.
 */
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
