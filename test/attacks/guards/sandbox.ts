import type { Guard } from "../guard.ts";

// bubblewrap leaves a user's program no capability by itself. What no mutation shows: --unshare-user and --unshare-uts take the options behind them away with them, so that bubblewrap refuses to build
// anything. That root's commands run as nobody is only seen where root runs the tests.

const row = "fix-sandbox";
const walls = "src/sandbox/walls.ts";
const calls = "src/sandbox/system-calls.ts";
const watching = "src/sandbox/warden/run-command.ts";
const tests = (name: string) => `test/sandbox/${name}.test.ts`;

/** Takes one flag or limit away. */
const without = (guard: string, file: string, from: string, test: string, title: string): Guard => ({
  ...{ guard, row, file, from, to: "", test: tests(test), title },
});

/** Sets another limit in place of one: that of locks, which nobody misses. */
const unset = (guard: string, limit: string, test: string, title: string): Guard => ({
  ...{ guard, row, file: walls, from: `--${limit}=`, to: "--locks=", test: tests(test), title },
});

const flags: readonly Guard[] = [
  without("a command has no network", walls, '  "--unshare-net",\n', "network", "over TCP"),
  without(
    "a command shares no memory and queues",
    walls,
    '  "--unshare-ipc",\n',
    "secrets",
    "not what belongs to others of kind ipc",
  ),
  without(
    "a command sees no groups of control",
    walls,
    '  "--unshare-cgroup-try",\n',
    "secrets",
    "not what belongs to others of kind cgroup",
  ),
  without(
    "the warden kills nobody where it is not in a room of its own",
    walls,
    '  "--unshare-pid",\n',
    "find-sandbox",
    "is one where bubblewrap builds walls",
  ),
  without(
    "system calls are filtered",
    walls,
    '"--seccomp", "3", ',
    "network",
    "over the socket that a virtual machine has to its host",
  ),
  without(
    "a command has no terminal",
    walls,
    '    "--new-session",\n',
    "privileges",
    "and has no terminal to type on",
  ),
  without(
    "/dev cannot be filled",
    walls,
    '    ...["--remount-ro", "/dev"],\n',
    "privileges",
    "and writes to its three places alone",
  ),
  without(
    "the root cannot be filled",
    walls,
    '    ...["--remount-ro", "/"],\n',
    "privileges",
    "and writes to its three places alone",
  ),
  without(
    "all files together have a size",
    walls,
    '"--size", String(Math.round(filesBytes)), ',
    "resources",
    "of the disk, with a file of 10 GB",
  ),
  unset(
    "one file has a size, holes included",
    "fsize",
    "resources",
    "of the disk, with a file of 10 GB that is all holes",
  ),
  unset("processes have a number", "nproc", "processes", "where it forks as often as it can"),
  unset("open files have a number", "nofile", "resources", "of open files"),
  unset(
    "a process has an end to its processor time",
    "cpu",
    "processes",
    "where it takes all processor time",
  ),
  unset("a process has an end to its memory", "data", "resources", "of memory, with one process"),
  without(
    "nothing is kept of a process that breaks",
    walls,
    ', "--core=1"',
    "resources",
    "of what is kept of a process that breaks, whatever the server allows itself",
  ),
  without(
    "a command yields the processor",
    walls,
    '"/usr/bin/nice", "-n", "19", ',
    "resources",
    "of the processor, before others who want it",
  ),
  without(
    "a command is the first to go where memory runs out",
    "src/sandbox/warden/main.ts",
    'writeFileSync("/proc/self/oom_score_adj", "1000");\n',
    "resources",
    "of the processor, before others who want it",
  ),
  without(
    "what the server hides is covered",
    walls,
    "    ...hiding,\n",
    "secrets",
    "not what the server hides, where it lies in such a folder",
  ),
  {
    ...{ guard: "tool chains cannot be changed", row, file: "src/sandbox/system-folders.ts" },
    from: 'readable.flatMap((path) => ["--ro-bind", path, path])',
    to: 'readable.flatMap((path) => ["--bind", path, path])',
    ...{
      test: tests("secrets"),
      title: "but the tool chains that the operator names, which it cannot change",
    },
  },
];

const environment: Guard = {
  ...{ guard: "nothing of the environment comes through", row, file: walls },
  from: '"--clearenv", ',
  to: "",
  also: [{ file: watching, from: "env: {}", to: "env: process.env" }],
  ...{ test: tests("secrets"), title: "not the environment of the server, or of anybody" },
};

const namespaces: readonly Guard[] = [
  {
    ...{ guard: "the kernel refuses to make walls behind walls", row, file: calls },
    from: "NAMESPACE_FLAGS = 0x7e02_0000",
    to: "NAMESPACE_FLAGS = 0",
    ...{ test: tests("privileges"), title: "and may start no process behind walls of its own" },
  },
  {
    ...{ guard: "no walls are made behind walls", row, file: calls },
    from: "NAMESPACE_FLAGS = 0x7e02_0000",
    to: "NAMESPACE_FLAGS = 0",
    also: [{ file: walls, from: '    "--disable-userns",\n', to: "" }],
    ...{ test: tests("privileges"), title: "and makes no walls of its own, behind which it could mount" },
  },
  {
    ...{ guard: "sockets are of families that end at the wall", row, file: calls },
    from: "[1, 2, 10, 16]",
    to: "[1, 2, 10, 16, 40]",
    ...{ test: tests("network"), title: "over the socket that a virtual machine has to its host" },
  },
];

/** Some of the calls that the kernel does not hear, one of each kind. */
const unheard: readonly Guard[] = (
  [
    ["memfd_create", "memfd_create: [319, 279], "],
    ["shmget", "shmget: [29, 194], "],
    ["pivot_root", "pivot_root: [155, 41]"],
    ["ptrace", "ptrace: [101, 117], "],
    ["keyctl", "keyctl: [250, 219], "],
    ["io_uring_setup", "io_uring_setup: [425, 425], "],
  ] as const
).map(([name, from]) =>
  without(`the kernel hears no ${name}`, calls, from, "system-calls", `the kernel hears nothing by ${name}`),
);

const excesses: readonly Guard[] = [
  [
    "small files end somewhere",
    'if (files - ffree > order.files) return "files";',
    "of the disk, with small files without end",
  ],
  [
    "output ends somewhere",
    'if (written > order.outputBytes) return "output";',
    "of output, and head and tail of it are kept",
  ],
  [
    "memory of all processes together ends somewhere",
    "memoryOf(strangers(), left) > left || ",
    "of memory, with many processes that are each small",
  ],
  [
    "memory of files counts as well",
    " - (blocks - bfree) * bsize",
    "of memory, with files and processes together",
  ],
  [
    "the machine keeps some memory",
    " || spareMemory() < order.spareBytes",
    "of memory that the machine does not have to spare",
  ],
].map(([guard = "", from = "", title = ""]) => without(guard, watching, from, "resources", title));

const endings: readonly Guard[] = [
  without(
    "daemons end with the command",
    watching,
    ".then(endStrangers)",
    "processes",
    "where it leaves somebody behind who holds on to its output",
  ),
  {
    ...{ guard: "time ends somewhere", row, file: watching },
    from: 'void end("timeout")',
    to: "undefined",
    ...{ test: tests("command-port"), title: "keeps nothing when it is ended before its time" },
  },
  {
    ...{ guard: "a command ends with whoever asked for it", row, file: walls },
    from: '    "--die-with-parent",\n',
    to: "",
    also: [
      {
        file: "src/sandbox/warden/main.ts",
        from: 'process.stdin.on("end", () => void endStrangers().then(leave, leave));',
        to: "void leave;",
      },
    ],
    ...{ test: tests("processes"), title: "where whoever asked for it is killed" },
  },
];

const files: readonly Guard[] = [
  without(
    "a command does not get what is private",
    "src/sandbox/workspace-files.ts",
    "files.isPrivate(path) || ",
    "command-port",
    "sees nothing that the configuration keeps private, and puts nothing there",
  ),
  without(
    "a command puts nothing in private places",
    "src/sandbox/take-over.ts",
    "!isPrivate(key) && ",
    "command-port",
    "sees nothing that the configuration keeps private, and puts nothing there",
  ),
  {
    ...{
      guard: "links that a command leaves are not taken over",
      row,
      file: "src/sandbox/warden/left-files.ts",
    },
    from: "if (!entry.isFile()) found.odd += 1;\n  else found",
    to: "found",
    ...{ test: tests("left-behind"), title: "links are never followed, wherever they lead" },
  },
  {
    ...{ guard: "half a change is not kept", row, file: "src/sandbox/take-over.ts" },
    from: "if (ended !== null) return",
    to: "if (false) return",
    ...{ test: tests("command-port"), title: "keeps nothing when it is ended before its time" },
  },
];

export const guards: readonly Guard[] = [
  ...[...flags, environment, ...namespaces, ...unheard],
  ...[...excesses, ...endings, ...files],
];
