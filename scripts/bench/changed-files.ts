import type { LargeChange } from "./large-change.ts";
import { compare, timed } from "./measure.ts";
import { type Bench, ratioRow } from "./row.ts";

/** `changed_files` against the two git commands with the same information: the files, and the number of lines of each. */
export async function benchChangedFiles({ place, session, git }: LargeChange, bench: Bench): Promise<void> {
  bench.say("changed_files, each time on a workspace that was just opened");
  const { mergeBase, head } = place.shas;
  const range = ["-M", "-l1000", "-z", mergeBase, head];
  const comparison = await compare({
    repetitions: 9,
    async ours() {
      await using tools = session();
      return await timed(async () => {
        const files = (await tools.run("changed_files", {})) as unknown[];
        if (files.length !== 1_000 + 1) throw new Error(`changed_files named ${files.length} files`);
      });
    },
    reference: () =>
      timed(async () => {
        await git("diff", "--raw", "--no-abbrev", ...range);
        await git("diff", "--numstat", ...range);
      }),
  });
  bench.add(ratioRow("changed_files, 1,000 files / git diff --raw, git diff --numstat", comparison, 1.3));
}
