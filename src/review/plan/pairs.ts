import type { ChangedFile } from "../../tools/tool.ts";
import { isTestPath, kindOf, stemOf } from "./file-kind.ts";
import { nearestOf } from "./path-index.ts";

/** Of more files with one name only the first are looked at. */
const MAX_ALIKE = 64;

/** Two files that are read together; `test` says that the second is a test of the first. */
export interface Pair {
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
 * Files whose names say that they belong together: a test and what it tests, a header and its source, a template and its style,
 * a file that went and one of its name that came. Numbers are places in `files`.
 */
export function findPairs(files: readonly ChangedFile[]): Pair[] {
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

/** The name of what a test tests, in lower case: `login` for `login.test.ts`, `test_login.py`, `LoginTest.java`. */
function testedName(path: string): string {
  return stemOf(path).replace(testMarks, "").replace(upperMarks, "").toLowerCase();
}

/** Where the code would lie whose test lies at `path`: `src/main/a` for `src/test/a`, `src/a` or `a` for `test/a`. */
function withoutTestFolders(path: string, subjects: readonly Named[]): string {
  const folders = path.split("/");
  const candidates = ["main", "src", "lib", null].map((instead) =>
    folders.flatMap((one) => (/^(?:__tests__|tests?|specs?)$/.test(one) ? (instead ?? []) : one)).join("/"),
  );
  const parents = new Set(subjects.map((one) => folderOf(one.path)));
  return candidates.find((one) => parents.has(folderOf(one))) ?? path;
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);

/** Files of one folder that differ in their extension alone, each with the one before. */
function twins(named: readonly Named[]): Pair[] {
  const groups = groupBy(named, ({ path }) => folderOf(path) + stemOf(path));
  return [...groups.values()].flatMap((group) =>
    group.slice(1).map((one, at) => ({ first: group[at]?.id ?? one.id, second: one.id, test: false })),
  );
}

/** A file that was deleted and the nearest of its name that was added: moved, and changed too much for git to see it. */
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
