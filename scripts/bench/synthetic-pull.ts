import { GitRepo } from "../../test/support/git-repo.ts";
import { Dice } from "./source-text.ts";

/**
 * Pull requests of one shape and any size, to measure the cost of a review per diff line: a TypeScript repository in which all changed
 * files have the same number of hunks, each of 8 changed lines (3 removed, 5 added) with a unique token in one of them.
 */
export interface SyntheticPull {
  repo: GitRepo;
  /** Branches. */
  base: string;
  head: string;
  /** Output of `git diff base...head`. */
  plainDiff: string;
  /** The token of each hunk, in the order of the diff. */
  tokens: readonly string[];
}

export interface PullShape {
  /** Files of the repository. */
  files: number;
  /** Changed files of each pull request. */
  changed: readonly number[];
  /** Hunks of each file. */
  hunks: number;
}

const REMOVED = 3;
const ADDED = 5;
/** Statements of a method; every second method has a hunk, so that hunks never touch. */
const STATEMENTS = 10;
/** Lines of a method: its head, its statements, its return, its end and an empty line. */
const METHOD = STATEMENTS + 4;

/**
 * Makes the repository in `dir` with one pull request for each number of changed files, the same each time. The last one is checked out.
 * Throws if git counts different changes.
 */
export function syntheticPulls(dir: string, { files, changed, hunks }: PullShape): SyntheticPull[] {
  const repo = GitRepo.create({ dir });
  const numbers = Array.from({ length: files }, (_, number) => number);
  const lines = numbers.map((number) => linesOf(number, files, hunks));
  const text = (of: readonly string[]) => `${of.join("\n")}\n`;
  const pulls = changed.map((count) => ({
    branch: `changes-${count}`,
    picked: numbers.slice(0, count).map((at) => Math.floor((at * files) / count)),
  }));
  repo.importCommits([
    { branch: "main", files: numbers.map((number) => [pathOf(number), text(lines[number] ?? [])]) },
    ...pulls.map(({ branch, picked }) => ({
      branch,
      parents: ["main"],
      files: picked.map((at) => [pathOf(at), text(edited(at, lines[at] ?? [], hunks))] as const),
    })),
  ]);
  repo.git("checkout", "--quiet", pulls.at(-1)?.branch ?? "main");
  return pulls.map(({ branch, picked }) => {
    const plainDiff = `${repo.git("diff", `main...${branch}`)}\n`;
    requireShape(plainDiff, picked.length, hunks);
    const tokens = picked.toSorted(byPath).flatMap((number) => tokensOf(number, hunks));
    return { repo, base: "main", head: branch, plainDiff, tokens };
  });
}

/** The same with one pull request. */
export function syntheticPull(
  dir: string,
  { changed, ...shape }: Omit<PullShape, "changed"> & { changed: number },
): SyntheticPull {
  const [pull] = syntheticPulls(dir, { ...shape, changed: [changed] });
  if (!pull) throw new Error("No pull request was made");
  return pull;
}

const byPath = (a: number, b: number) => (pathOf(a) < pathOf(b) ? -1 : 1);

const places = (hunks: number) => Array.from({ length: hunks }, (_, at) => at);
const tokenOf = (number: number, hunk: number) => `token_${number}_${hunk}`;
const tokensOf = (number: number, hunks: number) => places(hunks).map((hunk) => tokenOf(number, hunk));

/** Twenty files per folder. */
function pathOf(number: number): string {
  const folder = Math.floor(number / 20);
  const dice = new Dice(folder);
  return `src/${dice.word()}-${folder}/${new Dice(number + 7).word()}-${number}.ts`;
}

/** A class that uses two others, with a method before, between and after those that may change. */
function linesOf(number: number, files: number, hunks: number): string[] {
  const dice = new Dice(number + 1);
  const used = [(number + 1) % files, (number + 40) % files];
  const lines = used.map((one) => `import { Part${one} } from "../../${pathOf(one)}";`);
  lines.push("", `export class Part${number} {`);
  for (let method = 0; method < 2 * hunks + 1; method++) {
    lines.push(`  ${dice.word()}${dice.below(1_000)}(limit: number, text: string): number {`);
    for (let count = 0; count < STATEMENTS; count++) lines.push(statement(dice));
    lines.push("    return limit;", "  }", "");
  }
  return [...lines, "}"];
}

/** The first of the statements that a hunk removes: in the middle of its method. */
const placeOf = (hunk: number) => 4 + (2 * hunk + 1) * METHOD + 1 + 4;

const statements: readonly ((a: string, b: string, n: number) => string)[] = [
  (a, b, n) => `    limit += this.${a}.${b} * ${n};`,
  (a, _, n) => `    if (limit > ${n}) this.${a}(text);`,
  (a, b, n) => `    this.${a}.set("${b}", limit - ${n});`,
  (a, b, n) => `    // The ${a} of a ${b} is ${n} at most.`,
  (a, b, n) => `    text = text.replace("${a}", "${b}${n}");`,
];

function statement(dice: Dice): string {
  return statements[dice.below(statements.length)]?.(dice.word(), dice.word(), dice.below(10_000)) ?? "";
}

/** Each hunk removes statements and inserts a condition with others. */
function edited(number: number, lines: readonly string[], hunks: number): string[] {
  const dice = new Dice(1_000_000 + number);
  const changed = [...lines];
  for (const hunk of places(hunks).toReversed()) {
    const inner = Array.from({ length: ADDED - 2 }, () => `  ${statement(dice)}`);
    const added = [`    if (text.includes("${tokenOf(number, hunk)}")) {`, ...inner, "    }"];
    changed.splice(placeOf(hunk), REMOVED, ...added);
  }
  return changed;
}

function requireShape(diff: string, files: number, hunks: number): void {
  const count = (pattern: RegExp) => diff.match(pattern)?.length ?? 0;
  const found = [count(/^diff --git /gm), count(/^@@ /gm), count(/^-(?!--)/gm), count(/^\+(?!\+\+)/gm)];
  const wanted = [files, files * hunks, files * hunks * REMOVED, files * hunks * ADDED];
  if (found.join() !== wanted.join())
    throw new Error(`The pull request has ${found} files, hunks, removed and added lines, not ${wanted}`);
}
