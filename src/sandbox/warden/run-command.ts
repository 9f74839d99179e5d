import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, statfsSync, writeFileSync } from "node:fs";
import type { Readable } from "node:stream";
import { KeptOutput } from "./kept-output.ts";
import type { EarlyEnd, RunOrder } from "./messages.ts";
import { endStrangers, memoryOf, spareMemory, strangers } from "./processes.ts";
import { ROOM } from "./room.ts";

/** How often is looked at what a command takes: in that time nobody gets much further than allowed. */
const WATCH_MS = 50;
const FILTER = `${ROOM}/etc/filter`;

export interface Ran {
  exitCode: number | null;
  ended: EarlyEnd | null;
  truncated: boolean;
  stdout: Buffer;
  stderr: Buffer;
}

/** Runs the command and ends all that it started. Resolves when none of it is left. */
export async function runCommand(order: RunOrder, filter: Buffer): Promise<Ran> {
  writeFileSync(FILTER, filter);
  const filterFd = openSync(FILTER, "r");
  // The fourth: the filter; the fifth: how it ended, as the wall's builder saw it. The command gets neither.
  const stdio = ["ignore", "pipe", "pipe", filterFd, "pipe"] as const;
  const child = spawn(order.program, order.args, { env: {}, cwd: "/", stdio: [...stdio] });
  closeSync(filterFd);
  const closed = once(child, "close");
  // Daemons outlive the command, and hold on to its output.
  const ended = once(child, "exit").then(endStrangers);
  const out = new KeptOutput(order.keptBytes);
  const err = new KeptOutput(order.keptBytes);
  child.stdout?.on("data", (piece: Buffer) => out.push(piece));
  child.stderr?.on("data", (piece: Buffer) => err.push(piece));
  const status = statusOf(child);
  const excess = await watch(order, () => out.total + err.total, Promise.all([ended, closed]));
  return {
    exitCode: exitCodeIn(status()),
    ended: excess,
    truncated: out.truncated || err.truncated,
    stdout: out.bytes(),
    stderr: err.bytes(),
  };
}

/** Ends the command where it goes beyond a limit, and says which. */
async function watch(
  order: RunOrder,
  written: () => number,
  gone: Promise<unknown>,
): Promise<EarlyEnd | null> {
  let ended: EarlyEnd | null = null;
  const end = (why: EarlyEnd) => {
    ended ??= why;
    return endStrangers().catch(die);
  };
  const late = setTimeout(() => void end("timeout"), order.timeoutMs);
  const look = setInterval(() => {
    const why = excessOf(order, written());
    if (why !== null) void end(why);
  }, WATCH_MS);
  try {
    await gone;
  } finally {
    clearTimeout(late);
    clearInterval(look);
  }
  return ended;
}

function excessOf(order: RunOrder, written: number): EarlyEnd | null {
  if (written > order.outputBytes) return "output";
  const { blocks, bfree, bsize, files, ffree } = statfsSync(ROOM);
  if (files - ffree > order.files) return "files";
  const left = order.memoryBytes - (blocks - bfree) * bsize;
  if (memoryOf(strangers(), left) > left || spareMemory() < order.spareBytes) return "memory";
  return null;
}

function die(error: unknown): never {
  // With the first process of the room everything in it ends.
  process.stderr.write(`${error}\n`);
  process.exit(1);
}

function statusOf(child: ChildProcess): () => string {
  let text = "";
  const pipe = child.stdio[4] as Readable;
  pipe.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  return () => text;
}

/** Of a command that was started; otherwise nothing about its end stands there. */
function exitCodeIn(status: string): number | null {
  const [, code] = /"exit-code": *(\d+)/.exec(status) ?? [];
  return code === undefined ? null : Number(code);
}
