import type { ChangedFile } from "../../tools/tool.ts";
import { kindOf } from "./file-kind.ts";
import { familyOf, type Import, importsOf } from "./import-lines.ts";
import { findPairs } from "./pairs.ts";
import { type IndexedPath, PathIndex } from "./path-index.ts";

/** Imports stand at the beginning of a file; as much of it is looked at, in UTF-16 units. */
export const IMPORT_CHARACTERS = 8_192;

/** What a pair is bound by, what an import binds, and what one of something that many import does. */
const PAIR = 6;
const IMPORT = 3;
const COMMON_IMPORT = 0.5;
/** What more files import binds none of them to another. */
const FEW_USERS = 8;

/** One file's imports of more changed files are not followed: a hostile change must not relate everything to everything. */
const MAX_IMPORTED = 64;

/** How changed files are related. Numbers are places in the list of files. */
export interface Links {
  /** For each file, those that are related to it and how closely. */
  related: readonly ReadonlyMap<number, number>[];
  /** For each file, how many changed files that are no tests import it. */
  users: readonly number[];
  /** For each test, what it tests. */
  tested: ReadonlyMap<number, number>;
  /** The closest relations, in the order in which they should be honoured. */
  pairs: readonly (readonly [number, number])[];
}

/** Relates changed files by their names and by what they import. `headStart` may fail: then a file imports nothing. */
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
  const index = new PathIndex(pathsOf(files));
  const imported: ReadonlySet<number>[] = [];
  for (const [id, { change }] of files.entries()) {
    const readable = change.type !== "deleted" && familyOf(change.path) !== null;
    const start = readable ? await headStart(change.path).catch(() => "") : "";
    const imports = importsOf(change.path, start.slice(0, IMPORT_CHARACTERS));
    imported.push(resolve(imports, { id, path: change.path }, index));
  }
  return imported;
}

/** Who was not told yet imports a moved file where it was, unless another has taken its place. */
function pathsOf(files: readonly ChangedFile[]): IndexedPath[] {
  const now = files.map(({ change }, id) => ({ id, path: change.path }));
  const before = files.flatMap(({ change }, id) =>
    change.oldPath === null ? [] : [{ id, path: change.oldPath }],
  );
  return [...now, ...before];
}

function resolve(imports: readonly Import[], from: IndexedPath, index: PathIndex): Set<number> {
  const found = new Set<number>();
  for (const targets of imports) {
    const first = targets.map((target) => index.find(target, from)).find((ids) => ids.length > 0);
    for (const id of first ?? []) if (found.size < MAX_IMPORTED) found.add(id);
  }
  return found;
}

function countImporters(imported: readonly ReadonlySet<number>[], counts: readonly boolean[]): number[] {
  const users: number[] = imported.map(() => 0);
  for (const [from, targets] of imported.entries()) {
    if (!counts[from]) continue;
    for (const to of targets) users[to] = (users[to] ?? 0) + 1;
  }
  return users;
}
