import { readdirSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import { ownTag } from "../../src/repo/git/owner.ts";
import {
  limitsFor,
  mountsOf,
  type Sandbox,
  type SandboxLimits,
  type VisiblePaths,
} from "../../src/sandbox/bubblewrap.ts";
import { findSandbox } from "../../src/sandbox/find-sandbox.ts";
import { runInSandbox, type SandboxRun } from "../../src/sandbox/run-in-sandbox.ts";

export const noSignal = new AbortController().signal;
const nothing = { readable: [], hidden: [], searchPath: process.env.PATH ?? "", signal: noSignal };

/** Small enough for a machine that is shared, and for a test that does not wait. */
export const smallLimits: SandboxLimits = {
  ...limitsFor(256),
  processes: 64,
  files: 3_000,
  outputBytes: 4 * 1024 * 1024,
  spareBytes: 0,
};

/** Warns about what is not proven on a machine without a sandbox. Returns the reason for the titles of skipped tests. */
export function whyUnproven(
  found: Awaited<ReturnType<typeof findSandbox>>,
  what: string,
  say: (line: string) => void = console.warn,
): string | null {
  if (found.sandbox) return null;
  say(`NOT PROVEN, because this machine has no sandbox: ${what}. ${found.why}. ${found.remedy}`);
  return found.why;
}

/** The sandbox of this machine for a test file; null, with a warning, if there is none. */
export async function sandboxFor(what: string): Promise<{ sandbox: Sandbox | null; skipped: string }> {
  const found = await findSandbox(nothing);
  const why = whyUnproven(found, what);
  return { sandbox: found.sandbox, skipped: why === null ? "" : ` (SKIPPED: ${why})` };
}

export interface Seen {
  exitCode: number;
  /** stdout, and stderr behind it. */
  text: string;
  ended: string | null;
  outcome: Awaited<ReturnType<typeof runInSandbox>>;
}

type Over = Partial<Omit<SandboxRun, "limits">> & {
  limits?: Partial<SandboxLimits>;
  seen?: Partial<VisiblePaths & Pick<Sandbox, "bwrap">>;
};

let environment: string | undefined;

/** From now on every hostile command finds this prepared environment. */
export function useEnvironment(root: string): void {
  environment = root;
}

/** Runs a hostile command; fails if any process of it is left. */
export async function attack(sandbox: Sandbox | null, command: string, over: Over = {}): Promise<Seen> {
  if (!sandbox) throw new Error("a test that needs a sandbox was not skipped");
  const { limits, seen = {}, ...rest } = over;
  const { bwrap = sandbox.bwrap, ...visible } = seen;
  const here = { ...sandbox, bwrap, ...mountsOf({ ...nothing, ...visible }) };
  const run: SandboxRun = {
    ...{
      command,
      folder: "",
      env: {},
      files: [],
      timeoutMs: 20_000,
      wants: () => [],
      maxFileBytes: 1_000_000,
    },
    environment,
    limits: { ...smallLimits, ...limits },
    ...rest,
  };
  const outcome = await runInSandbox(here, run, noSignal);
  expect(leftProcesses()).toEqual([]);
  const text = outcome.stdout.toString() + outcome.stderr.toString();
  return { exitCode: outcome.exitCode, text, ended: outcome.ended, outcome };
}

const environmentOf = (pid: string) => textOf(`/proc/${pid}/environ`);

function pidsLeft(tag: string): string[] {
  const words = [`HUNKWISE_OWNER=${tag}`, `MARK=${tag}`];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => words.some((one) => environmentOf(pid).includes(one)));
}

/** The processes of sessions with this owner tag, and of commands that have it in their environment. */
export const leftProcesses = (tag = ownTag): string[] =>
  pidsLeft(tag).map((pid) => textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").slice(0, 200));

/** Whether a command with this mark runs. */
export const isRunning = (tag: string): boolean =>
  pidsLeft(tag).some((pid) => environmentOf(pid).includes(`MARK=${tag}`));

/** Ends them, for a test that has found some. */
export function endLeft(tag: string): void {
  for (const pid of pidsLeft(tag)) process.kill(Number(pid), "SIGKILL");
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** A script of Perl as an argument of a shell. */
export const perl = (script: string) => `perl -e '${script.replaceAll("'", "'\\''")}'`;
