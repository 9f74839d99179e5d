import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeTree } from "../../src/repo/git/checkout.ts";
import type { RevisionPlace } from "../../src/repo/git/workspace.ts";

/** The same range with its head checked out, as on a server. The files are removed with the range. */
export async function checkedOut(place: RevisionPlace): Promise<RevisionPlace> {
  const { gitDir, shas } = place;
  const folder = dirname(gitDir);
  const root = join(folder, "head");
  await mkdir(root);
  await writeTree({
    ...{ git: place, gitDir, root, sha: shas.head },
    ...{ indexFile: join(folder, "head-index"), settled: false },
  });
  return { ...place, root, isCheckedOut: true };
}
