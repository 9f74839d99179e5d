import { posix } from "node:path";
import { compareLocks, UNREADABLE_LOCK } from "./locks/compare.ts";
import { isLockFile } from "./skipped-names.ts";

/*
 * What a changed lock file means for a review. Its lines are not shown to a model, and one of them is enough to install another program
 * under the name of a known package.
 */

export { UNREADABLE_LOCK };

/** Reasons of lock files. */
export const NEW_SOURCE = "lock file with packages from a new place";
const FAULTY = "lock file with entries that contradict it or its base";
export const BINARY_LOCK = "binary lock file";

/** What such a reason means for a check. The others also occur in ordinary changes. */
export const lockAccount = (reason: string): "neutral" | "unread" =>
  [NEW_SOURCE, FAULTY, UNREADABLE_LOCK].some((start) => reason.startsWith(start)) ? "unread" : "neutral";

/** Maximum places or packages that a reason names. */
const mostNamed = 3;

/**
 * Why a changed lock file does not count as read, for people; null if it was read whole and has no fault. `before` is null for a new file.
 */
export function lockSourceReason(path: string, before: string | null, after: string): string | null {
  const reading = compareLocks(path, before, after);
  if (reading.kind === "unread") return reading.reason;
  const places = reading.faults.flatMap(({ place = [] }) => place);
  const named = places.length > 0 ? places : reading.faults.map(({ entry }) => entry);
  if (named.length === 0) return reading.neutral;
  const words = [...new Set(named)];
  const more = words.length > mostNamed ? ` and ${words.length - mostNamed} more` : "";
  return `${places.length > 0 ? NEW_SOURCE : FAULTY} (${words.slice(0, mostNamed).join(", ")}${more})`;
}

/** Whether `lockSourceReason` is called for a path even if it is skipped for another reason. */
export const hasLockName = (path: string): boolean => isLockFile(posix.basename(path).toLowerCase());
