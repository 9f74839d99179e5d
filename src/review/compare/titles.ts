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
