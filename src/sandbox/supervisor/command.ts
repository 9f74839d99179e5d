import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { End } from "../from-supervisor.ts";
import type { RunOrder } from "./protocol.ts";
import { SESSION } from "./workspace.ts";

/** How often limits are checked. A command exceeds them for at most about this long. */
const WATCH_MS = 50;
const FILTER = `${SESSION}/etc/filter`;

type EarlyEnd = NonNullable<End["ended"]>;

/** Runs the command and ends all processes that it started. Resolves when none is left. */
export async function runCommand(order: RunOrder, filter: Buffer) {
  writeFileSync(FILTER, filter);
  const filterFd = openSync(FILTER, "r");
  // Bubblewrap reads the filter from descriptor 3 and reports the exit code on 4. The command gets neither.
  const stdio = ["ignore", "pipe", "pipe", filterFd, "pipe"] as const;
  const child = spawn(order.program, order.args, { env: {}, cwd: "/", stdio: [...stdio] });
  closeSync(filterFd);
  const closed = once(child, "close");
  // Daemons outlive the command and keep its output open.
  const ended = once(child, "exit").then(endOthers);
  const out = new KeptOutput(order.limits.keptBytes);
  const err = new KeptOutput(order.limits.keptBytes);
  child.stdout?.on("data", (piece: Buffer) => out.push(piece));
  child.stderr?.on("data", (piece: Buffer) => err.push(piece));
  const status = collectStatus(child);
  const limit = await watch(order, () => out.total + err.total, Promise.all([ended, closed]));
  return {
    exitCode: exitCodeIn(status()),
    ended: limit,
    truncated: out.truncated || err.truncated,
    stdout: out.bytes(),
    stderr: err.bytes(),
  };
}

/** Ends the command when it exceeds a limit. Resolves to that limit. */
async function watch(
  order: RunOrder,
  written: () => number,
  gone: Promise<unknown>,
): Promise<EarlyEnd | null> {
  let ended: EarlyEnd | null = null;
  const end = (why: EarlyEnd) => {
    ended ??= why;
    return endOthers().catch(die);
  };
  const late = setTimeout(() => void end("timeout"), order.timeoutMs);
  const check = setInterval(() => {
    const limit = exceededLimit(order.limits, written());
    if (limit !== null) void end(limit);
  }, WATCH_MS);
  try {
    await gone;
  } finally {
    clearTimeout(late);
    clearInterval(check);
  }
  return ended;
}

function exceededLimit(limits: RunOrder["limits"], written: number): EarlyEnd | null {
  if (written > limits.outputBytes) return "output";
  const { blocks, bfree, bsize, files, ffree } = statfsSync(SESSION);
  if (files - ffree > limits.files) return "files";
  const left = limits.memoryBytes - (blocks - bfree) * bsize;
  if (memoryOf(otherProcesses(), left) > left || spareMemory() < limits.spareBytes) return "memory";
  return null;
}

function die(error: unknown): never {
  // The whole namespace ends with this process.
  process.stderr.write(`${error}\n`);
  process.exit(1);
}

function collectStatus(child: ChildProcess): () => string {
  let text = "";
  const pipe = child.stdio[4] as Readable;
  pipe.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  return () => text;
}

function exitCodeIn(status: string): number | null {
  const [, code] = /"exit-code": *(\d+)/.exec(status) ?? [];
  return code === undefined ? null : Number(code);
}

class KeptOutput {
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;
  readonly #kept: number;

  /** @param kept bytes of the head, and of the tail */
  constructor(kept: number) {
    this.#kept = kept;
  }

  get total(): number {
    return this.#total;
  }

  get truncated(): boolean {
    return this.#total > 2 * this.#kept;
  }

  push(piece: Buffer): void {
    this.#total += piece.length;
    const first = piece.subarray(0, this.#kept - this.#headBytes);
    if (first.length > 0) this.#head.push(first);
    this.#headBytes += first.length;
    const rest = piece.subarray(first.length);
    if (rest.length === 0) return;
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    // Not for every piece: a flood of small ones must cost no more than its bytes.
    if (this.#tailBytes > 8 * this.#kept) this.#shorten();
  }

  bytes(): Buffer {
    this.#shorten();
    const left = this.#total - this.#headBytes - this.#tailBytes;
    const gap = left > 0 ? [Buffer.from(`\n[... ${left} bytes left out here ...]\n`)] : [];
    return Buffer.concat([...this.#head, ...gap, ...this.#tail]);
  }

  #shorten(): void {
    const joined = Buffer.concat(this.#tail);
    const last = joined.subarray(Math.max(0, joined.length - this.#kept));
    // A copy, so that the rest can be freed.
    this.#tail = [Buffer.from(last)];
    this.#tailBytes = last.length;
  }
}

const POLL_MS = 5;
const END_MS = 10_000;

/** All processes of the namespace except the supervisor and the first, which only reaps. */
function otherProcesses(): number[] {
  const ours = new Set([1, process.pid]);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => !ours.has(pid));
}

/** Throws unless this is the second process of its own namespace: anywhere else {@link endOthers} would kill foreign processes. */
export function requireOwnNamespace(): void {
  if (process.pid !== 2 || process.ppid !== 1)
    throw new Error("the supervisor has no process namespace of its own");
}

export async function endOthers(): Promise<void> {
  for (let waited = 0; waited < END_MS; waited += POLL_MS) {
    const left = otherProcesses();
    if (left.length === 0) return;
    for (const pid of left) kill(pid);
    await sleep(POLL_MS);
  }
  throw new Error("processes of the command are still running");
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has already ended.
  }
}

/** Maximum buffer of the two ends of a socket (net.core.wmem_default, and the kernel's overhead). */
const SOCKET = 256 * 1_024;

/**
 * Bytes that processes, and the kernel for them, hold in memory without files. Shared memory counts once; that is slow, and only measured if
 * the simple sum gives more than `enough`.
 */
function memoryOf(pids: readonly number[], enough: number): number {
  const sockets = socketsOf(pids) * SOCKET;
  const most = sum(pids.map(residentOf)) + sockets;
  return most <= enough ? most : sum(pids.map(proportionOf)) + sockets;
}

/** In the network namespace of the newest process: that of the inner sandbox, once it exists. */
function socketsOf(pids: readonly number[]): number {
  const [, used] =
    /^sockets: used (\d+)$/m.exec(readIfPresent(`/proc/${Math.max(...pids)}/net/sockstat`)) ?? [];
  return Number(used ?? 0);
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** Resident memory and page tables. */
const residentOf = (pid: number) =>
  kilobytesIn(readIfPresent(`/proc/${pid}/status`), /^Vm(?:RSS|PTE):\s+(\d+) kB$/gm);

/** The proportional share of memory that is not files, swap included; resident memory if the kernel does not report shares. */
function proportionOf(pid: number): number {
  const text = readIfPresent(`/proc/${pid}/smaps_rollup`);
  if (text === "") return residentOf(pid);
  const tables = kilobytesIn(readIfPresent(`/proc/${pid}/status`), /^VmPTE:\s+(\d+) kB$/gm);
  return kilobytesIn(text, /^(?:Pss_Anon|Pss_Shmem|SwapPss): +(\d+) kB$/gm) + tables;
}

/** The sum in bytes. */
const kilobytesIn = (text: string, lines: RegExp) =>
  sum([...text.matchAll(lines)].map(([, kb]) => Number(kb))) * 1_024;

/** Bytes that the machine can still allocate without swapping; infinite if the kernel does not report it. */
function spareMemory(): number {
  const [, kb] = /^MemAvailable: +(\d+) kB$/m.exec(readIfPresent("/proc/meminfo")) ?? [];
  return kb === undefined ? Number.POSITIVE_INFINITY : Number(kb) * 1_024;
}

function readIfPresent(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
