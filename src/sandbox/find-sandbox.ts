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
}

const INSTALL = "Install bubblewrap 0.8 or newer. Without it, fixes run no commands.";

const DETAILS = 'see "Commands of a repository" in docs/operations.md';

/** Messages of bubblewrap on machines that do not allow sandboxes, each with the remedy. */
const faults: readonly (readonly [says: RegExp, remedy: string])[] = [
  [/Unknown option|Can't find source path.*--/, INSTALL],
  [
    /mount proc|mounting proc/i,
    "Let users mount /proc in their own namespaces: something is mounted over parts of /proc. " +
      `A container needs \`--security-opt systempaths=unconfined\`; ${DETAILS}.`,
  ],
  [
    /namespace|uid map|Operation not permitted|clone|unshare/i,
    "Allow users to create namespaces: check `sysctl user.max_user_namespaces`; on Debian set kernel.unprivileged_userns_clone=1, on Ubuntu " +
      "kernel.apparmor_restrict_unprivileged_userns=0. A container needs " +
      `\`--security-opt seccomp=unconfined --security-opt apparmor=unconfined\` as well; ${DETAILS}.`,
  ],
  [/Permission denied|No such file/, "Make the programs in the error message readable for every user."],
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
    const [, remedy = INSTALL] = faults.find(([says]) => says.test(why)) ?? [];
    return none(why, remedy);
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
