import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { GitRepo, type ImportedCommit } from "../../test/support/git-repo.ts";
import { editedFile, fileOf, numbersUpTo } from "../bench/source-text.ts";
import type { Measured } from "./dimension.ts";
import { reviewTwice } from "./reviewing-server.ts";

const FILES = 500;
const LINES = 40;
const CHANGED = 20;
/** Bytes of the picture that each commit replaces: random, so that nothing packs it smaller. */
const PICTURE = 250_000;
const PICTURES = 40;
/** Commits of one import: its input is in memory. */
const A_BATCH = 200;

/** The same change of 20 files of 500, with a history of different sizes. */
export const history: Measured = {
  title: "Size of the history",
  axis: "MB of history",
  sizes: [100, 500, 2_000],
  diskGigabytes: 6,
  async measure(sizes, measuring) {
    const git = GitRepo.create({ dir: join(measuring.temp, "history.git"), bare: true });
    // Compression would only take time.
    git.git("config", "core.compression", "0");
    git.importCommits([{ branch: "main", files: numbersUpTo(FILES).map((number) => fileOf(number, LINES)) }]);
    let commits = 0;
    for (const size of sizes) {
      measuring.say(`  growing the history to ${size} MB`);
      const wanted = Math.ceil((size * 1_000_000) / PICTURE);
      for (; commits < wanted; commits += A_BATCH) {
        git.importCommits(numbersUpTo(Math.min(A_BATCH, wanted - commits), commits).map(pictureCommit));
      }
      commits = wanted;
      git.importCommits([{ branch: "topic", parents: ["main"], files: numbersUpTo(CHANGED).map(changeOf) }]);
      const push = Object.fromEntries(numbersUpTo(CHANGED / 2, CHANGED).map(changeOf));
      await reviewTwice({ size, git, push }, measuring);
    }
  },
};

const changeOf = (number: number) => editedFile(number, LINES, 3, number);

const pictureCommit = (commit: number): ImportedCommit => ({
  branch: "main",
  files: [[`pictures/${commit % PICTURES}.bin`, randomBytes(PICTURE)]],
});
