import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compiledCodeVariable } from "../../src/border/compile-cache.ts";
import { programEntry } from "./built-program.ts";
import { testGitEnvironment } from "./git-repo.ts";
import { type CliRun, unsetVariables } from "./run-cli.ts";

/** Makes a `bin` folder in `folder` with the program under its usual name, and others by their name and the path of their script. */
export function installed(folder: string, others: Record<string, string> = {}): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  for (const [name, script] of Object.entries({ hunkwise: programEntry, ...others })) {
    const program = join(bin, name);
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`);
    chmodSync(program, 0o755);
  }
  return bin;
}

/** Runs a command line in a shell, with `bin` first on PATH and empty standard input. */
export function runInShell(
  line: string,
  { bin, cwd, env = {} }: { bin: string; cwd: string; env?: Record<string, string> },
): Promise<Omit<CliRun, "signal">> {
  const child = spawn("sh", ["-c", line], {
    cwd,
    env: {
      ...{ ...unsetVariables, ...testGitEnvironment, ...compiledCodeVariable },
      ...{ PATH: `${bin}:${process.env.PATH}`, ...env },
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => done({ code, stdout, stderr }));
  });
}
