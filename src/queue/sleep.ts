/** Resolves after `ms`, or as soon as the signal fires. */
export async function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const wakeUp = () => resolve();
  signal.addEventListener("abort", wakeUp);
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", wakeUp);
}
