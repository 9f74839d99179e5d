import { compareLocks } from "./locks/compare.ts";

/** Why a changed lock file makes no check green, in words; null if all of it was read and nothing is wrong with it. */
export function lockSourceReason(path: string, before: string | null, after: string): string | null {
  const reading = compareLocks(path, before, after);
  if (reading.kind === "unread") return reading.reason;
  const [first] = reading.faults;
  return first === undefined ? reading.neutral : `${first.entry} ${first.text}`;
}
