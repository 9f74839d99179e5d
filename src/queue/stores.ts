import type { Notes } from "./notes.ts";
import type { Queue } from "./queue.ts";
import type { Spending } from "./spending.ts";
import type { Tally } from "./tally.ts";

/** All that is kept in the database: one for every process of an App. */
export interface Stores {
  queue: Queue;
  spending: Spending;
  notes: Notes;
  tally: Tally;
  close(): Promise<void>;
}
