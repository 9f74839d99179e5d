import { setImmediate as nextTick } from "node:timers/promises";
/**
 * Rejects as soon as the signal fires. The work goes on, because others may wait for it too.
 * @param reason the error to reject with; the signal's own by default
 */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  reason: () => unknown = () => signal?.reason,
): Promise<T> {
  if (!signal) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(reason());
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return Promise.race([work, promise]).finally(() => signal.removeEventListener("abort", abort));
}

/** The result of `work`; if that takes longer, `otherwise`, which may reject, and the work goes on. */
export async function within<T, Late>(
  milliseconds: number,
  work: Promise<T>,
  otherwise: () => Late | Promise<Late>,
): Promise<T | Late> {
  const { promise, resolve } = Promise.withResolvers<Late>();
  const timer = setTimeout(() => resolve(otherwise()), milliseconds);
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}

/** The results for all items, in order, with a pause for other work after some hundred of them. */
export async function flatMapWithPauses<T, R>(
  items: readonly T[],
  read: (item: T) => readonly R[],
): Promise<R[]> {
  const found: R[] = [];
  for (const [at, item] of items.entries()) {
    if (at % 500 === 499) await nextTick();
    for (const one of read(item)) found.push(one);
  }
  return found;
}
