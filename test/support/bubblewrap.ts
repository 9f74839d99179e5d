import { spawnSync } from "node:child_process";
import { chownSync } from "node:fs";
import { resolve } from "node:path";
import type { Sandbox } from "./server-process.ts";

/** The user `nobody`: processes that root starts run as this user. */
const nobody = 65_534;
const root = resolve(import.meta.dirname, "../..");

/**
 * The environment of a container in compose.yml: a read-only root, its own /tmp, one folder for data, a user that is not root, no
 * capabilities, and no way to get one.
 *
 * @param more further arguments of bubblewrap
 */
export function containerWith(dataFolder: string, more: readonly string[] = []): Sandbox {
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(dataFolder, nobody, nobody);
  return {
    command: [
      "bwrap",
      ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"],
      ...["--bind", dataFolder, dataFolder],
      ...[
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--uid",
        "1000",
        "--gid",
        "1000",
      ],
      ...["--cap-drop", "ALL", "--new-session", "--die-with-parent", ...more, "--"],
    ],
    options: isRoot ? { uid: nobody, gid: nobody } : {},
  };
}

/** Runs a Node script in the sandbox; resolves to its output. */
export function runInside({ command, options }: Sandbox, script: string) {
  const [program, ...args] = [...command, process.execPath, "--input-type=module", "--eval", script];
  const { status, stdout, stderr } = spawnSync(program, args, { ...options, encoding: "utf8" });
  return { status, stdout: stdout ?? "", stderr: stderr ?? "" };
}

/** The reason why this machine cannot run programs in the sandbox; null if it can. */
export function whyNoContainer(dataFolder: string): string | null {
  const seen = runInside(
    containerWith(dataFolder),
    `await import("node:fs").then(({ readFileSync }) => readFileSync(${JSON.stringify(`${root}/src/cli.ts`)}))`,
  );
  if (seen.status === 0) return null;
  return seen.status === null
    ? "bubblewrap is not installed"
    : `bubblewrap cannot run here: ${seen.stderr.trim()}`;
}
