import { createHash } from "node:crypto";
import type { Finding } from "../finding.ts";

type Identified = Pick<Finding, "path" | "side" | "symbol" | "category" | "quote">;

/**
 * The identity of a problem: the same code in the same definition of the same file with the same kind of fault, wherever its
 * lines have moved to. White space does not count, so that re-indenting and wrapping change nothing; nor does a rename, if
 * `path` is the merge base's name.
 */
export function fingerprint({ path, side, symbol, category, quote }: Identified): string {
  const code = quote.replace(/\s+/g, "");
  const text = [path, side, symbol ?? "", category, code].join("\0");
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** What tells two faults apart that share a fingerprint. */
type Fault = Pick<Finding, "line" | "title">;

/**
 * Gives ids within one run. Equal pieces of code with the same kind of fault are told apart by an ordinal: by their line,
 * and on one line by their title, for two faults may meet there.
 */
export function createIdentities(): (finding: Identified & Fault) => string {
  const ordinal = createOrdinals(new Set());
  return (finding) => ordinal(fingerprint(finding), finding);
}

/**
 * Makes ids unique that several runs gave: each keeps its fingerprint, which cannot be found out again for a secret.
 *
 * @param taken ids of findings that came over from an earlier review: they are given to no other
 */
export function createUniqueIds(
  taken: ReadonlySet<string> = new Set(),
): (finding: Pick<Finding, "id"> & Fault) => string {
  const ordinal = createOrdinals(taken);
  return (finding) => ordinal(fingerprintIn(finding.id), finding);
}

function createOrdinals(taken: ReadonlySet<string>): (base: string, fault: Fault) => string {
  const knownByFingerprint = new Map<string, string[]>();
  return (base, { line, title }) => {
    const known = knownByFingerprint.get(base) ?? [];
    knownByFingerprint.set(base, known);
    const fault = `${line} ${folded(title)}`;
    if (!known.includes(fault)) known.push(fault);
    return freeIds(base, taken, known.indexOf(fault));
  };
}

/** The id with this many free ones before it. */
function freeIds(base: string, taken: ReadonlySet<string>, before: number): string {
  let left = before;
  for (let ordinal = 1; ; ordinal++) {
    const id = ordinal === 1 ? base : `${base}-${ordinal}`;
    if (taken.has(id)) continue;
    if (left === 0) return id;
    left -= 1;
  }
}

/** The fingerprint in an id: equal pieces of code with the same kind of fault share it. */
export const fingerprintIn = (id: string) => id.replace(/-\d+$/, "");

/** Titles that read the same. */
export const folded = (title: string) => title.replace(/\s+/g, " ").trim().toLowerCase();
