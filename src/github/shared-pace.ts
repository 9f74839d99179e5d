/** What a call means for GitHub's limits. */
export interface Traffic {
  kind: "read" | "write";
  /** Whether it makes content, of which GitHub allows so much a minute and an hour. */
  creates: boolean;
  /** GraphQL has a budget of its own. */
  graphql: boolean;
}

/** What all processes together keep of the traffic of one installation. Moments are milliseconds since the epoch. */
export interface SharedPace {
  /** The next moment at which a write may begin; it is the caller's own where it is not later than `latest`. */
  reserve(write: { creates: boolean; latest: number }): Promise<{ at: number; kept: boolean }>;
  /** A write ended: the gap counts from now on. */
  ended(): Promise<void>;
  /** Nothing is sent before `until`. */
  hold(until: number): Promise<void>;
  heldUntil(): Promise<number>;
  /** How often in a row GitHub refused such a call without saying when to come back. */
  refusals(kind: Traffic["kind"]): Promise<number>;
  setRefusals(kind: Traffic["kind"], count: number): Promise<void>;
}

/** For a process that is alone: nothing outlives it. */
export function unshared(): SharedPace {
  const refused = { read: 0, write: 0 };
  return {
    reserve: async () => ({ at: Number.NEGATIVE_INFINITY, kept: true }),
    ended: async () => {},
    hold: async () => {},
    heldUntil: async () => 0,
    refusals: async (kind) => refused[kind],
    async setRefusals(kind, count) {
      refused[kind] = count;
    },
  };
}
