import { join } from "node:path";
import { startInstantModel } from "../bench/instant-model.ts";
import { reviewLocally } from "../bench/local-review.ts";
import { checkOut } from "../bench/repositories.ts";
import { syntheticPulls } from "../bench/synthetic-pull.ts";
import type { Measured } from "./dimension.ts";
import { addMemory } from "./reviewing-server.ts";

/** Files that do not change, for each that may. */
const SPARE = 4 / 3;
/** Hunks of a file: with more, the default budget would not pay for the largest pull request. */
const HUNKS = 1;

/** Pull requests of different sizes in one repository, with the default budgets, and units as large as in any review. */
export const changes: Measured = {
  title: "Changed files of a pull request",
  axis: "changed files",
  sizes: [50, 300, 1_000, 3_000],
  diskGigabytes: 1,
  async measure(sizes, measuring) {
    const files = Math.ceil(Math.max(...sizes) * SPARE);
    measuring.say(`  making a repository of ${files} files`);
    const pulls = syntheticPulls(join(measuring.temp, "changes"), { files, changed: sizes, hunks: HUNKS });
    using model = await startInstantModel();
    for (const [at, { repo, head }] of pulls.entries()) {
      const size = sizes[at] ?? 0;
      await checkOut(repo, head);
      const review = () => reviewLocally({ repo: repo.dir, head, model, temp: measuring.temp, findings: 0 });
      const { seconds, peaks } = await review();
      measuring.add("local, review", "s", size, seconds);
      addMemory(measuring, "command", size, peaks);
    }
  },
};
