import type { TrajectoryEntry } from "../agent/trajectory.ts";
import type { JobState, Task } from "./job.ts";

/** A job about a pull request, as it stands in the queue. Times are milliseconds since 1970. */
export interface StoredRun {
  /** Grows from run to run. */
  seq: number;
  id: string;
  task: Task;
  state: JobState;
  /** Null until it has ended. */
  outcome: string | null;
  /** Why it ended so, or waits once more. */
  reason: string | null;
  attempts: number;
  createdAt: number;
  startedAt: number | null;
  endedAt: number | null;
}

/** One thing on a run's record. `claim` tells which of the run's attempts wrote it: each has a higher one. */
export interface RecordedEntry {
  at: number;
  claim: number;
  entry: TrajectoryEntry;
}

/** Reads what is on record of runs. Nothing here changes anything. */
export interface Runs {
  /** The newest runs about pull requests that were stored before this `seq`, newest first. */
  before(seq: number, limit: number): Promise<StoredRun[]>;
  /** Those whose id begins like this: two at most. */
  named(prefix: string): Promise<StoredRun[]>;
  /** All that is on record of one, oldest first. */
  entries(id: string): Promise<RecordedEntry[]>;
  /** Of that what a model answered and what attempts came to: what its figures are made of. */
  turnsAndResults(id: string): Promise<RecordedEntry[]>;
}
