import { z } from "zod";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { LoopEntry, MasksEntry } from "../process/messages.ts";

/*
 * What may stand on a line of a record that stands by itself. Whoever hands such a file on may have changed it: what is read of an entry
 * is checked here, and what else a version wrote goes along. What a review began with and came to is checked where it is read.
 */

const ObjectName = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/, "is no full object name");
const kind = <Kind extends TrajectoryEntry["kind"]>(name: Kind) => ({ kind: z.literal(name) });
const Comment = z.looseObject({ finding: z.string(), id: z.int(), url: z.string() });

const JobEntry = z.discriminatedUnion("kind", [
  z.looseObject({
    ...kind("run"),
    what: z.enum(["answer", "fix"]).optional(),
    shas: z.looseObject({ head: ObjectName, base: ObjectName, mergeBase: ObjectName }),
    input: z.unknown(),
  }),
  z.looseObject({ ...kind("unit"), head: z.string(), loop: z.string() }),
  z.looseObject({ ...kind("told") }),
  z.looseObject({ ...kind("note"), page: z.string(), content: z.string(), answer: z.string() }),
  z.looseObject({
    ...kind("wrote"),
    ...{ request: z.string(), id: z.int().nullable(), url: z.string().nullable() },
  }),
  z.looseObject({ ...kind("posted"), comments: z.array(Comment) }),
  z.looseObject({ ...kind("ended"), outcome: z.string(), reason: z.string() }),
  z.looseObject({ ...kind("check_opened"), head: z.string(), trigger: z.string() }),
  z.looseObject({ ...kind("began"), head: z.string() }),
  z.looseObject({ ...kind("result"), head: z.string(), base: z.string(), result: z.unknown() }),
]);

const Entry = z.discriminatedUnion("kind", [LoopEntry, MasksEntry, JobEntry]);

/** What JavaScript can say as a date. */
const LATEST = 8.64e15;
const Stamp = z.looseObject({ at: z.int().min(0).max(LATEST), claim: z.int() });

/** @throws ZodError */
export function parseEntry(value: unknown): { at: number; claim: number; entry: TrajectoryEntry } {
  const { at, claim, ...entry } = Stamp.parse(value);
  return { at, claim, entry: Entry.parse(entry) as unknown as TrajectoryEntry };
}
