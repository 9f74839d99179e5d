import { fullName, isProse, isRun } from "../../repo/code/code-file.ts";
import { parseSource } from "../../repo/code/parse.ts";
import { type Definition, definitionsAt } from "../../repo/code/source.ts";

const known = new WeakMap<readonly string[], Promise<readonly Definition[]>>();

/** The definitions of a file in line order; empty for prose, and for text that is too large or too dense to parse. */
export function definitionsIn(path: string, lines: readonly string[]): Promise<readonly Definition[]> {
  const found = known.get(lines) ?? define(path, lines);
  known.set(lines, found);
  return found;
}

async function define(path: string, lines: readonly string[]): Promise<readonly Definition[]> {
  if (isProse(path)) return [];
  const source = await parseSource(path, lines.join("\n"));
  return source?.definitions ?? [];
}

/** The definition around a line: the innermost one with code that runs, else the innermost of any kind but a module. */
export async function definitionOf(
  path: string,
  lines: readonly string[] | null,
  line: number,
): Promise<Definition | null> {
  if (lines === null) return null;
  const around = definitionsAt(await definitionsIn(path, lines), line);
  return around.findLast(isRun) ?? around.findLast(({ kind }) => kind !== "module") ?? null;
}

/** The qualified name of the definition around a line, "Cart.total"; null if there is none. */
export async function symbolAt(
  path: string,
  lines: readonly string[] | null,
  line: number,
): Promise<string | null> {
  const definition = await definitionOf(path, lines, line);
  return definition && fullName(definition);
}

/** The definition with a qualified name; of several, the one nearest to a line. */
export async function definitionNamed(
  path: string,
  lines: readonly string[] | null,
  symbol: string,
  near: number | null,
): Promise<Definition | null> {
  const all = lines === null ? [] : await definitionsIn(path, lines);
  const named = all.filter((one) => fullName(one) === symbol);
  const distance = ({ start, end }: Definition) =>
    near === null ? 0 : Math.max(0, start - near, near - end);
  return named.toSorted((a, b) => distance(a) - distance(b))[0] ?? null;
}
