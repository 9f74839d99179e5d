import { z } from "zod";
import type { Database, Run } from "./database.ts";
import type { Pace, PaceLimits, Turn } from "./pace.ts";

export interface SqlPaceOptions {
  database: Database;
  limits: PaceLimits;
  /** Milliseconds since 1970. */
  now: () => number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const PaceRow = z.object({ free_at: z.int(), held_until: z.int() });
const CreationRow = z.object({ at: z.int() });

const statements = {
  read: "SELECT free_at, held_until FROM pace WHERE installation = :installation",
  // Reservations are made in the order of their moments: no later one is before an earlier one.
  nthLastCreation: `SELECT at FROM creation WHERE installation = :installation
    ORDER BY at DESC LIMIT 1 OFFSET CAST(:before AS BIGINT)`,
  addCreation: "INSERT INTO creation (installation, at) VALUES (:installation, :at)",
  dropCreations: "DELETE FROM creation WHERE installation = :installation AND at <= :before",
  free: `INSERT INTO pace (installation, free_at, held_until) VALUES (:installation, :at, 0)
    ON CONFLICT (installation) DO UPDATE
      SET free_at = CASE WHEN excluded.free_at > pace.free_at THEN excluded.free_at ELSE pace.free_at END`,
  hold: `INSERT INTO pace (installation, free_at, held_until) VALUES (:installation, 0, :until)
    ON CONFLICT (installation) DO UPDATE
      SET held_until = CASE WHEN excluded.held_until > pace.held_until THEN excluded.held_until ELSE pace.held_until END`,
} as const;

/** The pacing that all processes on one database share. */
export function createPace({ database, limits, now }: SqlPaceOptions): Pace {
  const { gapMs, creationsAMinute, creationsAnHour } = limits;

  async function read(run: Run, installation: number) {
    const { rows } = await run(statements.read, { installation });
    return PaceRow.optional().parse(rows[0]) ?? { free_at: 0, held_until: 0 };
  }

  /** When one more creation makes no more than `limit` in any window. */
  async function windowOpens(run: Run, installation: number, limit: number, windowMs: number) {
    const { rows } = await run(statements.nthLastCreation, { installation, before: limit - 1 });
    const row = CreationRow.optional().parse(rows[0]);
    return row ? row.at + windowMs : 0;
  }

  return {
    reserve: (installation, { creates, latest }) =>
      database.transaction(async (run): Promise<Turn> => {
        const present = now();
        const { free_at: freeAt, held_until: heldUntil } = await read(run, installation);
        let at = Math.max(present, freeAt, heldUntil);
        if (creates) {
          const minute = await windowOpens(run, installation, creationsAMinute, minuteMs);
          at = Math.max(at, minute, await windowOpens(run, installation, creationsAnHour, hourMs));
        }
        if (at > latest) return { at, kept: false };
        await run(statements.free, { installation, at: at + gapMs });
        if (creates) {
          await run(statements.dropCreations, { installation, before: present - hourMs });
          await run(statements.addCreation, { installation, at });
        }
        return { at, kept: true };
      }),

    async ended(installation) {
      await database.run(statements.free, { installation, at: now() + gapMs });
    },

    async hold(installation, until) {
      await database.run(statements.hold, { installation, until });
    },

    async heldUntil(installation) {
      return (await read(database.run, installation)).held_until;
    },
  };
}
