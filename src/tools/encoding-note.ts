import type { FileText, Workspace } from "../git/workspace.ts";

/** Said of text of which lines were decoded as Latin-1 because their bytes are not UTF-8. */
export const LATIN1_NOTE = "Not UTF-8; decoded as Latin-1, so characters beyond ASCII may be wrong.";

/** A line that came out of Latin-1 has such characters, and none beyond. */
const mayBeLatin1 = (line: string) => /[\x80-\xff]/.test(line) && !/[^\0-\xff]/.test(line);

const isLatin1 = (file: FileText) => !file.binary && file.encoding === "latin1";

/** The note for a diff of blobs of whose lines some were decoded as Latin-1. A file that cannot be read is no reason to fail. */
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
