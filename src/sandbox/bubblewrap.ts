import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { extname, join, relative } from "node:path";
import { z } from "zod";

/** The programs that build a sandbox, and the folders that are visible in it. Plain data: a process with access to the disk finds it. */
export const Sandbox = z.strictObject({
  bwrap: z.string(),
  node: z.string(),
  /** Absolute paths of folders that the operator names: tool chains outside of /usr. */
  readable: z.array(z.string()),
  /** Arguments of bubblewrap for the system's own folders. */
  system: z.array(z.string()),
  /** Arguments that cover hidden paths. They must follow those for the folders that contain them. */
  hiding: z.array(z.string()),
});
export type Sandbox = z.infer<typeof Sandbox>;

/** Limits of one command. Bytes, milliseconds and seconds. */
export interface SandboxLimits {
  /** Of all processes and files together; more ends the command. */
  memoryBytes: number;
  /** Of one process, reserved or used; a request beyond it fails. Node 24 reserves half a GiB for each thread, which it does not use. */
  dataBytes: number;
  /** Of all files together: they are kept in memory. A write beyond it fails. */
  filesBytes: number;
  /** Of one file, holes included. */
  fileBytes: number;
  /** Files and folders; more ends the command. */
  files: number;
  /** Processes and threads; starting more fails. */
  processes: number;
  openFiles: number;
  /** Of stdout and stderr together; more ends the command. */
  outputBytes: number;
  /** Kept of the head and of the tail of each stream. */
  keptBytes: number;
  /** Processor time of each process. */
  cpuSeconds: number;
  /** Memory that must remain available on the machine; less ends the command. */
  spareBytes: number;
}

const MIB = 1024 * 1024;

/** Node reserves about 600 MB of address space when it starts; with a lower memory limit it ends at once. */
export const LEAST_NODE_MB = 640;

/** The limits for a memory limit of the operator (HUNKWISE_SANDBOX_MEMORY_MB). */
export const limitsFor = (memoryMb: number): SandboxLimits => ({
  memoryBytes: memoryMb * MIB,
  dataBytes: memoryMb * MIB,
  filesBytes: (memoryMb / 2) * MIB,
  fileBytes: (memoryMb / 4) * MIB,
  files: 300_000,
  processes: 256,
  openFiles: 4_096,
  outputBytes: 64 * MIB,
  keptBytes: 32 * 1024,
  // Twice the longest time limit of a command: several threads add up.
  cpuSeconds: 1_200,
  spareBytes: 256 * MIB,
});

/** Programs and their libraries. On most systems all others are links into the first. */
const folders = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/** Files of /etc that programs need to find libraries and to choose between alternatives. None names people or machines. */
const settings = [
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/alternatives",
  "/etc/localtime",
];

export interface VisiblePaths {
  /** Absolute paths of folders that the operator names: tool chains outside of /usr. */
  readable: readonly string[];
  /** Absolute paths that stay hidden even inside a visible folder: the data folder, the key file, the program's own folder. */
  hidden: readonly string[];
}

/** The mounts of a sandbox, from the current state of the disk. */
export const mountsOf = (visible: VisiblePaths): Pick<Sandbox, "readable" | "system" | "hiding"> => ({
  readable: [...visible.readable],
  system: systemArguments(),
  hiding: hidingArguments(visible),
});

const systemArguments = (): string[] => [
  ...folders.flatMap(folderArguments),
  ...settings.flatMap((path) => ["--ro-bind-try", path, path]),
];

function folderArguments(path: string): string[] {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (!facts) return [];
  return facts.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}

/** Binds the operator's folders. They come after all other mounts, so that nothing covers them. */
const readableArguments = (readable: readonly string[]): string[] =>
  readable.flatMap((path) => ["--ro-bind", path, path]);

/** Covers hidden paths with an empty read-only folder or an empty file, under each name that a visible folder has for them. */
function hidingArguments({ readable, hidden }: VisiblePaths): string[] {
  // Links between the system's folders stay links in the sandbox.
  const system = [...folders, ...settings].filter((path) => existsSync(path) && !isLink(path));
  const roots = [...system, ...readable.filter((path) => existsSync(path))];
  return hidden
    .filter((path) => existsSync(path))
    .flatMap((path) => {
      const real = realpathSync(path);
      const cover = (at: string) =>
        statSync(real).isDirectory() ? ["--tmpfs", at, "--remount-ro", at] : ["--ro-bind", "/dev/null", at];
      return [...new Set(roots.flatMap((root) => pathBelow(root, real)))].flatMap(cover);
    });
}

/** The path under which `root` shows the file `real`, with links of both resolved; empty if it does not contain it. */
function pathBelow(root: string, real: string): string[] {
  const path = relative(realpathSync(root), real);
  return path === ".." || path.startsWith("../") ? [] : [join(root, path)];
}

const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;

/** Uid and gid inside the sandbox; they own the session's files. */
const USER = "1000";

/** No network, and no access to processes, users, names or shared memory outside; no way to gain privileges. */
const isolation = [
  "--unshare-user",
  "--unshare-pid",
  "--unshare-net",
  "--unshare-ipc",
  "--unshare-uts",
  "--unshare-cgroup-try",
  ...["--uid", USER, "--gid", USER, "--hostname", "sandbox"],
];

/** Where a prepared environment is, in both sandboxes. */
const ENVIRONMENT = "/environment";
/** Where the socket of a registry proxy is, in both sandboxes. */
const REGISTRY = "/registry";
/** Public certificate authorities, which Go, curl and git need. They are only visible to commands that may reach a registry. */
const AUTHORITIES = ["--ro-bind-try", "/etc/ssl/certs", "/etc/ssl/certs"];

/**
 * The outer sandbox, which runs the supervisor. Everything writable is in memory, on one file system of limited size.
 * @param code file descriptors of the supervisor's files, by file name
 */
export function outerArguments(
  { bwrap, node, system, readable, hiding }: Sandbox,
  { filesBytes }: SandboxLimits,
  { environment, registry }: Pick<Command, "environment" | "registry">,
  code: ReadonlyMap<string, number>,
): string[] {
  return [
    ...isolation,
    "--die-with-parent",
    ...system,
    ...["--proc", "/proc", "--dev", "/dev", "--dir", "/tmp"],
    ...readableArguments(readable),
    ...hiding,
    ...(environment === undefined ? [] : ["--ro-bind", environment, ENVIRONMENT]),
    ...(registry === undefined ? [] : ["--ro-bind", registry, REGISTRY, ...AUTHORITIES]),
    ...["--ro-bind", node, "/supervisor/node", "--ro-bind", bwrap, "/supervisor/bwrap"],
    ...[...code].flatMap(([name, fd]) => ["--ro-bind-data", String(fd), `/supervisor/${name}`]),
    ...["--size", String(Math.round(filesBytes)), "--tmpfs", "/session"],
    ...["--clearenv", "--chdir", "/", "--"],
  ];
}

export interface Command {
  /** For `sh -c`. */
  command: string;
  /** A folder of the workspace, as text. Default: its root. */
  folder?: string;
  /** Names consist of letters, digits and _. */
  env?: Readonly<Record<string, string>>;
  /**
   * Absolute path of a folder with files for the command, read-only, to which the workspace gets links. The user of the sandbox, `nobody` if
   * this is root, must be able to enter it.
   */
  environment?: string | undefined;
  /** Absolute path of the folder with the socket of a registry proxy, which is then the command's proxy for HTTP. Undefined: no network. */
  registry?: string | undefined;
}

/**
 * The inner sandbox, which runs the command. It sees three folders of the session and not the supervisor. It cannot create user namespaces,
 * because mounts in one would have no size limit.
 */
export function innerArguments(
  { system, readable }: Sandbox,
  limits: SandboxLimits,
  { command, folder = "", env = {}, environment, registry }: Command,
): string[] {
  return [
    ...isolation,
    // Descriptor 3 is the system call filter, 4 receives the exit code.
    ...["--seccomp", "3", "--json-status-fd", "4"],
    "--disable-userns",
    // Without a terminal: the command could type on it.
    "--new-session",
    ...system,
    ...["passwd", "group", "hosts"].flatMap((name) => ["--ro-bind", `/session/etc/${name}`, `/etc/${name}`]),
    ...["--proc", "/proc", "--dev", "/dev", "--bind", "/session/shm", "/dev/shm"],
    ...["--bind", "/session/tmp", "/tmp", "--bind", "/session/work", "/work"],
    // Paths that the outer sandbox covers are covered here as well.
    ...readableArguments(readable),
    // The Node of this program, for runners of ours and for tests that need nothing else; it is not on PATH.
    ...["--ro-bind", "/supervisor/node", NODE],
    ...(environment === undefined ? [] : ["--ro-bind", ENVIRONMENT, ENVIRONMENT]),
    ...(registry === undefined ? [] : registryArguments),
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", folder === "" ? "/work" : `/work/${folder}`, "--"],
    ...limitArguments(limits),
    // After all limits: a variable can make each program load a file of the workspace, which would then run without them.
    "/usr/bin/env",
    ...Object.entries({
      ...variables(readable),
      ...(registry === undefined ? {} : proxyVariables),
      ...env,
    }).map(([name, value]) => `${name}=${value}`),
    ...(registry === undefined ? [] : [NODE, BRIDGE, `${REGISTRY}/${SOCKET}`, String(PROXY_PORT)]),
    ...["/bin/sh", "-c", command],
  ];
}

const NODE = "/runner/bin/node";
/** The suffix of the program's own files: TypeScript in development. */
const suffix = extname(import.meta.filename);
/** With a suffix that makes it a module without a package.json beside it. */
const BRIDGE = `/runner/bridge${suffix.replace(".", ".m")}`;
/** The name of a registry proxy's socket in its folder. */
export const SOCKET = "proxy";
/** Of the loopback device of the sandbox's own network. */
const PROXY_PORT = 3128;

const registryArguments = [
  ...["--ro-bind", REGISTRY, REGISTRY, ...AUTHORITIES],
  ...["--ro-bind", "/session/etc/bridge", BRIDGE],
];

const proxy = `http://127.0.0.1:${PROXY_PORT}`;

/** What makes programs use the proxy for every host, and leave out requests that it refuses. */
const proxyVariables = {
  HTTP_PROXY: proxy,
  HTTPS_PROXY: proxy,
  http_proxy: proxy,
  https_proxy: proxy,
  NO_PROXY: "",
  no_proxy: "",
  npm_config_proxy: proxy,
  npm_config_https_proxy: proxy,
  npm_config_noproxy: "",
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_update_notifier: "false",
  YARN_HTTP_PROXY: proxy,
  YARN_HTTPS_PROXY: proxy,
  PIP_DISABLE_PIP_VERSION_CHECK: "1",
};

const variables = (readable: readonly string[]) => ({
  PATH: [...readable.map((folder) => `${folder}/bin`), "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
  HOME: "/tmp",
  TMPDIR: "/tmp",
  LANG: "C.UTF-8",
  // No prompts and no colors.
  CI: "true",
  TERM: "dumb",
  NO_COLOR: "1",
});

/**
 * Lowers the priority and sets limits of the kernel. Only with a core limit of one byte does the kernel not pipe a core to a program outside
 * of every sandbox (core(5), fs/coredump.c).
 */
function limitArguments({ fileBytes, processes, openFiles, cpuSeconds, dataBytes }: SandboxLimits): string[] {
  return [
    ...["/usr/bin/nice", "-n", "19", "/usr/bin/prlimit", "--core=1"],
    `--fsize=${Math.round(fileBytes)}`,
    `--nproc=${processes}`,
    `--nofile=${openFiles}`,
    `--cpu=${cpuSeconds}`,
    `--data=${Math.round(dataBytes)}`,
    "--",
  ];
}
