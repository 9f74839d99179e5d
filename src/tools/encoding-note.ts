import type { FileText, Workspace } from "../git/workspace.ts";

/** Said of text that was decoded as Latin-1 because its bytes are not UTF-8. */
export const LATIN1_NOTE = "Not UTF-8; decoded as Latin-1, so characters beyond ASCII may be wrong.";

/** Text that came out of Latin-1 has such characters, and none beyond. */
const mayBeLatin1 = (text: string) => /[\x80-\xff]/.test(text) && !/[^\0-\xff]/.test(text);

const isLatin1 = (file: FileText) => !file.binary && file.encoding === "latin1";

/** The note for a diff of blobs whose text was decoded as Latin-1. A file that cannot be read is no reason to fail. */
export async function latin1Note(
  text: string,
  oids: readonly string[],
  workspace: Workspace,
): Promise<string | undefined> {
  if (!mayBeLatin1(text)) return undefined;
  const present = oids.filter((oid) => !/^0+$/.test(oid));
  const files = await Promise.allSettled(present.map((oid) => workspace.readBlob(oid)));
  return files.some((file) => file.status === "fulfilled" && isLatin1(file.value)) ? LATIN1_NOTE : undefined;
}
