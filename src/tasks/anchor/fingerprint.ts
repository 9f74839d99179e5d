import { createHash } from "node:crypto";
import type { CodeLocation, Finding } from "../../core/finding.ts";

type Identified = Pick<Finding, "path" | "side" | "symbol" | "category" | "quote">;

/** Identifies a problem by its code, definition, file and category; white space and moved lines change nothing. */
export function fingerprint({ path, side, symbol, category, quote }: Identified): string {
  const code = quote.replace(/\s+/g, "");
  const text = [path, side, symbol ?? "", category, code].join("\0");
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

type Fault = Pick<Finding, "line" | "title" | "rule">;

export function createIdentities(): (finding: Identified & Fault) => string {
  const identify = createUniqueIds();
  return (finding) => identify({ ...finding, id: fingerprint(finding) });
}

/**
 * Makes the ids of several loops unique. Each keeps its fingerprint, which cannot be computed again for a secret. Findings with the same
 * fingerprint get an ordinal by line and, on one line, by title and rule.
 *
 * @param taken ids of findings that were carried over from an earlier review
 */
export function createUniqueIds(
  taken: ReadonlySet<string> = new Set(),
): (finding: Pick<Finding, "id"> & Fault) => string {
  const knownByFingerprint = new Map<string, string[]>();
  return ({ id, line, title, rule = "" }) => {
    const base = fingerprintIn(id);
    const known = knownByFingerprint.get(base) ?? [];
    knownByFingerprint.set(base, known);
    const fault = `${line} ${rule} ${normalizedTitle(title)}`;
    if (!known.includes(fault)) known.push(fault);
    return freeIds(base, taken, known.indexOf(fault));
  };
}

function freeIds(base: string, taken: ReadonlySet<string>, before: number): string {
  let left = before;
  for (let ordinal = 1; ; ordinal++) {
    const id = ordinal === 1 ? base : `${base}-${ordinal}`;
    if (taken.has(id)) continue;
    if (left === 0) return id;
    left -= 1;
  }
}

/** The fingerprint in an id, without its ordinal. */
export const fingerprintIn = (id: string) => id.replace(/-\d+$/, "");

/** A title for comparison: without case and extra white space. */
export const normalizedTitle = (title: string) => title.replace(/\s+/g, " ").trim().toLowerCase();

const firstOf = ({ start_line, line }: Pick<CodeLocation, "line" | "start_line">) => start_line ?? line;

export function locationsOverlap(one: CodeLocation, other: CodeLocation): boolean {
  if (one.path !== other.path || one.side !== other.side) return false;
  return firstOf(one) <= other.line && firstOf(other) <= one.line;
}

/** Whether findings may be one: a breach of one rule is never the breach of another one. */
export const haveOneRule = (findings: readonly Pick<Finding, "rule">[]): boolean =>
  new Set(findings.flatMap(({ rule }) => rule ?? [])).size <= 1;

/** Whether two findings have the same category and title, wherever they are, and are not of two rules. */
function haveSameTitle(one: Finding, other: Finding): boolean {
  if (!haveOneRule([one, other])) return false;
  return one.category === other.category && normalizedTitle(one.title) === normalizedTitle(other.title);
}

/** A shorter title ("Null dereference") names a kind of problem, not one problem at two locations. */
const SPECIFIC_WORDS = 4;

/** Whether two findings are one problem at several locations: same category and title, with a specific title or the same code. */
export function isSameElsewhere(one: Finding, other: Finding): boolean {
  const isSpecific = normalizedTitle(one.title).split(" ").length >= SPECIFIC_WORDS;
  return haveSameTitle(one, other) && (isSpecific || one.quote.trim() === other.quote.trim());
}

export const isSameFinding = (one: Finding, other: Finding): boolean =>
  haveSameTitle(one, other) && locationsOverlap(one, other);

export function locationOf({ path, side, line, start_line, quote }: Finding): CodeLocation {
  return { path, side, line, start_line, quote };
}

const common = new Set(
  "a an and any are as at be been but by can does for from has have if in into is it its not of on or than that the then this to was when where which while will with".split(
    " ",
  ),
);

const SHARED = 0.6;

/** Whether most words of two titles are in both, and one has all identifiers and numbers of the other. */
export function titlesAlike(one: string, other: string): boolean {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  if (!isWithin(a.exact, b.exact) && !isWithin(b.exact, a.exact)) return false;
  const [all, others] = [new Set([...a.plain, ...a.exact]), new Set([...b.plain, ...b.exact])];
  const shared = [...all].filter((word) => others.has(word)).length;
  return shared > 0 && (2 * shared) / (all.size + others.size) >= SHARED;
}

const isWithin = (some: ReadonlySet<string>, all: ReadonlySet<string>) =>
  [...some].every((word) => all.has(word));

/** `exact`: identifiers and numbers. */
function wordsOf(title: string) {
  const plain = new Set<string>();
  const exact = new Set<string>();
  for (const word of title.match(/[\p{L}\p{N}_$]+/gu) ?? []) {
    if (isExact(word)) exact.add(word);
    else if (!common.has(word.toLowerCase())) plain.add(word.toLowerCase());
  }
  return { plain, exact };
}

/** `maxItems`, `max_items`, `HTTP2`, `404`: not spelled like a word. */
const isExact = (word: string) => /[\p{N}_$]|\p{Ll}\p{Lu}/u.test(word);
