import { hash } from "node:crypto";
import { HASH_CHARACTERS, PATH_CHARACTERS } from "../../ledger/reviewed.ts";
import type { ChangedFile } from "../../tools/tool.ts";

const sha256 = (text: string) => hash("sha256", text, "base64url");

/** Renaming a file makes nothing in it new. */
export const firstName = ({ change }: Pick<ChangedFile, "change">) => change.oldPath ?? change.path;

/** What every hash of a file begins with. */
export const fileMark = (path: string) => sha256(path).slice(0, PATH_CHARACTERS);

/** The beginning of a hash that tells of which file it is. */
export const markOf = (hash: string) => hash.slice(0, PATH_CHARACTERS);

/** How a state remembers contents of a file, by the digests of its changes: one, or all in order. */
export function contentHash(path: string, digests: readonly string[]): string {
  const content = sha256([path, ...digests].join("\0"));
  return fileMark(path) + content.slice(0, HASH_CHARACTERS - PATH_CHARACTERS);
}

/** How a state remembers a change of a file, by its digest. */
export const changeHash = (path: string, digest: string) => contentHash(path, [digest]);
