/**
 * The supervisor, in the outer sandbox: writes the workspace's files to memory, runs the command in an inner sandbox within limits, ends all
 * its processes, and lists the files that differ. It has only this folder and Node's own modules.
 */
import { once } from "node:events";
import { closeSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { FromSupervisor } from "../from-supervisor.ts";
import { endOthers, requireOwnNamespace, runCommand } from "./command.ts";
import { encodeFrame, type Frame, FrameReader, type RunOrder, type ToSupervisor } from "./protocol.ts";
import { createFolders, findLeft, readLeft, readLink, Workspace } from "./workspace.ts";

/** The kernel's file times advance in steps of up to 10 ms. */
const TICK_MS = 20;
const MAX_BODY = 2 ** 31;

const send = (message: FromSupervisor, body?: Uint8Array) => process.stdout.write(encodeFrame(message, body));
const workspace = new Workspace();

async function run(order: RunOrder, filter: Buffer): Promise<void> {
  if (order.environment) workspace.linkEnvironment();
  // So that each change by the command gets a later time than the file.
  await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  const { stdout, stderr, ...end } = await runCommand(order, filter);
  send({ kind: "stdout" }, stdout);
  send({ kind: "stderr" }, stderr);
  send({ kind: "end", ...end, ...findLeft(workspace.traces) });
}

async function give({ paths, maxBytes, links }: Extract<ToSupervisor, { kind: "take" }>): Promise<void> {
  for (const path of paths) {
    const left = readLeft(path, maxBytes) ?? (links ? readLink(path) : null);
    if (left === null) continue;
    const message = left.kind === "link" ? { kind: left.kind, path } : { ...left, path, bytes: undefined };
    // All of them at once may be more than the memory holds.
    if (!send(message, left.bytes)) await once(process.stdout, "drain");
  }
  send({ kind: "taken" });
}

async function obey({ header, body }: Frame): Promise<void> {
  const order = header as ToSupervisor;
  if (order.kind === "file") workspace.put(order.path, order.mode, body);
  else if (order.kind === "run") await run(order, body);
  else await give(order);
}

function fail(error: unknown): void {
  send({ kind: "fault", message: error instanceof Error ? error.message : String(error) });
}

const FIRST_INHERITED = 3;
/** O_CLOEXEC, in octal as /proc shows it. */
const CLOSE_ON_EXEC = 0o2000000;

/** Closes descriptors that the server's parent had open, which programs pass on: a command could read the files behind them. */
function closeInherited(): void {
  for (const name of readdirSync("/proc/self/fd")) {
    const fd = Number(name);
    if (fd >= FIRST_INHERITED && !closesOnExec(fd)) closeSync(fd);
  }
}

/** Also true for a descriptor that is already closed: that of the listing itself. */
function closesOnExec(fd: number): boolean {
  try {
    const [, flags = ""] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    return true;
  }
}

requireOwnNamespace();
closeInherited();
// If memory runs out, the kernel kills this process and its children first.
writeFileSync("/proc/self/oom_score_adj", "1000");
createFolders();
const frames = new FrameReader(MAX_BODY);
let last = Promise.resolve();
process.stdin.on("data", (piece: Buffer) => {
  for (const frame of frames.push(piece)) last = last.then(() => obey(frame)).catch(fail);
});
// The server has ended or needs no more. The others would end with the namespace, but the server could not wait for that.
const leave = () => process.exit(0);
process.stdout.on("error", () => {});
process.stdin.on("end", () => void endOthers().then(leave, leave));
