import { folderOf, hasImports, importsOf, Modules } from "../../code/imports.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import { isTestPath, kindOf, stemOf } from "./file-kind.ts";

/** Maximum files with the same name that are compared. */
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
  file: ChangedFile;
}

/**
 * Pairs of files with related names: a test and the code it tests, a header and its source, a template and its style, a deleted file and an
 * added one with the same name. Numbers are indexes into `files`.
 */
function findPairs(files: readonly ChangedFile[]): Pair[] {
  const named = files.map((file, id) => ({ id, path: file.change.path, file }));
  const byName = groupBy(named.filter(isSubject), ({ path }) => stemOf(path).toLowerCase());
  const tests = named.filter(({ path }) => isTest(path)).flatMap((one) => testPair(one, byName));
  return [...tests, ...twins(named), ...moved(named)];
}

const isTest = (path: string) => kindOf(path) === "test" && isTestPath(path);
const isSubject = ({ path }: Named) => kindOf(path) === "code";

function testPair(test: Named, byName: ReadonlyMap<string, readonly Named[]>): Pair[] {
  const subjects = byName.get(testedName(test.path)) ?? [];
  const subject = nearestOf(subjects, withoutTestFolders(test.path, subjects));
  return subject ? [{ first: subject.id, second: test.id, test: true }] : [];
}

const testMarks = /^test[_-]|[._-](?:test|tests|spec|cy|e2e)$/g;
const upperMarks = /^Test(?=[A-Z])|(?<=[a-z\d])(?:Tests?|TestCase|IT)$/g;

/** The name of the code that a test tests, in lower case: `login` for `login.test.ts`, `test_login.py`, `LoginTest.java`. */
function testedName(path: string): string {
  return stemOf(path).replace(testMarks, "").replace(upperMarks, "").toLowerCase();
}

/** The likely path of the code that the test at `path` tests: `src/main/a` for `src/test/a`, `src/a` or `a` for `test/a`. */
function withoutTestFolders(path: string, subjects: readonly Named[]): string {
  const folders = path.split("/");
  const candidates = ["main", "src", "lib", null].map((instead) =>
    folders.flatMap((one) => (/^(?:__tests__|tests?|specs?)$/.test(one) ? (instead ?? []) : one)).join("/"),
  );
  const parents = new Set(subjects.map((one) => folderOf(one.path)));
  return candidates.find((one) => parents.has(folderOf(one))) ?? path;
}

/** Files of one folder that differ only in their extension, each with the previous one. */
function twins(named: readonly Named[]): Pair[] {
  const groups = groupBy(named, ({ path }) => `${folderOf(path)}/${stemOf(path)}`);
  return [...groups.values()].flatMap((group) =>
    group.slice(1).map((one, at) => ({ first: group[at]?.id ?? one.id, second: one.id, test: false })),
  );
}

/** A deleted file and the nearest added file with its name: moved, but changed too much for git to detect it. */
function moved(named: readonly Named[]): Pair[] {
  const nameOf = ({ path }: Named) => path.slice(path.lastIndexOf("/") + 1);
  const added = groupBy(
    named.filter(({ file }) => file.change.type === "added"),
    nameOf,
  );
  return named.flatMap((one) => {
    if (one.file.change.type !== "deleted") return [];
    const to = nearestOf(added.get(nameOf(one)) ?? [], one.path);
    return to ? [{ first: one.id, second: to.id, test: false }] : [];
  });
}

function groupBy(named: readonly Named[], keyOf: (one: Named) => string): Map<string, Named[]> {
  const groups = new Map<string, Named[]>();
  for (const one of named) {
    const group = groups.get(keyOf(one)) ?? [];
    if (group.length < MAX_ALIKE) group.push(one);
    groups.set(keyOf(one), group);
  }
  return groups;
}

/** The number of leading folders that two paths share. */
export function sharedFolders(a: string, b: string): number {
  let [shared, at] = [0, 0];
  for (; at < a.length && a[at] === b[at]; at++) if (a[at] === "/") shared += 1;
  return shared;
}

/** The item that shares the most folders with `path`; of several, the first. */
function nearestOf<Item extends { path: string }>(items: readonly Item[], path: string): Item | undefined {
  let nearest: Item | undefined;
  let most = -1;
  for (const item of items) {
    const shared = sharedFolders(item.path, path);
    if (shared > most) [nearest, most] = [item, shared];
  }
  return nearest;
}

/** The part of a file that is searched for imports, in UTF-16 units: they are at its beginning. */
export const IMPORT_CHARACTERS = 8_192;

/** Weights of a pair, of an import, and of an import of something that many files import. */
const PAIR = 6;
const IMPORT = 3;
const COMMON_IMPORT = 0.5;
/** An import of something that more files import does not relate them. */
const FEW_USERS = 8;

/** If one file imports more changed files, the rest is ignored: a hostile change must not relate everything to everything. */
const MAX_IMPORTED = 64;

/** The relations between changed files. Numbers are indexes into the list of files. */
export interface Links {
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
  const importers = countImporters(
    imported,
    files.map(() => true),
  );
  for (const [from, targets] of imported.entries())
    for (const to of targets) link(from, to, (importers[to] ?? 0) > FEW_USERS ? COMMON_IMPORT : IMPORT);
  return {
    related,
    users: countImporters(
      imported,
      files.map(({ change }) => kindOf(change.path) !== "test"),
    ),
    tested: new Map(pairs.filter(({ test }) => test).map(({ first, second }) => [second, first])),
    pairs: pairs.map(({ first, second }) => [first, second]),
  };
}

/** For each file, the changed files that it imports. */
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
    const imports = importsOf(change.path, start.slice(0, IMPORT_CHARACTERS));
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

function countImporters(imported: readonly ReadonlySet<number>[], counts: readonly boolean[]): number[] {
  const users: number[] = imported.map(() => 0);
  for (const [from, targets] of imported.entries()) {
    if (!counts[from]) continue;
    for (const to of targets) users[to] = (users[to] ?? 0) + 1;
  }
  return users;
}
