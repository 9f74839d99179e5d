import { openSqliteStores } from "./open-stores.ts";
import type { Queue } from "./queue.ts";

/** The queue of `openSqliteStores` by itself. */
export function openSqliteQueue(dataFolder: string, options: { now?: () => number } = {}): Queue {
  return openSqliteStores(dataFolder, options).queue;
}
