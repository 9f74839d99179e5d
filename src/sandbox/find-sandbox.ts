import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { AppError, errorLine } from "../errors.ts";
import { limitsFor } from "./limits.ts";
import { runInSandbox } from "./run-in-sandbox.ts";
import type { Sandbox } from "./sandbox.ts";
import { isKnownProcessor } from "./seccomp.ts";
import { mountsOf, type Seen } from "./system-folders.ts";

/** A sandbox that works here, or why there is none and what to do about it. */
export type SandboxFound = { sandbox: Sandbox } | { sandbox: null; why: string; remedy: string };

export interface FindOptions extends Seen {
  /** PATH, on which bubblewrap is looked for. */
  searchPath: string;
  signal: AbortSignal;
}

const INSTALL =
  "Install bubblewrap 0.8 or newer, or do without: fixes are then not tried out. Hunkwise's image has none; docs/operations.md " +
  'says under "Commands of a repository" what a container needs.';

/** What a machine says that does not let walls be built, and what helps. */
const faults: readonly { says: RegExp; remedy: string }[] = [
  { says: /Unknown option|Can't find source path.*--/, remedy: INSTALL },
  {
    says: /mount proc|mounting proc/i,
    remedy:
      "A container hides parts of /proc: start it with `--security-opt systempaths=unconfined`, or run the worker outside of one.",
  },
  {
    says: /namespace|uid map|Operation not permitted|clone|unshare/i,
    remedy:
      "Let users make namespaces: `sysctl user.max_user_namespaces`, on Debian kernel.unprivileged_userns_clone=1, on Ubuntu " +
      "kernel.apparmor_restrict_unprivileged_userns=0; a container needs `--security-opt seccomp=unconfined` and `apparmor=unconfined`.",
  },
  { says: /Permission denied|No such file/, remedy: "Let every user read the programs that are named here." },
];

/** Finds bubblewrap and runs a command behind both walls, because a program that is there need not work. Takes half a second. */
export async function findSandbox({ searchPath, signal, ...seen }: FindOptions): Promise<SandboxFound> {
  const none = (why: string, remedy: string): SandboxFound => ({ sandbox: null, why, remedy });
  if (process.platform !== "linux")
    return none(`there is none for ${process.platform}`, "Run Hunkwise on Linux.");
  if (!isKnownProcessor(process.arch)) return none(`there is none for ${process.arch}`, "Use x64 or arm64.");
  const bwrap = await findOnPath("bwrap", searchPath);
  if (bwrap === undefined) return none("bubblewrap (bwrap) is not on PATH", INSTALL);
  const sandbox: Sandbox = { ...mountsOf(seen), bwrap, node: process.execPath };
  try {
    await proveIt(sandbox, signal);
    return { sandbox };
  } catch (error) {
    signal.throwIfAborted();
    const why = errorLine(error);
    return none(why, faults.find(({ says }) => says.test(why))?.remedy ?? INSTALL);
  }
}

const PROBE_MS = 20_000;

async function proveIt(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const { exitCode, stdout, stderr } = await runInSandbox(
    sandbox,
    {
      command: "echo walls",
      ...{ folder: "", env: {}, files: [], timeoutMs: PROBE_MS, wants: () => [], longest: 0 },
      limits: { ...limitsFor(256), spareBytes: 0 },
    },
    signal,
  );
  if (exitCode === 0 && stdout.toString() === "walls\n") return;
  throw new AppError(
    "child_died",
    `A command in the sandbox ended with ${exitCode}: ${stderr.toString().trim()}`,
  );
}

async function findOnPath(name: string, searchPath: string): Promise<string | undefined> {
  // A relative folder would let the current directory decide which program runs.
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
