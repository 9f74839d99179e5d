/** Every measurement alternates between ours and a reference, so that other load on the machine affects both. */

export interface Comparison {
  /** Medians in milliseconds. */
  ours: number;
  reference: number;
}

export interface ComparisonOptions {
  repetitions: number;
  /** Warm-up rounds: they fill the disk caches and warm up the compiler. Default 1. */
  warmUps?: number;
  /** One measured round each; both return their duration in milliseconds, without setup and cleanup. */
  ours: (round: number) => Promise<number>;
  reference: (round: number) => Promise<number>;
}

/** Measures A B A B ... and compares the medians. */
export async function compare(options: ComparisonOptions): Promise<Comparison> {
  const { repetitions, warmUps = 1 } = options;
  const ours: number[] = [];
  const reference: number[] = [];
  for (let round = 0; round < warmUps + repetitions; round++) {
    const times = [await fromRest(() => options.ours(round)), await fromRest(() => options.reference(round))];
    if (round < warmUps) continue;
    ours.push(times[0] ?? 0);
    reference.push(times[1] ?? 0);
  }
  return { ours: median(ours), reference: median(reference) };
}

/** Collects the garbage of the previous round first, so that this one does not pay for it. */
async function fromRest(round: () => Promise<number>): Promise<number> {
  globalThis.gc?.();
  return await round();
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}
