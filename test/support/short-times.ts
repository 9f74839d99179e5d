import type { Env } from "../../src/config/env.ts";

/** A variable with which a whole process does not space its writes or look for missed events, unless a test wants other times. */
export const shortTimes = (times: Partial<Env["times"]> = {}) => {
  const all = Object.entries({ writeGapMs: 0, reconcileEveryMs: 0, ...times });
  return { HUNKWISE_TEST_TIMES: all.map(([name, ms]) => `${name}=${ms}`).join("&") };
};
