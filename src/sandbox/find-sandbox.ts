import { existsSync, readFileSync } from "node:fs";
import { AppError, errorLine } from "../core/errors.ts";
import { findOnPath } from "../repo/git/run-process.ts";
import { limitsFor, mountsOf, type Sandbox, type VisiblePaths } from "./bubblewrap.ts";
import { runInSandbox } from "./run-in-sandbox.ts";
import { isKnownProcessor } from "./seccomp.ts";

/** A sandbox that works on this machine, or the reason and the remedy. */
type SandboxFound = { sandbox: Sandbox } | { sandbox: null; why: string; remedy: string };

export interface FindOptions extends VisiblePaths {
  searchPath: string;
  signal: AbortSignal;
  /** Whether remedies are those of a container; found out by default. */
  inContainer?: boolean;
}

const INSTALL = "Install bubblewrap 0.8 or newer. Without it, fixes run no commands.";

const READABLE = "Make the programs in the error message readable for every user.";

interface Fault {
  /** The message of bubblewrap. */
  says: RegExp;
  onHost: string;
  inContainer: string;
}

const OPTIONS = "--security-opt seccomp=unconfined --security-opt apparmor=unconfined";
const OTHERWISE =
  'or run the worker outside a container; see "Commands of a repository" in docs/operations.md';

/** Messages of bubblewrap on machines that do not allow sandboxes, and the remedy. */
const faults: readonly Fault[] = [
  { says: /Unknown option|Can't find source path.*--/, onHost: INSTALL, inContainer: INSTALL },
  {
    says: /mount proc|mounting proc/i,
    onHost: "Let users mount /proc in their own namespaces: something is mounted over parts of /proc.",
    inContainer: `This container hides parts of /proc: start it with \`--security-opt systempaths=unconfined\`, ${OTHERWISE}.`,
  },
  {
    says: /namespace|uid map|Operation not permitted|clone|unshare/i,
    onHost:
      "Allow users to create namespaces: check `sysctl user.max_user_namespaces`; on Debian set kernel.unprivileged_userns_clone=1, on Ubuntu " +
      "kernel.apparmor_restrict_unprivileged_userns=0.",
    inContainer:
      `This container may not create namespaces: start it with \`${OPTIONS}\`, and allow users of its host to create them ` +
      `(user.max_user_namespaces, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0); ${OTHERWISE}.`,
  },
  { says: /Permission denied|No such file/, onHost: READABLE, inContainer: READABLE },
];

/** Docker and Podman leave a file; other engines have a root folder in layers, as some live systems do. */
function isInContainer(): boolean {
  if (existsSync("/.dockerenv") || existsSync("/run/.containerenv")) return true;
  try {
    // mount point and type of the file system: proc_pid_mountinfo(5)
    return /^\S+ \S+ \S+ \S+ \/ .* - overlay /m.test(readFileSync("/proc/self/mountinfo", "utf8"));
  } catch {
    return false;
  }
}

/** Finds bubblewrap and tries it with one command, because an installed program need not work here. Takes half a second. */
export async function findSandbox({
  searchPath,
  signal,
  inContainer = isInContainer(),
  ...visible
}: FindOptions): Promise<SandboxFound> {
  const none = (why: string, remedy: string): SandboxFound => ({ sandbox: null, why, remedy });
  if (process.platform !== "linux")
    return none(`there is no sandbox for ${process.platform}`, "Run Hunkwise on Linux.");
  if (!isKnownProcessor(process.arch))
    return none(`there is no sandbox for ${process.arch}`, "Use x64 or arm64.");
  const bwrap = await findOnPath("bwrap", searchPath);
  if (bwrap === undefined) return none("bubblewrap (bwrap) is not on PATH", INSTALL);
  const sandbox: Sandbox = { ...mountsOf(visible), bwrap, node: process.execPath };
  try {
    await tryOut(sandbox, signal);
    return { sandbox };
  } catch (error) {
    signal.throwIfAborted();
    const why = errorLine(error);
    const fault = faults.find(({ says }) => says.test(why));
    return none(why, (inContainer ? fault?.inContainer : fault?.onHost) ?? INSTALL);
  }
}

const PROBE_MS = 20_000;

async function tryOut(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const { exitCode, stdout, stderr } = await runInSandbox(
    sandbox,
    { command: "echo works", timeoutMs: PROBE_MS, limits: { ...limitsFor(256), spareBytes: 0 } },
    signal,
  );
  if (exitCode === 0 && stdout.toString() === "works\n") return;
  throw new AppError(
    "child_died",
    `A command in the sandbox ended with ${exitCode}: ${stderr.toString().trim()}`,
  );
}
