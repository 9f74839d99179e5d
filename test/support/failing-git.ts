import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TempFolder } from "./git-repo.ts";

/** How a call that must fail ends. */
export type GitFailure = "refuses" | "is killed" | "works and then fails";

/** A `git` that fails on request: a small program in front of the real one; put it first in PATH. */
export interface FailingGit extends Disposable {
  /** The folder of the program. */
  path: string;
  /** Makes call number `nth` (from 1) fail among the calls on the repository with this id, counted from now on. */
  fail(id: number, nth: number, how: GitFailure): void;
  /** Counts the calls on that repository from now on; `fail` does so too. */
  watch(id: number): void;
  /** Number of calls counted. */
  calls(id: number): number;
}

/** The shell counts by making folders: only one of two concurrent callers can make a folder. */
const program = (git: string, folder: string) => `#!/bin/sh
case "$*" in
  */id/[0-9]*)
    rest="\${*#*/id/}"
    number="\${rest%%[!0-9]*}"
    if [ -f "${folder}/plan-$number" ]; then
      at=1
      while ! mkdir "${folder}/seen-$number-$at" 2>/dev/null; do at=$((at + 1)); done
      while read -r nth how; do
        if [ "$at" = "$nth" ]; then
          case "$how" in
            refuses) echo "fatal: told to fail" >&2; exit 128 ;;
            killed) kill -9 $$ ;;
            after) "${git}" "$@"; exit 128 ;;
          esac
        fi
      done < "${folder}/plan-$number"
    fi
    ;;
esac
exec "${git}" "$@"
`;

const words = { refuses: "refuses", "is killed": "killed", "works and then fails": "after" } as const;

export function createFailingGit(): FailingGit {
  const folder = new TempFolder("failing-git");
  const git = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  const file = join(folder.path, "git");
  writeFileSync(file, program(git, folder.path));
  chmodSync(file, 0o755);
  const plan = (id: number, line: string) =>
    writeFileSync(join(folder.path, `plan-${id}`), line, { flag: "a" });
  return {
    path: folder.path,
    fail: (id, nth, how) => plan(id, `${nth} ${words[how]}\n`),
    watch: (id) => plan(id, ""),
    calls: (id) => readdirSync(folder.path).filter((name) => name.startsWith(`seen-${id}-`)).length,
    [Symbol.dispose]: () => folder.dispose(),
  };
}
