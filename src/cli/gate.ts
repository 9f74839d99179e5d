/** Lets so many pieces of work run at once; the others wait, in the order in which they came. */
export type Gate = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function createGate(most: number): Gate {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < most) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      // Whoever waited takes this place.
      if (next) next();
      else running -= 1;
    }
  };
}
