import { distance } from "fastest-levenshtein";

/** The candidate that `word` was most likely meant to be, if any is close: a typing error or a beginning of it. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const beginning = candidates.filter((one) => word.length >= 2 && one.startsWith(word));
  if (beginning.length === 1) return beginning[0];
  const ranked = candidates
    .map((one) => ({ one, edits: distance(word.slice(0, 64), one) }))
    .sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  return best && best.edits <= Math.ceil(best.one.length / 3) ? best.one : undefined;
}

/** " Did you mean 'review'?" or nothing. */
export function didYouMean(word: string, candidates: readonly string[], show = (one: string) => one): string {
  const found = nearest(word, candidates);
  return found === undefined ? "" : `Did you mean '${show(found)}'?`;
}
