/** What is measured of a review: fetching and checking out, reading and finding, publishing. */
export type Phase = "fetch" | "review" | "publish";

export interface PhaseWatch {
  /** Milliseconds since 1970. */
  now(): number;
  /** Told how long a phase took that went well. */
  onPhase?: ((phase: Phase, milliseconds: number) => void) | undefined;
}

/** Does the work of a phase and tells how long it took. What fails is not told: how long a failure took says nothing. */
export async function timed<T>(
  phase: Phase,
  { now, onPhase }: PhaseWatch,
  work: () => Promise<T>,
): Promise<T> {
  const since = now();
  const result = await work();
  onPhase?.(phase, now() - since);
  return result;
}
