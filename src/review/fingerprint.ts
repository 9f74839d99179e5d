import { createHash } from "node:crypto";
import type { Finding } from "../finding.ts";

/**
 * The identity of a problem: the same code in the same file with the same kind of fault, wherever its lines have moved to.
 * White space does not count, so that re-indenting changes nothing; nor does a rename, if `path` is the merge base's name.
 */
export function fingerprint(finding: Pick<Finding, "path" | "side" | "quote" | "category">): string {
  const code = finding.quote.replace(/\s+/g, " ").trim();
  const text = [finding.path, finding.side, finding.category, code].join("\0");
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/**
 * Gives ids within one run. Equal pieces of code with the same kind of fault are told apart by an ordinal: by their line,
 * and on one line by their title, for two faults may meet there.
 */
export function createIdentities(): (
  finding: Pick<Finding, "path" | "side" | "quote" | "category" | "line" | "title">,
) => string {
  const knownByFingerprint = new Map<string, string[]>();
  return (finding) => {
    const base = fingerprint(finding);
    const known = knownByFingerprint.get(base) ?? [];
    knownByFingerprint.set(base, known);
    const fault = `${finding.line} ${folded(finding.title)}`;
    if (!known.includes(fault)) known.push(fault);
    const ordinal = known.indexOf(fault) + 1;
    return ordinal === 1 ? base : `${base}-${ordinal}`;
  };
}

/** The fingerprint in an id: equal pieces of code with the same kind of fault share it. */
export const fingerprintIn = (id: string) => id.replace(/-\d+$/, "");

/** Titles that read the same. */
export const folded = (title: string) => title.replace(/\s+/g, " ").trim().toLowerCase();
