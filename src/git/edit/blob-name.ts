import { createHash } from "node:crypto";

const SHA256_DIGITS = 64;

/** The object name that git gives a file's bytes. @param like any object name of the repository, whose format is its format */
export function blobName(bytes: Buffer, like: string): string {
  const hash = createHash(like.length === SHA256_DIGITS ? "sha256" : "sha1");
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}
