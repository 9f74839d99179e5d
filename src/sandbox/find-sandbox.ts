import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { AppError, errorLine } from "../errors.ts";
import { limitsFor, mountsOf, type Sandbox, type VisiblePaths } from "./bubblewrap.ts";
import { runInSandbox } from "./run-in-sandbox.ts";
import { isKnownProcessor } from "./seccomp.ts";

/** A sandbox that works on this machine, or the reason and the remedy. */
type SandboxFound = { sandbox: Sandbox } | { sandbox: null; why: string; remedy: string };

export interface FindOptions extends VisiblePaths {
  /** PATH, to find bubblewrap. */
  searchPath: string;
  signal: AbortSignal;
}

const INSTALL =
  "Install bubblewrap 0.8 or newer. Without it, fixes run no commands. Hunkwise's image does not contain it; see \"Commands of a " +
  'repository" in docs/operations.md for what a container needs.';

/** Messages of bubblewrap on machines that do not allow sandboxes, and the remedy. */
const faults: readonly { says: RegExp; remedy: string }[] = [
  { says: /Unknown option|Can't find source path.*--/, remedy: INSTALL },
  {
    says: /mount proc|mounting proc/i,
    remedy:
      "A container hides parts of /proc: start it with `--security-opt systempaths=unconfined`, or run the worker outside a container.",
  },
  {
    says: /namespace|uid map|Operation not permitted|clone|unshare/i,
    remedy:
      "Allow users to create namespaces: check `sysctl user.max_user_namespaces`; on Debian set kernel.unprivileged_userns_clone=1, on Ubuntu " +
      "kernel.apparmor_restrict_unprivileged_userns=0; a container needs `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`.",
  },
  {
    says: /Permission denied|No such file/,
    remedy: "Make the programs in the error message readable for every user.",
  },
];

/** Finds bubblewrap and tries it with one command, because an installed program need not work here. Takes half a second. */
export async function findSandbox({ searchPath, signal, ...visible }: FindOptions): Promise<SandboxFound> {
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
    return none(why, faults.find(({ says }) => says.test(why))?.remedy ?? INSTALL);
  }
}

const PROBE_MS = 20_000;

async function tryOut(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const { exitCode, stdout, stderr } = await runInSandbox(
    sandbox,
    {
      command: "echo works",
      ...{ folder: "", env: {}, files: [], timeoutMs: PROBE_MS, wants: () => [], maxFileBytes: 0 },
      limits: { ...limitsFor(256), spareBytes: 0 },
    },
    signal,
  );
  if (exitCode === 0 && stdout.toString() === "works\n") return;
  throw new AppError(
    "child_died",
    `A command in the sandbox ended with ${exitCode}: ${stderr.toString().trim()}`,
  );
}

async function findOnPath(name: string, searchPath: string): Promise<string | undefined> {
  // In a relative folder, the current directory would decide which program runs.
  for (const folder of searchPath.split(delimiter).filter(isAbsolute)) {
    const path = join(folder, name);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}
