import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** So many records of local reviews stay at most: some hundred megabytes. */
const MOST_RUNS = 500;

const name = /^(\d{8}-\d{6}-[0-9a-f]{6})\.jsonl$/;

/** An id that sorts by time: "20261122-195306-1f0c3a", in UTC. */
export function newRunId(now: Date): string {
  const [day = "", time = ""] = now.toISOString().split(/[T.]/);
  return `${day.replaceAll("-", "")}-${time.replaceAll(":", "")}-${randomBytes(3).toString("hex")}`;
}

/** When a run with such an id began, to the second: milliseconds since 1970. */
export function runBegan(id: string): number {
  const [, year, month, day, hour, minute, second] = /^(....)(..)(..)-(..)(..)(..)/.exec(id) ?? [];
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(at) ? 0 : at;
}

export const runPath = (folder: string, id: string): string => join(folder, `${id}.jsonl`);

/** Ids of the records in a folder, newest first; none where there is no such folder. */
export async function localRunIds(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .flatMap((one) => name.exec(one)?.[1] ?? [])
    .sort()
    .reverse();
}

/**
 * Makes the folder, which holds code and is this user's alone, and deletes the records in it that are older than `keepMs`, and
 * the oldest beyond the limit of their number.
 */
export async function prepareRunsFolder(folder: string, keepMs: number, now: Date): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const oldest = newRunId(new Date(now.getTime() - keepMs)).slice(0, -6);
  const ids = await localRunIds(folder);
  const doomed = ids.filter((id, index) => id < oldest || index >= MOST_RUNS - 1);
  for (const id of doomed) await rm(runPath(folder, id), { force: true });
}
