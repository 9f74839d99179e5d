/**
 * What runs behind the first wall: it has no network, no secret and nothing of the machine but its programs. It puts the files of the
 * workspace into a room in memory, runs the command behind a second wall, watches what it takes, ends all that it started, and then
 * says which files are different. Only Node's own modules are there.
 */
import { writeFileSync } from "node:fs";
import { encodeFrame, type Frame, FrameReader } from "./frames.ts";
import { closeInherited } from "./inherited.ts";
import { findLeft, readLeft } from "./left-files.ts";
import type { FromWarden, RunOrder, ToWarden } from "./messages.ts";
import { endStrangers, requireRoom } from "./processes.ts";
import { furnish, Inventory } from "./room.ts";
import { runCommand } from "./run-command.ts";

/** Time by which files are told apart passes in ticks of up to 10 ms. */
const TICK_MS = 20;
const MAX_BODY = 2 ** 31;

const say = (message: FromWarden, body?: Uint8Array) => process.stdout.write(encodeFrame(message, body));
const inventory = new Inventory();

async function run(order: RunOrder, filter: Buffer): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  const { stdout, stderr, ...end } = await runCommand(order, filter);
  say({ kind: "stdout" }, stdout);
  say({ kind: "stderr" }, stderr);
  say({ kind: "end", ...end, ...findLeft(inventory.traces) });
}

function give(paths: readonly string[], maxBytes: number): void {
  for (const path of paths) {
    const file = readLeft(path, maxBytes);
    if (file) say({ kind: "file", path, executable: file.executable }, file.bytes);
  }
  say({ kind: "taken" });
}

async function obey({ header, body }: Frame): Promise<void> {
  const order = header as ToWarden;
  if (order.kind === "file") inventory.put(order.path, order.mode, body);
  else if (order.kind === "run") await run(order, body);
  else give(order.paths, order.maxBytes);
}

function fail(error: unknown): void {
  say({ kind: "fault", message: error instanceof Error ? error.message : String(error) });
}

requireRoom();
closeInherited();
// Where memory runs out, this and what it starts are the first to go.
writeFileSync("/proc/self/oom_score_adj", "1000");
furnish();
const frames = new FrameReader(MAX_BODY);
let last = Promise.resolve();
process.stdin.on("data", (piece: Buffer) => {
  for (const frame of frames.push(piece)) last = last.then(() => obey(frame)).catch(fail);
});
// Whoever asked is gone or wants no more. What is still there then ends with the first process of the room, but nobody could wait for it.
const leave = () => process.exit(0);
process.stdout.on("error", () => {});
process.stdin.on("end", () => void endStrangers().then(leave, leave));
