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
export const compare = ({ ours, reference, ...rounds }: ComparisonOptions): Promise<Comparison> =>
  takeTurns({ ours, reference }, rounds);

/** Measures A B C A B C ...; resolves to the median of each. */
export async function takeTurns<Name extends string>(
  measured: Readonly<Record<Name, (round: number) => Promise<number>>>,
  { repetitions, warmUps = 1 }: Pick<ComparisonOptions, "repetitions" | "warmUps">,
): Promise<Record<Name, number>> {
  const turns = Object.entries(measured) as [Name, (round: number) => Promise<number>][];
  const times = new Map(turns.map(([name]) => [name, [] as number[]]));
  for (let round = 0; round < warmUps + repetitions; round++) {
    for (const [name, measure] of turns) {
      const time = await fromRest(() => measure(round));
      if (round >= warmUps) times.get(name)?.push(time);
    }
  }
  return Object.fromEntries([...times].map(([name, all]) => [name, median(all)])) as Record<Name, number>;
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
