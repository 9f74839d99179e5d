import { isScalar, type YAMLError } from "yaml";
import type { PrivatePlace } from "./private-places.ts";
import type { YamlWalk } from "./walk-yaml.ts";

interface Extent {
  start: number;
  end: number;
}

/**
 * Offset of the first thing about private paths that may have been damaged or lost; undefined where all was recovered for
 * sure.
 */
export function findLostPlace(
  text: string,
  errors: readonly YAMLError[],
  { pairs }: YamlWalk,
  places: readonly PrivatePlace[],
): number | undefined {
  const keys = pairs.flatMap(({ pair: { key } }) =>
    isScalar(key) && key.range ? [{ start: key.range[0], end: key.range[1] }] : [],
  );
  const faults = errors.map(({ pos: [start, end] }) => ({ start, end }));
  const damaged = places.filter((place) => !isWhole(place, keys, faults, text)).map(({ start }) => start);
  const lost = [...damaged, ...unreadMentions(text, keys, faults, places)];
  return lost.length > 0 ? Math.min(...lost) : undefined;
}

/**
 * Whether all errors lie before the place or behind a key that follows it, and nothing in between was left unread: the
 * parser drops some misplaced elements without an error.
 */
function isWhole(place: Extent, keys: readonly Extent[], faults: readonly Extent[], text: string): boolean {
  const next = keys.find(({ start }) => start >= place.end);
  const afterNext = next?.end ?? Number.POSITIVE_INFINITY;
  if (faults.some(({ start, end }) => end > place.start && start < afterNext)) return false;
  const between = text.slice(place.end, next?.start).replaceAll(/(?<=^|\s)#.*/g, "");
  return !/[^\s\]}[{,:?.-]/.test(between);
}

/**
 * Where the file says "private" though no key was recovered there. An error is reported where the parser notices it, which
 * may be long after the slip (an open quote shows at the end of the file), so the text counts as understood only up to the
 * last key before the first error.
 */
function unreadMentions(
  text: string,
  keys: readonly Extent[],
  faults: readonly Extent[],
  places: readonly Extent[],
): number[] {
  if (faults.length === 0) return [];
  const firstFault = Math.min(...faults.map(({ start }) => start));
  const understood = Math.max(0, ...keys.map(({ start }) => start).filter((start) => start <= firstFault));
  return [...text.matchAll(/private/gi)]
    .map(({ index }) => index)
    .filter((at) => at >= understood && !places.some(({ start, end }) => start <= at && at < end));
}
