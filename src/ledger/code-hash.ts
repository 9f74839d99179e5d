import { createHash } from "node:crypto";

/**
 * By which code is known again wherever it stands: 12 characters of base64url. White space does not count, so that
 * re-indenting and wrapping change nothing.
 */
export function codeHash(code: string): string {
  return createHash("sha256").update(code.replace(/\s+/g, "")).digest("base64url").slice(0, 12);
}
