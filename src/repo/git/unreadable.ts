import pMap from "p-map";
import { AppError, isUnreadable } from "../../core/errors.ts";
import { CatFile } from "./cat-file.ts";
import type { GitPlace } from "./run-git.ts";

/** Objects of this size and more are not read to find damage. */
const MAX_READ_BYTES = 20 * 1024 * 1024;
/** Requests to one process: all but the first wait in its input. */
const AT_ONCE = 16;

/** The blobs that git cannot read: a partial clone has not fetched them, or they are damaged. Reads each of them. */
export async function unreadableBlobs(
  { git, gitDir }: GitPlace,
  oids: Iterable<string>,
): Promise<Set<string>> {
  await using blobs = new CatFile(git, gitDir, MAX_READ_BYTES);
  const found = new Set<string>();
  const read = (oid: string) =>
    blobs.read(oid).catch((error: unknown) => {
      if (isUnreadable(error)) found.add(oid);
      else if (!(error instanceof AppError) || error.code !== "too_large") throw error;
    });
  await pMap(new Set(oids), read, { concurrency: AT_ONCE });
  return found;
}
