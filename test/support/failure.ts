/** The parts of a rejection that callers branch on. */
export async function failure(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error("it did not reject");
  return error as Error & { code: string; retryable: boolean; retryAfterMs?: number; remedy?: string };
}
