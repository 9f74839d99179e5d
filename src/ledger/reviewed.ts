import { z } from "zod";

/** How long a content hash is: 72 bits, written in base64url. */
export const HASH_CHARACTERS = 12;

/**
 * What earlier reviews of a pull request have read, by content. `change`: a hash for each run of added and removed lines, with
 * the file's first name, without context and position; equal ones stand as often as they were read. `file`: one for each file
 * whose changes were all read, where a change has more than 2,000 runs.
 */
export const Reviewed = z.strictObject({
  unit: z.enum(["change", "file"]),
  hashes: z.array(z.string().length(HASH_CHARACTERS)),
});
export type Reviewed = z.infer<typeof Reviewed>;
