import type { NewJob } from "../queue/job.ts";
import type { Notes } from "../queue/notes.ts";
import type { Queue } from "../queue/queue.ts";
import type { AppAccess } from "./app-access.ts";

/** What jobs work with that are about no pull request: looking for what was missed, and deleting what is kept. */
export interface Upkeep {
  access: AppAccess;
  queue: Pick<Queue, "accept" | "enqueue" | "knows" | "forget">;
  notes: Notes;
  /** Whether a webhook may start a job at all. */
  handles(event: string, action: string | null): boolean;
  /** The jobs that a webhook starts. */
  jobsOf(event: string, payload: unknown): Promise<readonly NewJob[]>;
  /** Deletes mirror and checkouts of a repository; false where one of them is in use. */
  removeRepository(place: { owner: string; name: string }): Promise<boolean>;
}
