import { spawnSync } from "node:child_process";
import { programEntry } from "./built-program.ts";
import { testGitEnvironment } from "./git-repo.ts";
import { unsetVariables } from "./run-cli.ts";

const wall = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--unshare-net", "--die-with-parent", "--"];

/** The reason why this machine cannot run programs without a network; null if it can. */
export function whyNoWall(): string | null {
  const [program = "", ...args] = wall;
  const { status, error, stderr } = spawnSync(program, [...args, "true"], { encoding: "utf8" });
  if (status === 0) return null;
  return error ? "bubblewrap is not installed" : `bubblewrap cannot run here: ${stderr.trim()}`;
}

/** Runs the command line without any network, not even a working loopback. */
export function runWithoutNetwork(cli: readonly string[], env: Record<string, string> = {}) {
  const [program = "", ...args] = wall;
  const { status, stdout, stderr } = spawnSync(program, [...args, process.execPath, programEntry, ...cli], {
    encoding: "utf8",
    env: { ...unsetVariables, ...testGitEnvironment, ...env },
  });
  return { code: status, stdout, stderr };
}
