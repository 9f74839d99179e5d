import type { CoverageSink } from "../../repo/diff-pages.ts";

/** Records which hunks the model has seen: those shown before its last answer, since tool results of the last turn were never read. */
export interface Coverage extends CoverageSink {
  /** Call when the model has answered: everything shown so far counts as seen. */
  delivered(): void;
  /** Of the `-U3` hunks of all files given; `unserved`: files with hunks that were never served, in the order given, each with how many. */
  counts(): { total: number; served: number; unserved: { path: string; hunks: number }[] };
  /** Numbers of the file's hunks that were not shown yet, ascending. */
  unshown(path: string): number[];
}

/**
 * Unknown paths and hunk numbers are ignored.
 * @param whole the coverage of the whole change, which is updated as well
 */
export function createCoverage(
  files: readonly { path: string; hunks: number }[],
  whole: Coverage | null = null,
): Coverage {
  const unserved = new Map(
    files.map(({ path, hunks }) => [path, new Set(Array.from({ length: hunks }, (_, index) => index + 1))]),
  );
  const total = files.reduce((sum, { hunks }) => sum + hunks, 0);
  let shown = new Map<string, Set<number>>();
  return {
    serve(path, hunk) {
      const hunks = shown.get(path) ?? new Set();
      shown.set(path, hunks.add(hunk));
    },
    delivered() {
      for (const [path, hunks] of shown) {
        for (const hunk of hunks) {
          unserved.get(path)?.delete(hunk);
          whole?.serve(path, hunk);
        }
      }
      shown = new Map();
      whole?.delivered();
    },
    unshown: (path) => [...(unserved.get(path) ?? [])].filter((hunk) => !shown.get(path)?.has(hunk)),
    counts() {
      const left = [...unserved].filter(([, hunks]) => hunks.size > 0);
      const open = left.map(([path, hunks]) => ({ path, hunks: hunks.size }));
      return { total, served: total - open.reduce((sum, { hunks }) => sum + hunks, 0), unserved: open };
    },
  };
}
