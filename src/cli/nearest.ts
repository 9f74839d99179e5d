/** Edits (insert, delete, replace, swap two neighbours) that lead from one short word to the other. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(before, j - 2) + 1 : replaced;
      next.push(Math.min(replaced, swapped, at(row, j) + 1, at(next, j - 1) + 1));
    }
    [before, row] = [row, next];
  }
  return at(row, b.length);
}

const at = (row: readonly number[], index: number) => row[index] ?? Number.POSITIVE_INFINITY;

/** The candidate that `word` was most likely meant to be, if any is close: a typing error or a beginning of it. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const beginning = candidates.filter((one) => word.length >= 2 && one.startsWith(word));
  if (beginning.length === 1) return beginning[0];
  const ranked = candidates
    .map((one) => ({ one, edits: distance(word.slice(0, 64), one) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best && best.edits <= Math.max(1, Math.floor(best.one.length / 3)) ? best.one : undefined;
}

/** " Did you mean 'review'?" or nothing. */
export function didYouMean(word: string, candidates: readonly string[], show = (one: string) => one): string {
  const found = nearest(word, candidates);
  return found === undefined ? "" : `Did you mean '${show(found)}'?`;
}
