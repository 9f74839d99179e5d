import { type Callable, CallTable, type Files, type Oracle } from "./truth.ts";

/**
 * Knows the callers in Python files by their comments: `= def KEY` on the line of a definition, `= calls KEY, KEY` on one that calls
 * them for certain, and `= may KEY` on one that may call them. Throws if a comment names no definition.
 */
export function createMarkedOracle(files: Files): Oracle {
  const callables = new Map<string, Callable>();
  const table = new CallTable();
  const called = new Set<string>();
  for (const [path, text] of files)
    for (const [at, line] of text.split("\n").entries()) {
      const site = { path, line: at + 1 };
      for (const [, does, keys = ""] of line.matchAll(/= (def|calls|may) (\w+(?:, \w+)*)/g))
        for (const key of keys.split(", ")) {
          const name = /\b(?:def|class) (\w+)/.exec(line)?.[1] ?? key;
          if (does === "def") callables.set(key, { ...site, name, container: null });
          else called.add(key);
          if (does === "calls") table.certain(key, site);
          if (does === "may") table.possible(key, site);
        }
    }
  const unknown = [...called].filter((key) => !callables.has(key));
  if (unknown.length > 0) throw new Error(`no definition is marked ${unknown.join(", ")}`);
  const keys = new Map([...callables].map(([key, callable]) => [callable, key]));
  return {
    callables: [...callables.values()],
    truthOf: (callable) => table.truthOf(keys.get(callable) ?? ""),
  };
}
