import { describe, expect, it } from "vitest";
import { sharedPostgres } from "../support/postgres.ts";
import { seeded } from "../support/seeded.ts";
import { patient } from "./conformance-fixture.ts";
import { type KillableApp, type Moment, startKillableApp } from "./kills.ts";

/** Every step and 200 random moments take hours; `npm test` takes eight moments, the same in each run. */
const long = process.env.HUNKWISE_LONG === "1";

/** A job fails for good after five attempts whose worker died, so it survives this many deaths. */
const mostDeaths = 4;

const groups = <T>(all: readonly T[], size: number) =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, n) => all.slice(n * size, (n + 1) * size));

async function killAll(app: KillableApp, plans: readonly (readonly Moment[])[], undisturbed: number) {
  let kills = 0;
  for (const moments of plans) {
    const killed = await app.review(moments);
    kills += killed.kills;
    // Only requests in flight at a kill are repeated.
    expect(killed.modelRequests - undisturbed).toBeLessThanOrEqual(killed.kills);
  }
  return kills;
}

const databases = {
  SQLite: { kills: 4, environment: async () => ({}) },
  Postgres: {
    kills: 4,
    environment: async () => ({ DATABASE_URL: await (await sharedPostgres()).createDatabase() }),
  },
};

describe.each(Object.entries(databases).slice(0, long ? 2 : 1))(
  "a server on %s that is killed while it reviews",
  (_, { kills, environment }) => {
    const timeout = long ? 7_200_000 : 2 * patient.timeout;

    it("A killed server leaves one review, each comment once, no turn paid twice, and nothing behind", {
      timeout,
    }, async () => {
      await using app = await startKillableApp(await environment());
      const { steps, modelRequests } = await app.review([]);
      expect(modelRequests).toBeGreaterThanOrEqual(30);
      const random = seeded(6);
      const count = long ? 200 : kills;
      // One kill in each part of the time, in an order that gives every review early and late ones.
      const moments = Array.from({ length: count }, (_, n) => ({
        steps: Math.floor(((((n * 3) % count) + random()) / count) * steps * 0.4),
        thenMs: Math.floor(random() * 60),
      }));
      expect(await killAll(app, groups(moments, mostDeaths), modelRequests)).toBe(moments.length);
    });

    it.runIf(long)("A server that is killed at each step of all leaves one review", { timeout }, async () => {
      await using app = await startKillableApp(await environment());
      const { steps, modelRequests } = await app.review([]);
      const plans = Array.from({ length: steps }, (_, n) => [{ steps: n + 1, thenMs: 0 }]);
      expect(await killAll(app, plans, modelRequests)).toBe(steps);
    });
  },
);
