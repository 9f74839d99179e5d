export type Pair = readonly [key: string, value: string];

/** A package as a lock file has it. Which facts there are depends on the format; a missing one is no fault. */
export interface LockEntry {
  /** Unique in its file. */
  id: string;
  /** The package whose code is installed, whatever name it is used under. */
  name: string;
  version: string;
  /** What `places` are: a registry counts as a whole, of repositories and addresses only the host does if a package is new. */
  kind: "registry" | "repository" | "address" | "folder";
  /** Where its code may come from. */
  places: readonly string[];
  /** How address, name and version contradict each other; null if they do not. */
  fault: string | null;
  /** Hashes that are accepted, each after its artefact and algorithm, with a space between these two. */
  hashes: readonly Pair[];
  /** What is the same wherever this version is installed: its dependencies, or what the tool does with it. */
  fixed: readonly Pair[];
  /** The entries that it may need, by id or by a key of `named`; null if the format does not say. */
  needs: readonly string[] | null;
  /** Whether the project itself asks for it, or it is the project. */
  isRoot: boolean;
  /** The commit of a repository. */
  commit: string | null;
  /** One or two whole lines, trimmed, with which it begins. */
  line: string;
}

/** What decides of the meaning of a lock file besides its text. */
export interface Surroundings {
  folder: string;
  /** The text of `package.json` in the same folder; empty if there is none. */
  manifest: string;
}

/** A lock file that was read whole. */
export interface Lock {
  entries: LockEntry[];
  /** The ids that a need may mean, if needs are no ids. */
  named?: ReadonlyMap<string, ReadonlySet<string>>;
  /** What identifies the content of the manifest, if entries say what they need and not whether the project asks for them. */
  manifest?: string | undefined;
  /** Whether other files may add needs, such as Yarn's package extensions. */
  isOpen?: true;
  /** What else `fixed` depends on: it is only compared between files in which this is equal. */
  settings?: string | undefined;
}

/** The registry that a tool asks unless something else is configured. Tools name it in several ways, or not at all. */
export const DEFAULT = "the default registry";
/** The place of packages whose code is part of the repository, and reviewed like the rest of it. */
export const HERE = "this repository";

const usual: Omit<LockEntry, "id" | "name" | "version" | "line"> = {
  ...{ kind: "registry", places: [DEFAULT], fault: null, hashes: [], fixed: [] },
  ...{ needs: null, isRoot: false, commit: null },
};

/** An entry with the usual value for each fact that its format leaves out. */
export const entryOf = (
  entry: Pick<LockEntry, "id" | "name" | "version" | "line"> & Partial<LockEntry>,
): LockEntry => ({ ...usual, ...entry });

/** The values of each key. */
export function groupOf<T>(pairs: Iterable<readonly [key: string, value: T]>): Map<string, Set<T>> {
  const groups = new Map<string, Set<T>>();
  for (const [key, value] of pairs) groups.set(key, (groups.get(key) ?? new Set()).add(value));
  return groups;
}
