/** Names of configuration files, apart from what reads them: most reviews only look whether a change touches one. */

/** Tried in this order; the first one that exists counts alone. */
export const rootPaths = [".github/hunkwise.yml", ".github/hunkwise.yaml"] as const;

/** The names of the file of a folder; the first one that a folder has counts. */
export const nestedNames = [".hunkwise.yml", ".hunkwise.yaml"] as const;

/** Whether a path is one of a file of a folder by its name. */
export function isNestedName(path: string): boolean {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return nestedNames.some((one) => one === name);
}
