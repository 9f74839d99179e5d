import { isTestFile } from "../../analyzers/test-file.ts";
import type { Reference } from "../../code/source.ts";
import { closeness } from "./closeness.ts";
import { type CodeFile, isProse, type Place, parseFile } from "./code-file.ts";
import type { RepositoryFiles } from "./repository-files.ts";
import type { WordHits } from "./word-search.ts";

/** A name in code. */
export interface Mention {
  file: CodeFile;
  line: number;
  role: Reference["role"];
}

/** What parsing confirmed of where names stand. */
export interface Lookup {
  /** In the order of files that were worth most, then of lines. */
  definitions(name: string): readonly Place[];
  mentions(name: string): readonly Mention[];
  /** The file at a path, where it was looked at. */
  file(path: string): CodeFile | undefined;
}

/** Files parsed for one first message. */
const MAX_PARSED = 60;
/** Files parsed beside them, because somebody knows that they are of use. */
const MAX_KNOWN = 8;
/** Characters of these files together: a second's work. */
const MAX_CHARACTERS = 1_500_000;
/** A file of tests tells less. */
const TEST_WORTH = 0.4;
/** What stands in a changed file is looked at in any case. */
const CHANGED_WORTH = 1_000;

/**
 * Parses the files with hits, those first that promise most: rare names, near the change. Stops at the time limit.
 *
 * @param names each with what finding it is worth
 * @param known what reading further files is worth, by their paths
 */
export async function lookUp(
  names: ReadonlyMap<string, number>,
  changedPaths: readonly string[],
  hits: WordHits,
  files: RepositoryFiles,
  timeLeft: () => number,
  known: ReadonlyMap<string, number> = new Map(),
): Promise<Lookup> {
  const definitions = new Map<string, Place[]>();
  const mentions = new Map<string, Mention[]>();
  const wanted = new Set(names.keys());
  const seen = new Map<string, CodeFile>();
  let room = MAX_CHARACTERS;
  const byNames = inOrder(names, changedPaths, hits).slice(0, MAX_PARSED);
  for (const path of [...byNames, ...bestOf(known, byNames)]) {
    if (timeLeft() <= 0 || room <= 0) break;
    const text = await files.read(path, "head");
    room -= text?.lines.reduce((sum, line) => sum + line.length + 1, 0) ?? 0;
    const parsed = await parseFile(text);
    if (parsed === null) continue;
    const { code: file, source } = parsed;
    seen.set(path, file);
    for (const definition of file.definitions)
      if (wanted.has(definition.name)) put(definitions, definition.name, { file, definition });
    for (const { name, line, role } of source.references(wanted)) put(mentions, name, { file, line, role });
  }
  return {
    definitions: (name) => definitions.get(name) ?? [],
    mentions: (name) => mentions.get(name) ?? [],
    file: (path) => seen.get(path),
  };
}

/** Files beside those that the names lead to: they displace none of them. */
function bestOf(known: ReadonlyMap<string, number>, others: readonly string[]): string[] {
  const more = [...known].filter(([path]) => !others.includes(path) && !isTestFile(path));
  more.sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return more.slice(0, MAX_KNOWN).map(([path]) => path);
}

function put<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const values = map.get(key);
  if (values) values.push(value);
  else map.set(key, [value]);
}

function inOrder(
  names: ReadonlyMap<string, number>,
  changedPaths: readonly string[],
  hits: WordHits,
): string[] {
  const worth = new Map<string, number>(changedPaths.map((path) => [path, CHANGED_WORTH]));
  for (const [name, weight] of names) {
    const paths = new Set(hits.of(name).map(({ path }) => path));
    for (const path of paths)
      if (!isProse(path)) worth.set(path, (worth.get(path) ?? 0) + weight / paths.size);
  }
  const near = (path: string) => Math.max(...changedPaths.map((changed) => closeness(changed, path)));
  const all = [...worth].map(([path, value]) => {
    const place = isTestFile(path) ? TEST_WORTH : 1;
    return { path, worth: value * place * near(path) };
  });
  all.sort((a, b) => b.worth - a.worth || (a.path < b.path ? -1 : 1));
  return all.map(({ path }) => path);
}
