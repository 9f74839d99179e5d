import { createRequire } from "node:module";
import { DatabaseSync } from "node:sqlite";

/**
 * Loads sqlite-vec into a connection that was opened with `allowExtension`, and closes that door again. False where there is no
 * build of it for this machine, or it was not installed: it is an optional package.
 */
export function loadVectorExtension(database: DatabaseSync): boolean {
  try {
    const { getLoadablePath } = createRequire(import.meta.url)("sqlite-vec") as typeof import("sqlite-vec");
    database.enableLoadExtension(true);
    database.loadExtension(getLoadablePath());
    return true;
  } catch {
    return false;
  } finally {
    closeDoor(database);
  }
}

/** Whether this machine has it. */
export function canFindByMeaning(): boolean {
  const database = new DatabaseSync(":memory:", { allowExtension: true });
  try {
    return loadVectorExtension(database);
  } finally {
    database.close();
  }
}

function closeDoor(database: DatabaseSync): void {
  try {
    database.enableLoadExtension(false);
  } catch {
    // It was not opened with `allowExtension`: there is no door.
  }
}
