import { AppError } from "../errors.ts";
import type { End } from "./answers.ts";
import type { SandboxLimits } from "./limits.ts";
import { Room } from "./room.ts";
import type { Sandbox } from "./sandbox.ts";
import { isKnownProcessor, systemCallFilter } from "./seccomp.ts";
import { type Command, secondWall } from "./walls.ts";
import type { LeftFile, ToWarden } from "./warden/messages.ts";

/** A file for the workspace, by its name with each character a byte. */
export interface PlacedFile {
  path: string;
  mode: Extract<ToWarden, { kind: "file" }>["mode"];
  bytes: Uint8Array;
}

export interface SandboxRun extends Command {
  files: AsyncIterable<PlacedFile> | Iterable<PlacedFile>;
  timeoutMs: number;
  limits: SandboxLimits;
  /** Which of the files that are different are wanted; asked once, when nothing of the command is left. */
  wants: (left: readonly LeftFile[]) => readonly string[];
  /** Bytes of the longest file that is handed out. */
  longest: number;
}

/** For putting the files there, and taking them. */
const GRACE_MS = 100_000;

/** One of the files that were wanted. */
export interface TakenFile {
  path: string;
  executable: boolean;
  bytes: Buffer;
}

export interface SandboxOutcome extends Omit<End, "kind" | "exitCode"> {
  exitCode: number;
  stdout: Buffer;
  stderr: Buffer;
  taken: TakenFile[];
}

/**
 * Runs a command where it can do no harm, on files that are put there for it. When this settles, nothing of it is left: no process, no
 * file. Rejects with `aborted`, or with `child_died` where no sandbox can be built or it breaks.
 */
export async function runInSandbox(
  sandbox: Sandbox,
  run: SandboxRun,
  signal: AbortSignal,
): Promise<SandboxOutcome> {
  if (signal.aborted) throw new AppError("aborted", "Stopped before a command was run");
  // The warden keeps the time; this is for one that does not.
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(run.timeoutMs + GRACE_MS)]);
  await using room = new Room(sandbox, run.limits, run.longest, inTime);
  for await (const { path, mode, bytes } of run.files) await room.send({ kind: "file", path, mode }, bytes);
  await room.send(orderFor(sandbox, run), filter());
  const { end, stdout, stderr } = await readEnd(room);
  const { exitCode, kind: _, ...rest } = end;
  if (exitCode === null && rest.ended === null) {
    throw new AppError(
      "child_died",
      `The second wall of the sandbox cannot be built: ${stderr.toString().trim()}`,
    );
  }
  const paths = run.wants(rest.left);
  const taken = paths.length === 0 ? [] : await take(room, paths, run.longest);
  return { ...rest, exitCode: exitCode ?? 128 + 9, stdout, stderr, taken };
}

function orderFor(sandbox: Sandbox, run: SandboxRun): ToWarden {
  const { memoryBytes, spareBytes, files, outputBytes, keptBytes } = run.limits;
  return {
    kind: "run",
    program: "/warden/bwrap",
    args: secondWall(sandbox, run.limits, run),
    timeoutMs: run.timeoutMs,
    ...{ memoryBytes, spareBytes, files, outputBytes, keptBytes },
  };
}

function filter(): Buffer {
  const { arch } = process;
  if (!isKnownProcessor(arch))
    throw new AppError("child_died", `No filter of system calls is known for ${arch}`);
  return systemCallFilter(arch);
}

async function readEnd(room: Room): Promise<{ end: End; stdout: Buffer; stderr: Buffer }> {
  const output: Record<"stdout" | "stderr", Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  for (;;) {
    const { answer, body } = await room.next();
    if (answer.kind === "end") return { end: answer, ...output };
    if (answer.kind === "stdout" || answer.kind === "stderr") output[answer.kind] = body;
    else throw new AppError("child_died", `The sandbox says '${answer.kind}' before the command has ended`);
  }
}

async function take(room: Room, paths: readonly string[], longest: number): Promise<TakenFile[]> {
  const asked = new Set(paths);
  const taken: TakenFile[] = [];
  await room.send({ kind: "take", paths, maxBytes: longest });
  for (;;) {
    const { answer, body: bytes } = await room.next();
    if (answer.kind === "taken") return taken;
    // Each one that was asked for once, and nothing else.
    if (answer.kind !== "file" || !asked.delete(answer.path) || bytes.length > longest) {
      throw new AppError("child_died", "The sandbox hands out what it was not asked for");
    }
    taken.push({ path: answer.path, executable: answer.executable, bytes });
  }
}
