/** A place where something is called: the line on which the callee's name stands, from 1. */
export interface CallSite {
  path: string;
  line: number;
}

/** Something that can be called, by the line on which its name stands. */
export interface Callable extends CallSite {
  name: string;
  /** The class, type or interface that it is a member of. */
  container: string | null;
}

/**
 * Who calls something. `certain` call it whatever happens. `possible` may: through an interface, a base class or an object whose
 * type nobody can tell from the text. To find these is no fault, and neither is to leave them out.
 */
export interface Truth {
  certain: ReadonlySet<string>;
  possible: ReadonlySet<string>;
}

/** Knows the callers of everything in a set of files, by means of its own. */
export interface Oracle {
  readonly callables: readonly Callable[];
  truthOf(callable: Callable): Truth;
}

/** Files by their paths. */
export type Files = ReadonlyMap<string, string>;

export const siteKey = ({ path, line }: CallSite): string => `${path}:${line}`;

/** Callers by what they call, while an oracle collects them. */
export class CallTable {
  readonly #certain = new Map<string, Set<string>>();
  readonly #possible = new Map<string, Set<string>>();

  certain(callee: string, site: CallSite): void {
    put(this.#certain, callee, siteKey(site));
  }

  possible(callee: string, site: CallSite): void {
    put(this.#possible, callee, siteKey(site));
  }

  truthOf(callee: string): Truth {
    return {
      certain: this.#certain.get(callee) ?? new Set(),
      possible: this.#possible.get(callee) ?? new Set(),
    };
  }
}

function put(map: Map<string, Set<string>>, key: string, value: string): void {
  const values = map.get(key) ?? new Set();
  map.set(key, values.add(value));
}
