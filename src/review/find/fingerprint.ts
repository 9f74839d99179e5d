import { createHash } from "node:crypto";
import type { Finding, Place } from "../../finding.ts";

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
    const fault = `${line} ${normalizedTitle(title)}`;
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
export const normalizedTitle = (title: string) => title.replace(/\s+/g, " ").trim().toLowerCase();

const firstOf = ({ start_line, line }: Pick<Place, "line" | "start_line">) => start_line ?? line;

/** Whether two places share a line. */
export function locationsOverlap(one: Place, other: Place): boolean {
  if (one.path !== other.path || one.side !== other.side) return false;
  return firstOf(one) <= other.line && firstOf(other) <= one.line;
}

/** Whether two findings say the same of the same kind of fault, wherever it is. */
function saysTheSame(one: Finding, other: Finding): boolean {
  return one.category === other.category && normalizedTitle(one.title) === normalizedTitle(other.title);
}

/** A title of fewer words ("Null dereference") names a kind of fault, not one that two places share. */
const TELLING_WORDS = 4;

/** Whether two findings elsewhere are one problem at several places: they say the same, and something of their own. */
export function isSameElsewhere(one: Finding, other: Finding): boolean {
  const isTelling = normalizedTitle(one.title).split(" ").length >= TELLING_WORDS;
  return saysTheSame(one, other) && (isTelling || one.quote.trim() === other.quote.trim());
}

/** Told again of more or fewer lines, as a suggestion may need it, a fault is still one. */
export const isSameFinding = (one: Finding, other: Finding): boolean =>
  saysTheSame(one, other) && locationsOverlap(one, other);

export const locationOf = ({ path, side, line, start_line, quote }: Finding): Place => ({
  ...{ path, side, line, start_line, quote },
});

/** What is said of nearly everything tells nothing apart. */
const common = new Set(
  "a an and any are as at be been but by can does for from has have if in into is it its not of on or than that the then this to was when where which while will with".split(
    " ",
  ),
);

/** Parts of all words of two titles that they must share to say the same. */
const SHARED = 0.6;

interface Words {
  plain: ReadonlySet<string>;
  /** Names of code and numbers. */
  exact: ReadonlySet<string>;
}

/**
 * Whether two titles say the same: most of their words are in both, and neither has a number or a name of the code where the
 * other has a different one. One that only leaves some out may still say it.
 */
export function titlesAlike(one: string, other: string): boolean {
  const [a, b] = [wordsOf(one), wordsOf(other)];
  if (!isWithin(a.exact, b.exact) && !isWithin(b.exact, a.exact)) return false;
  const [all, others] = [new Set([...a.plain, ...a.exact]), new Set([...b.plain, ...b.exact])];
  const shared = [...all].filter((word) => others.has(word)).length;
  return shared > 0 && (2 * shared) / (all.size + others.size) >= SHARED;
}

const isWithin = (some: ReadonlySet<string>, all: ReadonlySet<string>) =>
  [...some].every((word) => all.has(word));

function wordsOf(title: string): Words {
  const plain = new Set<string>();
  const exact = new Set<string>();
  for (const word of title.match(/[\p{L}\p{N}_$]+/gu) ?? []) {
    if (isExact(word)) exact.add(word);
    else if (!common.has(word.toLowerCase())) plain.add(word.toLowerCase());
  }
  return { plain, exact };
}

/** `maxItems`, `max_items`, `HTTP2`, `404`: spelled as nobody spells a word. */
const isExact = (word: string) => /[\p{N}_$]|\p{Ll}\p{Lu}/u.test(word);
