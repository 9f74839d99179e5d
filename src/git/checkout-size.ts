import { AppError } from "../errors.ts";
import {
  type ListingPlace,
  listBlobs,
  listDifference,
  MAX_ENTRIES,
  tooManyEntries,
} from "./object-listing.ts";

export interface CheckoutLimits {
  /** Files of the head's tree. */
  maxFiles: number;
  /** All of them together. */
  maxBytes: number;
  /** A single one. */
  maxFileBytes: number;
}

/** Larger than any repository that people review in, smaller than what hurts a machine. */
export const defaultLimits: CheckoutLimits = {
  maxFiles: MAX_ENTRIES,
  maxBytes: 8 * 1024 ** 3,
  maxFileBytes: 200 * 1024 ** 2,
};

/** The difference between what a slot holds and what it is to hold. */
export interface CheckoutPlan {
  /** Files of the head when the plan is carried out. */
  files: number;
  /** Bytes that stay or were there before, from which `gone` is to be taken away. */
  bytesBefore: number;
  /** A blob for each file that goes, and for each that comes. */
  gone: string[];
  come: string[];
}

/** Compares with what is there, or lists the whole tree when nothing is. Rejects with `too_large`. */
export async function planCheckout(
  place: ListingPlace,
  held: { sha: string; files: number; bytes: number } | undefined,
  head: string,
  { maxFiles }: CheckoutLimits,
): Promise<CheckoutPlan> {
  if (!held) {
    const come = await listBlobs(place, head, maxFiles);
    return { files: come.length, bytesBefore: 0, gone: [], come };
  }
  const changes = await listDifference(place, held.sha, head);
  const gone = changes.flatMap(({ from }) => from ?? []);
  const come = changes.flatMap(({ to }) => to ?? []);
  const files = held.files - gone.length + come.length;
  if (files > maxFiles) throw tooManyEntries(maxFiles);
  return { files, bytesBefore: held.bytes, gone, come };
}

/** The bytes of the checkout when the plan is carried out. Rejects with `too_large`. */
export function plannedBytes(
  plan: CheckoutPlan,
  sizes: ReadonlyMap<string, number>,
  limits: CheckoutLimits,
): number {
  const sum = (oids: readonly string[]) => oids.reduce((total, oid) => total + (sizes.get(oid) ?? 0), 0);
  for (const oid of plan.come) {
    const bytes = sizes.get(oid) ?? 0;
    if (bytes > limits.maxFileBytes) {
      throw new AppError(
        "too_large",
        `A file of the head has ${bytes} bytes, more than ${limits.maxFileBytes}`,
      );
    }
  }
  const bytes = plan.bytesBefore - sum(plan.gone) + sum(plan.come);
  if (bytes <= limits.maxBytes) return bytes;
  throw new AppError("too_large", `The head has ${bytes} bytes, more than ${limits.maxBytes}`);
}
