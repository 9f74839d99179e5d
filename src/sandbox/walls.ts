import type { SandboxLimits } from "./limits.ts";
import type { Sandbox } from "./sandbox.ts";
import { namedArguments } from "./system-folders.ts";

/** A user that is nobody in particular; what is in the room belongs to it. */
const USER = "1000";

/** What the second wall has to be told of a command. */
export interface Command {
  /** For `sh -c`. */
  command: string;
  /** A folder of the workspace by its name, which is text; "" is its root. */
  folder: string;
  /** Names are letters, digits and _. */
  env: Readonly<Record<string, string>>;
}

/** Neither network nor processes, users, names or shared memory of others; nobody who becomes more. */
const alone = [
  "--unshare-user",
  "--unshare-pid",
  "--unshare-net",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
  ...["--uid", USER, "--gid", USER, "--hostname", "sandbox"],
];

/**
 * Arguments of bubblewrap for the first wall, behind which the warden runs. What can be written there lies in memory, on one file
 * system of limited size, and is gone with the last process.
 *
 * @param code descriptors that hold the warden's files, by their names
 */
export function firstWall(
  { bwrap, node, system, readable, hiding }: Sandbox,
  { filesBytes }: SandboxLimits,
  code: ReadonlyMap<string, number>,
): string[] {
  return [
    ...alone,
    "--die-with-parent",
    ...system,
    ...["--proc", "/proc", "--dev", "/dev", "--dir", "/tmp"],
    ...namedArguments(readable),
    ...hiding,
    ...["--ro-bind", node, "/warden/node", "--ro-bind", bwrap, "/warden/bwrap"],
    ...[...code].flatMap(([name, fd]) => ["--ro-bind-data", String(fd), `/warden/${name}`]),
    ...["--size", String(Math.round(filesBytes)), "--tmpfs", "/room"],
    ...["--clearenv", "--chdir", "/", "--"],
  ];
}

/**
 * Arguments of bubblewrap for the second wall, behind which the command runs. It sees neither the warden nor the room, but for the
 * three parts of it that can be written to, and can make no further walls: what is mounted behind one would have no limit.
 */
export function secondWall(
  { system, readable }: Sandbox,
  limits: SandboxLimits,
  { command, folder, env }: Command,
): string[] {
  return [
    ...alone,
    // The filter of system calls, and how the command ended.
    ...["--seccomp", "3", "--json-status-fd", "4"],
    "--disable-userns",
    // The terminal of whoever runs this is not theirs to type on.
    "--new-session",
    ...system,
    ...["passwd", "group", "hosts"].flatMap((name) => ["--ro-bind", `/room/etc/${name}`, `/etc/${name}`]),
    ...["--proc", "/proc", "--dev", "/dev", "--bind", "/room/shm", "/dev/shm"],
    ...["--bind", "/room/tmp", "/tmp", "--bind", "/room/work", "/work"],
    // What is covered behind the first wall is covered here.
    ...namedArguments(readable),
    ...["--remount-ro", "/dev"],
    ...["--remount-ro", "/"],
    ...["--chdir", folder === "" ? "/work" : `/work/${folder}`, "--"],
    ...limited(limits),
    // Last of all: a variable can have each program load a file of the workspace, which would then run without limits.
    "/usr/bin/env",
    ...Object.entries({ ...environment(readable), ...env }).map(([name, value]) => `${name}=${value}`),
    ...["/bin/sh", "-c", command],
  ];
}

const environment = (readable: readonly string[]) => ({
  PATH: [...readable.map((folder) => `${folder}/bin`), "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
  ...{ HOME: "/tmp", TMPDIR: "/tmp", LANG: "C.UTF-8" },
  // Nobody is there to answer a question or to look at colours.
  ...{ CI: "true", TERM: "dumb", NO_COLOR: "1" },
});

/**
 * Sets the limits that the system keeps, and lets everybody else on the machine go first. A core of one byte is none, and the one size
 * with which none is handed to a program of the machine either, which would run outside of all walls (core(5), fs/coredump.c).
 */
function limited({ fileBytes, processes, openFiles, cpuSeconds, memoryBytes }: SandboxLimits): string[] {
  return [
    ...["/usr/bin/nice", "-n", "19", "/usr/bin/prlimit", "--core=1"],
    `--fsize=${Math.round(fileBytes)}`,
    `--nproc=${processes}`,
    `--nofile=${openFiles}`,
    `--cpu=${cpuSeconds}`,
    `--data=${Math.round(memoryBytes)}`,
    "--",
  ];
}
