import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { openLocalRange } from "../../src/repo/git/range.ts";
import { gitPath } from "../../test/support/git-repo.ts";
import { type BareProcess, timeOf } from "./bare-process.ts";

/** The git processes of one review. */
export type GitRecord = readonly BareProcess[];

/**
 * Replaces git on PATH: records folder, arguments, environment and, if git reads it, input; then runs git. Commands that take no input must
 * not read it: it is never closed.
 */
const wrapper = (folder: string) => `#!/bin/sh
file=$(mktemp "${folder}/$(date +%s%N)-XXXXXX")
{ printf '%s\\0' "$PWD"; for one in "$@"; do printf '%s\\0' "$one"; done; } > "$file.argv"
env -0 > "$file.env"
case " $* " in
*" cat-file "*|*" --index-info "*) tee "$file.input" | "${gitPath}" "$@" ;;
*) exec "${gitPath}" "$@" ;;
esac
`;

/** Records the git processes that `run` starts with the given PATH. */
export async function recordGit(temp: string, run: (path: string) => Promise<unknown>): Promise<GitRecord> {
  const [programs, records] = [join(temp, "recording-git"), join(temp, "recorded-git")];
  mkdirSync(programs);
  mkdirSync(records);
  writeFileSync(join(programs, "git"), wrapper(records));
  chmodSync(join(programs, "git"), 0o755);
  await run([programs, process.env.PATH].join(delimiter));
  const names = readdirSync(records).filter((name) => name.endsWith(".argv"));
  return names.toSorted().map((name) => readRecord(join(records, name.slice(0, -".argv".length))));
}

function readRecord(file: string): BareProcess {
  const fields = (suffix: string) => readFileSync(`${file}.${suffix}`, "utf8").split("\0").slice(0, -1);
  const [cwd = "", ...args] = fields("argv");
  const env = Object.fromEntries(
    fields("env").map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const input = readIfThere(`${file}.input`);
  // Queries such as the existence of a ref exit with 1; 137 is the result of a review's kill of its `cat-file`.
  return { program: gitPath, cwd, args, env, exits: [0, 1], ...(input ? { input } : {}) };
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

export interface ReplayOptions {
  record: GitRecord;
  repo: string;
  temp: string;
}

/**
 * Milliseconds of the recorded commands in sequence, without a review around them. A review deletes its temporary folder, so a similar one
 * is prepared.
 */
export async function replayGit({ record, repo, temp }: ReplayOptions): Promise<number> {
  await using range = await openLocalRange({ repo, base: "main", head: "topic", gitPath, tempDir: temp });
  const folder = dirname(range.place.gitDir);
  const here = (text: string) => text.replaceAll(/[^\0=\s]*\/hunkwise-range-[A-Za-z0-9]{6}/g, folder);
  let total = 0;
  for (const { args, cwd, env, ...command } of record) {
    const moved = Object.entries(env).map(([name, value]) => [name, here(value)]);
    total += await timeOf({
      ...command,
      args: args.map(here),
      cwd: here(cwd),
      env: Object.fromEntries(moved),
    });
  }
  return total;
}
