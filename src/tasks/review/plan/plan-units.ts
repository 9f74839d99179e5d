import { folderOf, hasImports, importsOf, Modules } from "../../../repo/code/imports.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import type { ChangedFile } from "../../../repo/diff-source.ts";
import { fileRisk, kindOf, stemOf } from "./risk.ts";

const MAX_ALIKE = 64;

/** Two files that are read together; if `test` is set, the second is a test of the first. */
interface Pair {
  first: number;
  second: number;
  test: boolean;
}

interface Named {
  id: number;
  path: string;
}

/** A test and the code it tests, a header and its source, a template and its style. Numbers are indexes into `files`. */
function findPairs(files: readonly ChangedFile[]): Pair[] {
  const named = files.map(({ change }, id) => ({ id, path: change.path }));
  const byName = Map.groupBy(named.filter(isSubject), ({ path }) => stemOf(path).toLowerCase());
  const tests = named.filter(({ path }) => isTest(path)).flatMap((one) => testPair(one, byName));
  return [...tests, ...twins(named)];
}

const isTest = (path: string) => kindOf(path) === "test" && isTestFile(path);
const isSubject = ({ path }: Named) => kindOf(path) === "code";

function testPair(test: Named, byName: ReadonlyMap<string, readonly Named[]>): Pair[] {
  const subjects = byName.get(testedName(test.path))?.slice(0, MAX_ALIKE) ?? [];
  // Tests in a tree of their own share names of folders with their code, not the beginning of its path.
  const folders = new Set(test.path.split("/"));
  const shared = ({ path }: Named) => path.split("/").filter((folder) => folders.has(folder)).length;
  const [subject] = subjects.toSorted(
    (a, b) => shared(b) - shared(a) || sharedFolders(b.path, test.path) - sharedFolders(a.path, test.path),
  );
  return subject ? [{ first: subject.id, second: test.id, test: true }] : [];
}

const testMarks = /^test[_-]|[._-](?:test|tests|spec|cy|e2e)$/g;
const upperMarks = /^Test(?=[A-Z])|(?<=[a-z\d])(?:Tests?|TestCase|IT)$/g;

/** The name of the code that a test tests, in lower case: `login` for `login.test.ts`, `test_login.py`, `LoginTest.java`. */
function testedName(path: string): string {
  return stemOf(path).replace(testMarks, "").replace(upperMarks, "").toLowerCase();
}

function twins(named: readonly Named[]): Pair[] {
  const groups = Map.groupBy(named, ({ path }) => `${folderOf(path)}/${stemOf(path)}`);
  return [...groups.values()].flatMap((group) =>
    group
      .slice(1, MAX_ALIKE)
      .map((one, at) => ({ first: group[at]?.id ?? one.id, second: one.id, test: false })),
  );
}

function sharedFolders(a: string, b: string): number {
  let [shared, at] = [0, 0];
  for (; at < a.length && a[at] === b[at]; at++) if (a[at] === "/") shared += 1;
  return shared;
}

const PAIR = 6;
const IMPORT = 3;
/** An import of something that more files import does not relate them. */
const FEW_USERS = 8;

/** If one file imports more changed files, the rest is ignored: a hostile change must not relate everything to everything. */
const MAX_IMPORTED = 64;

/** The relations between changed files. Numbers are indexes into the list of files. */
interface Links {
  /** For each file, the related files and how closely they are related. */
  related: readonly ReadonlyMap<number, number>[];
  /** For each file, how many changed files other than tests import it. */
  users: readonly number[];
  /** For each test, the file it tests. */
  tested: ReadonlyMap<number, number>;
  /** The closest relations, in order of priority. */
  pairs: readonly (readonly [number, number])[];
}

/** Relates changed files by their names and imports. `headStart` may fail: the file then has no imports. */
export async function findLinks(
  files: readonly ChangedFile[],
  headStart: (path: string) => Promise<string>,
): Promise<Links> {
  const related = files.map(() => new Map<number, number>());
  const link = (a: number, b: number, weight: number) => {
    related[a]?.set(b, (related[a].get(b) ?? 0) + weight);
    related[b]?.set(a, (related[b].get(a) ?? 0) + weight);
  };
  const pairs = findPairs(files);
  for (const { first, second } of pairs) link(first, second, PAIR);

  const imported = await findImported(files, headStart);
  const importers = countImporters(imported);
  for (const [from, targets] of imported.entries())
    for (const to of targets) if ((importers[to] ?? 0) <= FEW_USERS) link(from, to, IMPORT);
  return {
    related,
    users: countImporters(
      imported.map((ids, at) => (kindOf(files[at]?.change.path ?? "") === "test" ? none : ids)),
    ),
    tested: new Map(pairs.filter(({ test }) => test).map(({ first, second }) => [second, first])),
    pairs: pairs.map(({ first, second }) => [first, second]),
  };
}

async function findImported(
  files: readonly ChangedFile[],
  headStart: (path: string) => Promise<string>,
): Promise<ReadonlySet<number>[]> {
  const ids = idsByPath(files);
  const modules = new Modules(ids.keys());
  const imported: ReadonlySet<number>[] = [];
  for (const [id, { change }] of files.entries()) {
    const readable = change.type !== "deleted" && hasImports(change.path);
    const start = readable ? await headStart(change.path).catch(() => "") : "";
    const imports = importsOf(change.path, start);
    const targets = [...modules.imported(change.path, imports)].map((path) => ids.get(path) ?? id);
    imported.push(new Set(targets.filter((one) => one !== id).slice(0, MAX_IMPORTED)));
  }
  return imported;
}

/** A file that imports a moved one may still name its old path, unless another file is there now. */
function idsByPath(files: readonly ChangedFile[]): Map<string, number> {
  const ids = new Map(files.map(({ change }, id) => [change.path, id]));
  for (const [id, { change }] of files.entries())
    if (change.oldPath !== null && !ids.has(change.oldPath)) ids.set(change.oldPath, id);
  return ids;
}

const none: ReadonlySet<number> = new Set();

function countImporters(imported: readonly ReadonlySet<number>[]): number[] {
  const counts: number[] = imported.map(() => 0);
  for (const targets of imported) for (const to of targets) counts[to] = (counts[to] ?? 0) + 1;
  return counts;
}

interface PlannedFile {
  id: number;
  file: ChangedFile;
  risk: number;
}

/** Files that stay together: a test and the code it tests, a header and its source. */
interface Bundle {
  files: PlannedFile[];
  bytes: number;
  risk: number;
  /** Its position in the tree: the path of its riskiest file. */
  path: string;
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

/**
 * Divides bundles into units of at most `unitBytes`; a larger bundle is a unit of its own. Each unit starts with the riskiest remaining
 * bundle, then takes the bundles most closely related to it, then those that share the most folders with the first, until no remaining
 * bundle fits. So no two units would fit into one.
 */
function packBundles(bundles: readonly Bundle[], unitBytes: number): Bundle[][] {
  const byPath = bundles.toSorted((a, b) => compare(a.path, b.path));
  const free = new Set(byPath);
  const units: Bundle[][] = [];
  for (const first of byPath.toSorted((a, b) => b.risk - a.risk))
    if (free.has(first)) units.push(growUnit(first, free, unitBytes));
  return units;
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** @param free the bundles that no unit has taken yet, by path; those of the unit are removed */
function growUnit(first: Bundle, free: Set<Bundle>, unitBytes: number): Bundle[] {
  const unit: Bundle[] = [];
  const weights = new Map<Bundle, number>();
  const shared = new Map([...free].map((one) => [one, sharedFolders(one.path, first.path)]));
  const sharedBy = (bundle: Bundle) => shared.get(bundle) ?? 0;
  const isCloser = ([one, weight]: [Bundle, number], [other, most]: [Bundle, number]) =>
    weight - most || sharedBy(one) - sharedBy(other) || compare(other.path, one.path);
  const others = [...free].toSorted((a, b) => sharedBy(b) - sharedBy(a));
  const fits = (one: Bundle) => free.has(one) && one.bytes <= room;
  // It never grows again, so what does not fit is passed for good.
  let room = unitBytes;
  let at = 0;
  const nextRelated = () => {
    let best: [Bundle, number] | undefined;
    for (const one of weights) {
      if (!fits(one[0])) weights.delete(one[0]);
      else if (!best || isCloser(one, best) > 0) best = one;
    }
    return best?.[0];
  };
  const nextOther = () => {
    while (at < others.length && !fits(others[at] as Bundle)) at += 1;
    return others[at];
  };
  for (let next: Bundle | undefined = first; next; next = nextRelated() ?? nextOther()) {
    unit.push(next);
    room -= next.bytes;
    free.delete(next);
    for (const [other, weight] of next.related)
      if (free.has(other)) weights.set(other, weight + (weights.get(other) ?? 0));
  }
  return unit;
}

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
  unitBytes: number;
  /** Maximum rendered bytes of diff in all units together; the rest is left. */
  totalBytes: number;
  /** The beginning of a changed file at head, which is searched for imports; it may fail. */
  headStart(path: string): Promise<string>;
  matches: ReadonlyMap<string, number>;
}

/** Tests stay with their code if both take at most this share of a unit: with parts this small, units become four fifths full. */
const BUNDLE_SHARE = 1 / 5;

/**
 * Divides a change into units of related files, riskiest first; the same files give the same plan, in any order. A file is left if it is
 * larger than what the riskier ones leave of `totalBytes`. A file that is larger than a unit is a unit of its own.
 */
export async function planUnits(options: PlanOptions): Promise<Plan> {
  const { unitBytes, totalBytes, matches } = options;
  const all = options.files
    .filter((file) => file.reviewable && file.totalHunks > 0)
    .toSorted((a, b) => (a.change.path < b.change.path ? -1 : 1));
  // What a list shows in one line needs no loop of its own.
  const listed = all.filter(({ reading }) => reading === "line");
  const files = listed.length === all.length ? all : all.filter(({ reading }) => reading !== "line");
  const links = await findLinks(files, options.headStart);
  const ranked = files
    .map((file, id) => {
      const circumstances = { matches: matches.get(file.change.path) ?? 0, users: links.users[id] ?? 0 };
      return { id, file, risk: fileRisk(file, circumstances) };
    })
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
  return { units: [{ ...first, files: [...first.files, ...listed] }, ...others], left };
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

function readingOrder(files: readonly PlannedFile[], { tested }: Links): ChangedFile[] {
  const ranked = files.toSorted((a, b) => b.risk - a.risk || a.id - b.id);
  const here = new Set(files.map(({ id }) => id));
  const tests = Map.groupBy(ranked, ({ id }) => tested.get(id));
  const leading = ranked.filter(({ id }) => !here.has(tested.get(id) ?? -1));
  return leading.flatMap((one) => [one, ...(tests.get(one.id) ?? [])]).map(({ file }) => file);
}
