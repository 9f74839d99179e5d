import type { Clock } from "../github/clock.ts";
import { createPacing, type Pacing } from "../github/pacing.ts";
import type { SharedPace } from "../github/shared-pace.ts";
import type { Notes } from "../queue/notes.ts";
import type { Pace } from "../queue/pace.ts";

export interface PacingsOptions {
  /** What is shared with the other processes. Default: this one is alone. */
  stores?: { pace: Pace; notes: Notes };
  /** Between two writes for one installation, in milliseconds; what `stores.pace` keeps to as well. Default 1 s. */
  gapMs?: number;
  /** Told of what could not be shared. */
  warn?: (message: string, error: unknown) => void;
  /** Default: the machine's. */
  clock?: Clock;
}

/** The pacing of each installation. */
export type Pacings = (installation: number) => Pacing;

/** To be made once a process: one pacing an installation, which is made when it is first asked for. */
export function createPacings({ stores, gapMs, warn, clock }: PacingsOptions = {}): Pacings {
  const pacings = new Map<number, Pacing>();
  return (installation) => {
    const known = pacings.get(installation);
    if (known) return known;
    const shared = stores && sharedPace(stores.pace, stores.notes, installation);
    const made = createPacing(clock, { shared, gapMs, warn });
    pacings.set(installation, made);
    return made;
  };
}

/** The notes that are kept of an installation's traffic, by name. */
export const trafficNotes = (installation: number) => ({
  read: `refused-reads/${installation}`,
  write: `refused-writes/${installation}`,
});

/** The part of the database that concerns the traffic of one installation. */
function sharedPace(pace: Pace, notes: Notes, installation: number): SharedPace {
  const refusals = trafficNotes(installation);
  return {
    reserve: (write) => pace.reserve(installation, write),
    ended: () => pace.ended(installation),
    hold: (until) => pace.hold(installation, until),
    heldUntil: () => pace.heldUntil(installation),
    refusals: async (kind) => Number((await notes.read(refusals[kind])) ?? 0),
    setRefusals: (kind, count) =>
      count === 0 ? notes.remove(refusals[kind]) : notes.write(refusals[kind], String(count)),
  };
}
