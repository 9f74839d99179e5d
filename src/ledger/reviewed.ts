import { z } from "zod";

/** How long the hash of a file's first name is, and that of a content behind it: 18 and 72 bits, written in base64url. */
export const PATH_CHARACTERS = 3;
export const HASH_CHARACTERS = PATH_CHARACTERS + 12;

/**
 * What earlier reviews of a pull request have read, by content. `change`: a hash for each run of added and removed lines, without
 * context and position, behind one of the file's first name; equal ones stand as often as they were read. `file`: one for each
 * file whose changes were all read, where a change has more than 2,000 runs. Hyphens behind a file's name, which no content
 * has: a look at an earlier finding in it is still due.
 */
export const Reviewed = z.strictObject({
  unit: z.enum(["change", "file"]),
  hashes: z.array(z.string().regex(/^[\w-]{15}$/)),
});
export type Reviewed = z.infer<typeof Reviewed>;

/** As it stands in a marker: one string of all hashes, with a dot for the hyphen, which a marker has to escape. */
export const StoredReviewed = z
  .strictObject({ unit: Reviewed.shape.unit, hashes: z.string().regex(/^(?:[\w.]{15})*$/) })
  .transform(({ unit, hashes }): Reviewed => {
    const count = hashes.length / HASH_CHARACTERS;
    const at = (index: number) => hashes.slice(index * HASH_CHARACTERS, (index + 1) * HASH_CHARACTERS);
    return { unit, hashes: Array.from({ length: count }, (_, index) => at(index).replaceAll(".", "-")) };
  });

/** The input of {@link StoredReviewed}. */
export const storedReviewed = ({ unit, hashes }: Reviewed) => ({
  unit,
  hashes: hashes.join("").replaceAll("-", "."),
});
