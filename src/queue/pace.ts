/** GitHub's limits on what an App may write for one installation ("Rate limits for the REST API", secondary limits). */
export interface PaceLimits {
  /** Between the end of one write and the beginning of the next in a process, between their beginnings otherwise, in milliseconds. */
  gapMs: number;
  /** Requests that create content in any 60 seconds. */
  creationsAMinute: number;
  /** The same in any hour. */
  creationsAnHour: number;
}

export const githubLimits: PaceLimits = { gapMs: 1_000, creationsAMinute: 80, creationsAnHour: 500 };

/** For a server without rate limits. */
export const noLimits: PaceLimits = {
  gapMs: 0,
  creationsAMinute: Number.MAX_SAFE_INTEGER,
  creationsAnHour: Number.MAX_SAFE_INTEGER,
};

/** A moment at which a write may begin, in milliseconds since 1970. */
export interface Turn {
  at: number;
  /** Whether it was kept for whoever asked; one that lies beyond what they would wait for is not. */
  kept: boolean;
}

/**
 * What all processes together keep of the traffic of each installation, so that GitHub's limits hold however many of them
 * there are. Every method resolves only when its effect is on disk.
 */
export interface Pace {
  /**
   * The next moment at which a write may begin. It is kept for the caller where it is not later than `latest`; nobody else
   * gets one within the gap then, and what it creates counts.
   */
  reserve(installation: number, write: { creates: boolean; latest: number }): Promise<Turn>;
  /** A write ended, whatever came of it: the gap counts from now on. */
  ended(installation: number): Promise<void>;
  /** Nothing is sent before `until`: GitHub said so. An earlier moment than the one that is known changes nothing. */
  hold(installation: number, until: number): Promise<void>;
  /** Until when nothing may be sent; 0 where nothing is known. */
  heldUntil(installation: number): Promise<number>;
}
