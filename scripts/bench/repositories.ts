import { setTimeout as sleep } from "node:timers/promises";
import { type Content, GitRepo } from "../../test/support/git-repo.ts";
import { edited, editedFile, fileOf, numbersUpTo, pathOf, textOf } from "./source-text.ts";

type Files = [string, Content | null][];

/** A file with a hunk every twenty lines. */
export const manyHunks = { path: "packages/many-hunks.ts", hunks: 200 };
/** A text in only a few files of a large change. */
export const rareText = "needle_of_the_haystack";

/**
 * 5,000 files of 200 lines; `topic` changes 1,000 of them: most modified in a few places, 40 deleted, 40 added, 20 renamed
 * and modified. `main` has moved on since.
 */
export function createLargeChange(dir: string): GitRepo {
  const repo = GitRepo.create({ dir });
  const lines = 200;
  const numbered = numbersUpTo(manyHunks.hunks * 20).map((line) => `export const line${line} = ${line};`);
  const base: Files = numbersUpTo(5_000).map((number) => fileOf(number, lines));
  base.push([manyHunks.path, `${numbered.join("\n")}\n`]);

  const change: Files = [
    [
      manyHunks.path,
      `${numbered.map((line, at) => (at % 20 === 10 ? `${line} // changed` : line)).join("\n")}\n`,
    ],
  ];
  for (const number of numbersUpTo(1_000)) {
    const path = pathOf(number * 5);
    const text = edited(number * 5, textOf(number * 5, lines), 1 + (number % 5), number);
    if (number % 25 === 0) change.push([path, null]);
    else if (number % 25 === 1) change.push(fileOf(5_000 + number, lines));
    else if (number % 50 === 2) change.push([path, null], [`packages/moved/${number}.ts`, text]);
    else change.push([path, number % 250 === 3 ? `${text}// ${rareText}\n` : text]);
  }
  repo.importCommits([
    { branch: "main", files: base },
    { branch: "topic", parents: ["main"], files: change },
    { branch: "main", files: [["README.md", "Moved on.\n"]] },
  ]);
  return repo;
}

/** The line that the benchmark's model reports, and its place. */
export const reported = {
  path: "packages/reported.ts",
  line: 3,
  quote: "  return left.total == right.total;",
};
export const reportedFile: [string, string] = [
  reported.path,
  `// Compares.\nexport function same(left: Bill, right: Bill): boolean {\n${reported.quote}\n}\n`,
];

/** Adds twenty files to an empty repository, from a number on; `topic` changes three of them. */
export function addTinyChange(repo: GitRepo, lines: number, from = 0): GitRepo {
  const numbers = numbersUpTo(20, from);
  const change = numbers.slice(0, 3).map((number) => editedFile(number, lines, 3, number));
  repo.importCommits([
    { branch: "main", files: numbers.map((number) => fileOf(number, lines)) },
    { branch: "topic", parents: ["main"], files: change },
  ]);
  return repo;
}

/** 1,000 files of 150 lines, and further ones of 40 up to the number of `files`; `topic` changes 50 of the first and is checked out. */
export async function createSmallChange(dir: string, files = 1_000): Promise<GitRepo> {
  const repo = GitRepo.create({ dir });
  const lines = 150;
  const base = numbersUpTo(files).map((number) => fileOf(number, number < 1_000 ? lines : 40));
  const change = numbersUpTo(49).map((number) => editedFile(number * 20 + (number % 4), lines, 4, number));
  repo.importCommits([
    { branch: "main", files: base },
    { branch: "topic", parents: ["main"], files: [...change, reportedFile] },
    { branch: "main", files: [["README.md", "Moved on.\n"]] },
  ]);
  await checkOut(repo, "topic");
  return repo;
}

/** Checks a branch out as if some time ago: git reads each file again that is as new as its index. */
export async function checkOut(repo: GitRepo, branch: string): Promise<void> {
  repo.git("checkout", "--quiet", branch);
  await sleep(1_100);
  repo.git("update-index", "--refresh", "--force-write-index");
}

/** A repository on the server, and its pull requests in order, each on top of the previous one. */
export interface ServedRepository {
  /** Tip of `main` at the first pull request. */
  first: string;
  pulls: { number: number; head: string; base: string }[];
}

/** A bare repository of 20,000 files of 40 lines; each pull request changes 50 of them. */
export function createServedRepository(dir: string, pulls: number): ServedRepository {
  const repo = GitRepo.create({ dir, bare: true });
  const lines = 40;
  const base = numbersUpTo(20_000).map((number) => fileOf(number, lines));
  const changeOf = (pull: number) =>
    numbersUpTo(50).map((at) => editedFile(at * 397 + pull, lines, 3, pull * 1000 + at));
  const [first = "", ...heads] = repo.importCommits([
    { branch: "main", files: base },
    ...numbersUpTo(pulls, 1).map((pull) => ({ branch: "main", files: changeOf(pull) })),
  ]);
  repo.git("update-ref", "refs/heads/main", first);
  for (const [at, head] of heads.entries()) repo.git("update-ref", `refs/pull/${at + 1}/head`, head);
  return {
    first,
    pulls: heads.map((head, at) => ({
      number: at + 1,
      head,
      base: at === 0 ? first : (heads[at - 1] ?? ""),
    })),
  };
}
