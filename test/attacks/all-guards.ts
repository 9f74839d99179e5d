import { globSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { basename, join } from "node:path";
import type { Change, Guard } from "./guard.ts";

/** Every guard that a file in `guards` lists, file by file. */
export async function allGuards(): Promise<Guard[]> {
  const files = globSync(join(import.meta.dirname, "guards/*.ts")).toSorted();
  const lists = files.map(async (file) => {
    const { guards }: { guards?: readonly Guard[] } = await import(`./guards/${basename(file, ".ts")}.ts`);
    if (!guards) throw new Error(`${file} exports no guards`);
    return guards;
  });
  return (await Promise.all(lists)).flat();
}

/** All that is changed to take a guard away. */
export const changesOf = (guard: Guard): readonly Change[] => [guard, ...(guard.also ?? [])];

/**
 * The source without what guards there.
 * @throws Error where what is to be replaced does not stand there exactly once, or what is left is no source
 */
export function without({ file, from, to }: Change, source: string): string {
  const shown = from.slice(0, 60);
  const count = source.split(from).length - 1;
  if (count !== 1) throw new Error(`${shown}: its text stands ${count} times in ${file}`);
  if (from === to) throw new Error(`${shown}: nothing is taken away`);
  const changed = source.replace(from, () => to);
  try {
    stripTypeScriptTypes(changed);
  } catch (error) {
    throw new Error(`${shown}: what is left of ${file} cannot be read`, { cause: error });
  }
  return changed;
}
