import type { Notes } from "../../src/queue/notes.ts";
import { githubLimits, type Pace, type PaceLimits } from "../../src/queue/pace.ts";

/** The pacing that processes share, in memory: for tests in which many of them live in one. */
export function memoryPace(now: () => number, limits: PaceLimits = githubLimits): Pace {
  const free = new Map<number, number>();
  const held = new Map<number, number>();
  const creations = new Map<number, number[]>();
  const opens = (made: number[], most: number, spanMs: number) => {
    const nthLast = made.at(-most);
    return nthLast === undefined ? 0 : nthLast + spanMs;
  };
  const raise = (moments: Map<number, number>, installation: number, to: number) =>
    void moments.set(installation, Math.max(moments.get(installation) ?? 0, to));
  return {
    async reserve(installation, { creates, latest }) {
      const made = creations.get(installation) ?? [];
      let at = Math.max(now(), free.get(installation) ?? 0, held.get(installation) ?? 0);
      if (creates) {
        at = Math.max(at, opens(made, limits.creationsAMinute, 60_000));
        at = Math.max(at, opens(made, limits.creationsAnHour, 3_600_000));
      }
      if (at > latest) return { at, kept: false };
      raise(free, installation, at + limits.gapMs);
      if (creates) creations.set(installation, [...made, at].slice(-limits.creationsAnHour));
      return { at, kept: true };
    },
    ended: async (installation) => raise(free, installation, now() + limits.gapMs),
    hold: async (installation, until) => raise(held, installation, until),
    heldUntil: async (installation) => held.get(installation) ?? 0,
  };
}

export function memoryNotes(): Notes {
  const notes = new Map<string, string>();
  return {
    read: async (name) => notes.get(name) ?? null,
    write: async (name, text) => void notes.set(name, text),
    remove: async (name) => void notes.delete(name),
  };
}
