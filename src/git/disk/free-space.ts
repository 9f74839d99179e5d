import { statfs } from "node:fs/promises";

export interface FreeSpace {
  /** What this process may still write to the disk. */
  freeBytes: number;
  /** Less than a gigabyte, or than a twentieth of a small disk: the next checkout may not fit. */
  isLow: boolean;
}

const RESERVE_BYTES = 1_000_000_000;
const RESERVE_SHARE = 0.05;

/** Of the disk that a folder is on. Some file systems count no blocks: nobody knows when those are full. */
export async function freeSpace(folder: string): Promise<FreeSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  if (blocks === 0) return { freeBytes: Number.POSITIVE_INFINITY, isLow: false };
  const freeBytes = bavail * bsize;
  return { freeBytes, isLow: freeBytes < Math.min(RESERVE_BYTES, blocks * bsize * RESERVE_SHARE) };
}
