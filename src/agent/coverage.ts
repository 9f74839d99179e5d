import type { CoverageSink } from "../tools/tool.ts";

export interface CoverageCounts {
  /** `-U3` hunks of all files given. */
  total: number;
  served: number;
  /** Files with hunks that were never served, in the order given, each with how many. */
  unserved: { path: string; hunks: number }[];
}

export interface Coverage extends CoverageSink {
  counts(): CoverageCounts;
}

/**
 * Notes which hunks the model has seen. Serving a hunk twice counts once; paths and hunk numbers that were not given are
 * ignored, so that only what can be reviewed counts.
 */
export function createCoverage(files: readonly { path: string; hunks: number }[]): Coverage {
  const unserved = new Map(
    files.map(({ path, hunks }) => [path, new Set(Array.from({ length: hunks }, (_, index) => index + 1))]),
  );
  const total = files.reduce((sum, { hunks }) => sum + hunks, 0);
  return {
    serve(path, hunk) {
      unserved.get(path)?.delete(hunk);
    },
    counts() {
      const left = [...unserved].filter(([, hunks]) => hunks.size > 0);
      const open = left.map(([path, hunks]) => ({ path, hunks: hunks.size }));
      return { total, served: total - open.reduce((sum, { hunks }) => sum + hunks, 0), unserved: open };
    },
  };
}
