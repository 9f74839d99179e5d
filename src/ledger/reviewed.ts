import { z } from "zod";

/** How long the hash of a file's first name is, and that of a content behind it: 18 and 72 bits, written in base64url. */
export const PATH_CHARACTERS = 3;
export const HASH_CHARACTERS = PATH_CHARACTERS + 12;

/**
 * What earlier reviews of a pull request have read, by content. `change`: a hash for each run of added and removed lines, without
 * context and position, behind one of the file's first name; equal ones stand as often as they were read. `file`: one for each
 * file whose changes were all read, where a change has more than 2,000 runs.
 */
export const Reviewed = z.strictObject({
  unit: z.enum(["change", "file"]),
  hashes: z.array(z.string().length(HASH_CHARACTERS)),
});
export type Reviewed = z.infer<typeof Reviewed>;
