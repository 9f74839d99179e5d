import type { CoverageSink } from "../tools/tool.ts";

export interface CoverageCounts {
  /** `-U3` hunks of all files given. */
  total: number;
  served: number;
  /** Files with hunks that were never served, in the order given, each with how many. */
  unserved: { path: string; hunks: number }[];
}

/**
 * Notes which hunks the model has seen. What is put into a conversation counts once the model has answered to it: an answer
 * to a call of the last turn, or of the turn that ends the review, was read by nobody.
 */
export interface Coverage extends CoverageSink {
  /** The model has answered: all that was shown until its turn was in front of it. */
  delivered(): void;
  counts(): CoverageCounts;
  /** Numbers of the file's hunks that were not shown yet, delivered or not; ascending. */
  unshown(path: string): number[];
}

/**
 * Counts the hunks of these files. Serving a hunk twice counts once; paths and hunk numbers that were not given are
 * ignored, so that only what can be reviewed counts.
 *
 * @param whole counts as delivered what is delivered here: several loops read parts of one change
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
