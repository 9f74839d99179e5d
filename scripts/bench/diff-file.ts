import type { FileChange } from "../../src/agent/tools/changed-files.ts";
import type { LargeChange } from "./large-change.ts";
import { compare, timed } from "./measure.ts";
import { manyHunks } from "./repositories.ts";
import { type Bench, ratioRow } from "./row.ts";

const PAGE = 20;

/** `diff_file` after the first diff of a review, against a `git diff` of the same file. */
export async function benchDiffFile({ place, session, git }: LargeChange, bench: Bench): Promise<void> {
  bench.say("diff_file after the first: other files, further pages, another width of context");
  const { mergeBase, head } = place.shas;
  const gitDiff = (path: string, width = 3) => git("diff", `-U${width}`, "-M", mergeBase, head, "--", path);
  await using tools = session();
  const files = (await tools.run("changed_files", {})) as FileChange[];
  await tools.run("diff_file", { file_path: manyHunks.path });

  const modified = files.filter((file) => file.change_type === "modified").map((file) => file.path);
  const fileOf = (round: number) => modified[round * 7] ?? manyHunks.path;
  const others = await compare({
    repetitions: 25,
    ours: (round) => timed(() => tools.run("diff_file", { file_path: fileOf(round) })),
    reference: (round) => gitDiff(fileOf(round)),
  });
  bench.add(ratioRow("diff_file, another file / git diff -- file", others, 0.2));

  const pages = manyHunks.hunks / PAGE - 1;
  const startOf = (round: number) => 1 + PAGE * (1 + (round % pages));
  const further = await compare({
    repetitions: 15,
    ours: (round) =>
      timed(() => tools.run("diff_file", { file_path: manyHunks.path, start_hunk: startOf(round) })),
    reference: () => gitDiff(manyHunks.path),
  });
  bench.add(ratioRow("diff_file, a further page / git diff -- file", further, 0.2));

  const width = 10;
  const wider = await compare({
    repetitions: 9,
    ours: (round) => timed(() => tools.run("diff_file", { file_path: fileOf(round), context_lines: width })),
    reference: (round) => gitDiff(fileOf(round), width),
  });
  const shown = `diff_file, first time with ${width} lines of context / git diff -U${width} -- file`;
  bench.add(ratioRow(shown, wider, null));
}
