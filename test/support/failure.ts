/** What a promise rejects with, as far as callers branch on it. */
export async function failure(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Error)) throw new Error("it did not reject");
  return error as Error & { code: string; retryable: boolean; retryAfterMs?: number; remedy?: string };
}
