import type { Reviewed } from "../../../../src/core/ledger/state.ts";
import type { ChangedFile, DiffSource } from "../../../../src/repo/diff-source.ts";
import { createDiffSource } from "../../../../src/repo/diff-source.ts";
import {
  contentHashBy,
  findReviewedHunks,
  type ReviewedHunks,
  reviewedNow,
} from "../../../../src/tasks/reviewed/known-change.ts";
import { openRepository } from "../../../agent/tools/context.ts";
import { GitRepo } from "../../../support/git-repo.ts";

type Files = Record<string, string>;

/** A change as one review gets it: whole files before and after it. */
export interface Round {
  base: Files;
  head: Files;
}

export interface ReadRound {
  files: readonly ChangedFile[];
  diffs: DiffSource;
}

/** Each round's change as git and the survey tell of it. */
export async function readRounds(rounds: readonly Round[], paths = {}): Promise<ReadRound[]> {
  using repo = GitRepo.create();
  repo.importCommits(
    rounds.flatMap(({ base, head }, at) => {
      const gone = Object.keys(base).filter((path) => !(path in head));
      return [
        { branch: `base${at}`, parents: [], files: new Map(Object.entries(base)) },
        {
          branch: `head${at}`,
          parents: [`base${at}`],
          files: new Map([...Object.entries(head), ...gone.map((path) => [path, null] as const)]),
        },
      ];
    }),
  );
  const read: ReadRound[] = [];
  for (const at of rounds.keys()) {
    await using opened = await openRepository(repo, { base: `base${at}`, head: `head${at}` });
    const diffs = createDiffSource(opened.workspace, { ignore: [], private: [], ...paths });
    const files = await diffs.files();
    // The repository is gone when somebody asks: what will be asked for is read now.
    for (const { change, reviewable } of files) if (reviewable) await diffs.fileDiff(change, 3);
    read.push({ files, diffs });
  }
  return read;
}

/** Nothing of it is unread, or what `unread` names: hunks from 1, by path. */
export const coverageWithout = (unread: Record<string, number[]> = {}) => ({
  unshown: (path: string) => unread[path] ?? [],
});

const key = "of this pull request";
export const contentHash = contentHashBy(key);

/** What is remembered when all of a round was read. */
export const allRead = ({ files }: ReadRound, maxChanges?: number): Reviewed =>
  reviewedNow(files, coverageWithout(), contentHash, maxChanges);

export const knownIn = ({ files, diffs }: ReadRound, reviewed: Reviewed | null): ReviewedHunks =>
  findReviewedHunks(files, { reviewed, key }, diffs);

/** Hunks of a file that nobody has read, from 1. */
export function newIn({ files }: ReadRound, known: ReviewedHunks, path: string): number[] {
  const file = files.find(({ change }) => change.path === path);
  const hunks = Array.from({ length: file?.totalHunks ?? 0 }, (_, at) => at + 1);
  return hunks.filter((hunk) => !known.known(path).has(hunk));
}
