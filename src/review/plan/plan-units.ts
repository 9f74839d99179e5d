import { folderOf } from "../../code/imports.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import { findLinks, type Links, sharedFolders } from "./links.ts";
import { fileRisk } from "./risk.ts";

/** A file to be planned. */
interface PlannedFile {
  /** Its index in the list of related files. */
  id: number;
  file: ChangedFile;
  risk: number;
}

/** Files that stay together: a test and the code it tests, a header and its source. */
interface Bundle {
  files: PlannedFile[];
  bytes: number;
  /** The risk of its riskiest file. */
  risk: number;
  /** Its position in the tree: the path of its riskiest file. */
  path: string;
  /** Related bundles and how closely they are related. */
  related: Map<Bundle, number>;
}

/** Joins pairs of files while the result has at most `maxBytes`. Every other file is a bundle of its own. */
function bundleFiles(
  files: readonly PlannedFile[],
  { pairs, related }: Pick<Links, "pairs" | "related">,
  maxBytes: number,
): Bundle[] {
  const bundles = new Map(files.map((one) => [one.id, bundleOf(one)]));
  for (const [first, second] of pairs) {
    const [into, from] = [bundles.get(first), bundles.get(second)];
    if (!into || !from || into === from || into.bytes + from.bytes > maxBytes) continue;
    into.files.push(...from.files);
    into.bytes += from.bytes;
    if (from.risk > into.risk) [into.risk, into.path] = [from.risk, from.path];
    for (const { id } of from.files) bundles.set(id, into);
  }
  for (const [id, bundle] of bundles) {
    for (const [other, weight] of related[id] ?? []) {
      const to = bundles.get(other);
      if (to && to !== bundle) bundle.related.set(to, (bundle.related.get(to) ?? 0) + weight);
    }
  }
  return [...new Set(bundles.values())];
}

const bundleOf = (one: PlannedFile): Bundle => ({
  files: [one],
  bytes: one.file.diffBytes,
  risk: one.risk,
  path: one.file.change.path,
  related: new Map(),
});

/** Weight of a shared folder: less than an import. */
const SAME_FOLDER = 2;
/** If a folder has more bundles, only those next to the first one count as its neighbours. */
const MAX_NEIGHBOURS = 200;

/**
 * Divides bundles into units of at most `unitBytes`; a larger bundle is a unit of its own. Each unit starts with the riskiest remaining
 * bundle, then takes the bundles most closely related to it, then the next ones in the tree, until no remaining bundle fits. So no two
 * units would fit into one, related files are together, and a folder is divided only if a unit is full.
 */
function packBundles(bundles: readonly Bundle[], unitBytes: number): Bundle[][] {
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

/** The bundles that no unit has taken yet, ordered by path; any of them can be removed. */
interface FreeBundles {
  /** All bundles, including the taken ones. */
  inTree: readonly Bundle[];
  /** Positions of the free bundles only. */
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
  /** The next positions in the tree, before and after the first bundle. */
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

  /** The most closely related bundle that fits; of several, the nearest to the first, then the first by path. */
  #related(): Bundle | undefined {
    let best: Bundle | undefined;
    let most: Closeness = { weight: 0, shared: 0 };
    for (const [bundle, closeness] of this.#closeness) {
      // The room never grows again.
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

  /** Whether the bundle at a position is taken or does not fit; it will not fit later either. */
  #passes(place: number): boolean {
    const bundle = this.#free.inTree[place];
    return bundle !== undefined && (!this.#free.places.has(bundle) || bundle.bytes > this.#room);
  }
}

const isCloser = (one: Closeness, other: Closeness) =>
  one.weight > other.weight || (one.weight === other.weight && one.shared > other.shared);

/** A part of a change that one loop reviews. */
export interface Unit {
  /** "1", "2" ...: riskiest first; names the loop of the unit in the trajectory. */
  id: string;
  /** In reading order: riskiest first, tests after the code they test. */
  files: readonly ChangedFile[];
  /** Bytes of the rendered diff (with line numbers) of these files. */
  diffBytes: number;
  /** The risk of its riskiest file (`fileRisk`). */
  risk: number;
}

export interface Plan {
  units: readonly Unit[];
  /** Reviewable files that exceed the budget, riskiest first. */
  left: readonly ChangedFile[];
}

export interface PlanOptions {
  /** The whole change; only reviewable files with hunks are planned. */
  files: readonly ChangedFile[];
  /** Maximum rendered bytes of diff in one unit. */
  unitBytes: number;
  /** Maximum rendered bytes of diff in all units together; the rest is left. */
  totalBytes: number;
  /** The first bytes of a changed file at head, at low cost: `IMPORT_CHARACTERS` are searched. */
  headStart(path: string): Promise<string>;
  /** Number of lines that analyzers matched, by path. */
  candidates: ReadonlyMap<string, number>;
}

/** Tests stay with their code if both take at most this share of a unit: with parts this small, units become four fifths full. */
const BUNDLE_SHARE = 1 / 5;

/**
 * Divides a change into units of related files, riskiest first. The same files give the same plan, in any order.
 *
 * - The reviewed files are selected one by one, riskiest first (equal ones by path): a file is left if it is larger than what the riskier
 *   ones leave of `totalBytes`.
 * - A change that fits into one unit is one unit. No two units would fit into one. A file that is larger than a unit is a unit of its own.
 */
export async function planUnits(options: PlanOptions): Promise<Plan> {
  const { unitBytes, totalBytes, candidates } = options;
  const all = options.files
    .filter((file) => file.reviewable && file.totalHunks > 0)
    .toSorted((a, b) => (a.change.path < b.change.path ? -1 : 1));
  // A line needs no loop of its own.
  const told = all.filter(({ reading }) => reading === "line");
  const files = told.length === all.length ? all : all.filter(({ reading }) => reading !== "line");
  const links = await findLinks(files, options.headStart);
  const ranked = files
    .map((file, id) => ({ id, file, risk: riskOf(file, links.users[id] ?? 0, candidates) }))
    .toSorted((a, b) => b.risk - a.risk);
  const { chosen, left } = choose(ranked, totalBytes);
  const bundles = bundleFiles(chosen, links, unitBytes * BUNDLE_SHARE);
  const units = packBundles(bundles, unitBytes).map((unit, at) => ({
    id: `${at + 1}`,
    files: readingOrder(
      unit.flatMap((bundle) => bundle.files),
      links,
    ),
    diffBytes: unit.reduce((sum, bundle) => sum + bundle.bytes, 0),
    risk: unit[0]?.risk ?? 0,
  }));
  const [first, ...others] = units;
  if (!first || files === all) return { units, left };
  return { units: [{ ...first, files: [...first.files, ...told] }, ...others], left };
}

function riskOf(file: ChangedFile, users: number, candidates: PlanOptions["candidates"]): number {
  return fileRisk(file, { candidates: candidates.get(file.change.path) ?? 0, users });
}

function choose(ranked: readonly PlannedFile[], totalBytes: number) {
  const chosen: PlannedFile[] = [];
  const left: ChangedFile[] = [];
  let room = totalBytes;
  for (const one of ranked) {
    if (one.file.diffBytes > room) {
      left.push(one.file);
      continue;
    }
    room -= one.file.diffBytes;
    chosen.push(one);
  }
  return { chosen, left };
}

/** Riskiest first, each followed by its tests among these files. */
function readingOrder(files: readonly PlannedFile[], { tested }: Links): ChangedFile[] {
  const ranked = files.toSorted((a, b) => b.risk - a.risk || a.id - b.id);
  const here = new Set(files.map(({ id }) => id));
  const tests = Map.groupBy(ranked, ({ id }) => tested.get(id));
  const leading = ranked.filter(({ id }) => !here.has(tested.get(id) ?? -1));
  return leading.flatMap((one) => [one, ...(tests.get(one.id) ?? [])]).map(({ file }) => file);
}
