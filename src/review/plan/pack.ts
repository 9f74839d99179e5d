import type { Bundle } from "./bundles.ts";
import { sharedFolders } from "./path-index.ts";

/** What a folder binds: less than an import. */
const SAME_FOLDER = 2;
/** Of a folder with more bundles, those next to the first one count as its neighbours. */
const MAX_NEIGHBOURS = 200;

/**
 * Divides bundles into units of at most `unitBytes`; a bundle that is larger is a unit by itself. Each unit begins with the
 * riskiest bundle that is left and takes in what is most closely related to those in it, then what is next in the tree, until
 * nothing that is left fits. Thus no two units would fit into one, related files are together, and a folder is divided only
 * where a unit is full.
 */
export function packBundles(bundles: readonly Bundle[], unitBytes: number): Bundle[][] {
  const inTree = bundles.toSorted((a, b) => compare(a.path, b.path));
  const free: FreeBundles = {
    inTree,
    places: new Map(inTree.map((one, at) => [one, at])),
    before: inTree.map((_, at) => at - 1),
    behind: inTree.map((_, at) => at + 1),
  };
  const units: Bundle[][] = [];
  for (const first of inTree.toSorted((a, b) => b.risk - a.risk))
    if (free.places.has(first)) units.push(new GrowingUnit(free, first, unitBytes).grow());
  return units;
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** What no unit has taken yet, as a list in the order of the paths from which any place can be taken out. */
interface FreeBundles {
  /** All, also those taken. */
  inTree: readonly Bundle[];
  /** Only of those that are free. */
  places: Map<Bundle, number>;
  before: number[];
  behind: number[];
}

/** How closely a bundle is related to those of a unit, and how many folders it shares with the first. */
interface Closeness {
  weight: number;
  shared: number;
}

class GrowingUnit {
  readonly #free: FreeBundles;
  readonly #first: Bundle;
  readonly #closeness = new Map<Bundle, Closeness>();
  readonly #taken: Bundle[] = [];
  #room: number;
  /** What is next in the tree, before and behind the first. */
  #before: number;
  #behind: number;

  constructor(free: FreeBundles, first: Bundle, unitBytes: number) {
    this.#free = free;
    this.#first = first;
    this.#room = unitBytes;
    const place = free.places.get(first) ?? 0;
    [this.#before, this.#behind] = [free.before[place] ?? -1, free.behind[place] ?? free.inTree.length];
    this.#addNeighbours(this.#before, free.before);
    this.#addNeighbours(this.#behind, free.behind);
  }

  grow(): Bundle[] {
    for (let next: Bundle | undefined = this.#first; next; next = this.#related() ?? this.#nextInTree())
      this.#take(next);
    return this.#taken;
  }

  #addNeighbours(start: number, step: readonly number[]): void {
    const folder = folderOf(this.#first.path);
    let at = start;
    for (let count = 0; count < MAX_NEIGHBOURS; count++) {
      const one = this.#free.inTree[at];
      if (!one || folderOf(one.path) !== folder) return;
      this.#bringCloser(one, SAME_FOLDER);
      at = step[at] ?? -1;
    }
  }

  #bringCloser(bundle: Bundle, weight: number): void {
    const known = this.#closeness.get(bundle);
    if (known) known.weight += weight;
    else this.#closeness.set(bundle, { weight, shared: sharedFolders(bundle.path, this.#first.path) });
  }

  #take(bundle: Bundle): void {
    this.#taken.push(bundle);
    this.#room -= bundle.bytes;
    this.#closeness.delete(bundle);
    const { places, before, behind } = this.#free;
    const place = places.get(bundle) ?? 0;
    const [previous, following] = [before[place] ?? -1, behind[place] ?? before.length];
    if (following < before.length) before[following] = previous;
    if (previous >= 0) behind[previous] = following;
    places.delete(bundle);
    for (const [other, weight] of bundle.related) if (places.has(other)) this.#bringCloser(other, weight);
  }

  /** Of those that fit, the most closely related; of several, the nearest to the first, then the first by path. */
  #related(): Bundle | undefined {
    let best: Bundle | undefined;
    let most: Closeness = { weight: 0, shared: 0 };
    for (const [bundle, closeness] of this.#closeness) {
      // There will never be more room.
      if (bundle.bytes > this.#room) this.#closeness.delete(bundle);
      else if (!best || isCloser(closeness, most) || (!isCloser(most, closeness) && bundle.path < best.path))
        [best, most] = [bundle, closeness];
    }
    return best;
  }

  #nextInTree(): Bundle | undefined {
    const { inTree, before, behind } = this.#free;
    while (this.#passes(this.#before)) this.#before = before[this.#before] ?? -1;
    while (this.#passes(this.#behind)) this.#behind = behind[this.#behind] ?? inTree.length;
    const [left, right] = [inTree[this.#before], inTree[this.#behind]];
    if (!left || !right) return left ?? right;
    const [sharedLeft, sharedRight] = [left, right].map(({ path }) => sharedFolders(path, this.#first.path));
    return (sharedLeft ?? 0) >= (sharedRight ?? 0) ? left : right;
  }

  /** Whether the bundle at a place was taken, or does not fit, which it will not later either. */
  #passes(place: number): boolean {
    const bundle = this.#free.inTree[place];
    return bundle !== undefined && (!this.#free.places.has(bundle) || bundle.bytes > this.#room);
  }
}

const isCloser = (one: Closeness, other: Closeness) =>
  one.weight > other.weight || (one.weight === other.weight && one.shared > other.shared);

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);
