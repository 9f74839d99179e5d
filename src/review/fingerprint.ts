import { createHash } from "node:crypto";
import type { Finding } from "../finding.ts";

/**
 * The identity of a problem: the same code in the same file with the same kind of fault, wherever its lines have moved to.
 * White space does not count, so that re-indenting changes nothing.
 */
export function fingerprint(finding: Pick<Finding, "path" | "side" | "quote" | "category">): string {
  const code = finding.quote.replace(/\s+/g, " ").trim();
  const text = [finding.path, finding.side, finding.category, code].join("\0");
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** Gives ids within one run: equal pieces of code with the same fault are told apart by an ordinal, by their line. */
export function createIdentities(): (
  finding: Pick<Finding, "path" | "side" | "quote" | "category" | "line">,
) => string {
  const linesByFingerprint = new Map<string, number[]>();
  return (finding) => {
    const base = fingerprint(finding);
    const lines = linesByFingerprint.get(base) ?? [];
    linesByFingerprint.set(base, lines);
    if (!lines.includes(finding.line)) lines.push(finding.line);
    const ordinal = lines.indexOf(finding.line) + 1;
    return ordinal === 1 ? base : `${base}-${ordinal}`;
  };
}
