/** How everything here is measured: ours and a reference by turns, so that whatever else the machine does hits both. */

export interface Comparison {
  /** Medians in milliseconds. */
  ours: number;
  reference: number;
}

export interface ComparisonOptions {
  repetitions: number;
  /** Rounds that do not count: they fill the caches of the disk and warm the compiler up. Default 1. */
  warmUps?: number;
  /** One measured round each; both return what they took in milliseconds, without preparation and cleaning up. */
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

/** Garbage of the round before is not this one's to collect. */
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
