import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { AppError } from "../core/errors.ts";
import { decodeName, nameBytes } from "../repo/git/names.ts";
import { ownerVariable } from "../repo/git/owner.ts";
import { killProgram, programGroup } from "../repo/git/run-process.ts";
import {
  type Command,
  innerArguments,
  outerArguments,
  type Sandbox,
  type SandboxLimits,
} from "./bubblewrap.ts";
import { type End, FromSupervisor, type LeftFile } from "./from-supervisor.ts";
import { isKnownProcessor, systemCallFilter } from "./seccomp.ts";
import { encodeFrame, FrameReader, type ToSupervisor } from "./supervisor/protocol.ts";

/** A path as a sandbox writes it: each character is one byte of the name (Latin-1). */
export const sandboxPath = (key: string): string => nameBytes(key).toString("latin1");
/** The key of a path that a sandbox wrote. */
export const keyOf = (path: string): string => decodeName(Buffer.from(path, "latin1"));

export interface PlacedFile {
  path: string;
  mode: Extract<ToSupervisor, { kind: "file" }>["mode"];
  bytes: Uint8Array;
}

export interface SandboxRun extends Command {
  /** Default: none. */
  files?: AsyncIterable<PlacedFile> | Iterable<PlacedFile>;
  timeoutMs: number;
  limits: SandboxLimits;
  /** Chooses the changed files to collect; default: none. Called once, after the last process of the command has ended. */
  wants?: (left: readonly LeftFile[], end: Pick<End, "exitCode" | "ended" | "odd">) => readonly string[];
  /** Longest file to collect, in bytes. */
  maxFileBytes?: number;
  /** Takes each collected file when it arrives, links included. Without it, `taken` has them all, and no link can be collected. */
  receive?: (file: TakenFile) => Promise<void>;
}

export interface TakenFile {
  path: string;
  executable: boolean;
  bytes: Buffer;
  /** Whether `bytes` are the target of a link. */
  isLink: boolean;
}

export interface SandboxOutcome extends Omit<End, "kind" | "exitCode"> {
  exitCode: number;
  stdout: Buffer;
  stderr: Buffer;
  taken: TakenFile[];
}

/** For copying the files in and out, and a prepared environment. */
const GRACE_MS = 100_000;
const LONG_GRACE_MS = 600_000;

/**
 * Runs a command on the given files. When this settles, no process and no file of it is left. Throws `aborted`, or `child_died` if the sandbox
 * fails.
 */
export async function runInSandbox(
  sandbox: Sandbox,
  run: SandboxRun,
  signal: AbortSignal,
): Promise<SandboxOutcome> {
  if (signal.aborted) throw new AppError("aborted", "Stopped before a command was run");
  // The supervisor enforces the time limit; this one is for a supervisor that does not.
  const grace = run.receive ? LONG_GRACE_MS : GRACE_MS;
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(run.timeoutMs + grace)]);
  await using session = new Session(sandbox, run, inTime);
  for await (const { path, mode, bytes } of run.files ?? [])
    await session.send({ kind: "file", path, mode }, bytes);
  const { limits, timeoutMs, environment } = run;
  const args = innerArguments(sandbox, limits, run);
  const order = { program: "/supervisor/bwrap", args, environment: environment !== undefined };
  await session.send({ kind: "run", ...order, timeoutMs, limits }, filter());
  const { end, stdout, stderr } = await readEnd(session);
  const { exitCode, kind: _, ...rest } = end;
  if (exitCode === null && rest.ended === null) {
    throw new AppError("child_died", `The inner sandbox cannot be built: ${stderr.toString().trim()}`);
  }
  const paths = run.wants?.(rest.left, end) ?? [];
  const taken: TakenFile[] = [];
  if (paths.length > 0) await take(session, paths, run, taken);
  return { ...rest, exitCode: exitCode ?? 128 + 9, stdout, stderr, taken };
}

function filter(): Buffer {
  const { arch } = process;
  if (!isKnownProcessor(arch))
    throw new AppError("child_died", `No filter of system calls is known for ${arch}`);
  return systemCallFilter(arch);
}

async function readEnd(session: Session): Promise<{ end: End; stdout: Buffer; stderr: Buffer }> {
  const output: Record<"stdout" | "stderr", Buffer> = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };
  for (;;) {
    const { message, body } = await session.next();
    if (message.kind === "end") return { end: message, ...output };
    if (message.kind === "stdout" || message.kind === "stderr") output[message.kind] = body;
    else throw new AppError("child_died", `The sandbox sent '${message.kind}' before the command ended`);
  }
}

async function take(
  session: Session,
  paths: readonly string[],
  run: SandboxRun,
  taken: TakenFile[],
): Promise<void> {
  const { maxFileBytes: maxBytes = 0, receive } = run;
  const expected = new Set(paths);
  await session.send({ kind: "take", paths, maxBytes, links: receive !== undefined });
  for (;;) {
    const { message, body: bytes } = await session.next();
    if (message.kind === "taken") return;
    const isLink = message.kind === "link" && receive !== undefined;
    // Each requested file at most once, and nothing else.
    if (
      !(message.kind === "file" || isLink) ||
      !expected.delete(message.path) ||
      bytes.length > (isLink ? MAX_TARGET : maxBytes)
    ) {
      throw new AppError("child_died", "The sandbox sent a file that was not requested");
    }
    const executable = message.kind === "file" && message.executable;
    const file = { path: message.path, executable, bytes, isLink };
    if (receive) await receive(file);
    else taken.push(file);
  }
}

/** PATH_MAX of Linux. */
const MAX_TARGET = 4_096;

interface Received {
  message: FromSupervisor;
  body: Buffer;
}

/** The user `nobody`, and its group. As root the process limit would not hold, and files of root would be readable. */
export const NOBODY = 65_534;
const END_MS = 5_000;
const STDERR_KEPT = 8_192;
/** Bytes of the line that replaces the middle of a long output. */
const GAP_BYTES = 200;

/** One outer sandbox with its supervisor. Disposing of it ends every process in it. */
class Session implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #received: AsyncGenerator<Received>;
  readonly #closed: Promise<void>;
  readonly #signal: AbortSignal;
  #stderr = "";
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(sandbox: Sandbox, run: SandboxRun, signal: AbortSignal) {
    this.#signal = signal;
    this.#child = start(sandbox, run);
    const { stdin, stderr } = this.#child;
    this.#closed = new Promise((resolve) => {
      this.#child.once("error", (error) => {
        this.#stderr += error.message;
        resolve();
      });
      this.#child.once("close", () => resolve());
    });
    stdin?.on("drain", () => this.#drained?.resolve());
    // `next` reports a session that has ended.
    stdin?.on("error", () => this.#drained?.resolve());
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT);
    });
    void this.#closed.then(() => this.#drained?.resolve());
    signal.addEventListener("abort", this.#close, { once: true });
    this.#received = this.#read(run);
  }

  /** Resolves when the pipe can take more. */
  async send(message: ToSupervisor, body?: Uint8Array): Promise<void> {
    this.#throwIfAborted();
    const { stdin } = this.#child;
    if (!stdin?.writable || stdin.write(encodeFrame(message, body))) return;
    this.#drained = Promise.withResolvers();
    await this.#drained.promise;
  }

  /** The next message. Throws `aborted`, or `child_died` if the session has ended or the supervisor reports a fault. */
  async next(): Promise<Received> {
    const { value } = await this.#received.next().catch((error: unknown) => {
      this.#throwIfAborted();
      throw new AppError("child_died", "The sandbox sent an unreadable message", { cause: error });
    });
    this.#throwIfAborted();
    if (!value) {
      await this.#closed;
      throw new AppError("child_died", `The sandbox has ended: ${this.#stderr.trim() || "no reason given"}`);
    }
    if (value.message.kind === "fault")
      throw new AppError("child_died", `In the sandbox: ${value.message.message}`);
    return value;
  }

  /** Resolves when no process of the session is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener("abort", this.#close);
    this.#close();
    const kill = setTimeout(() => killProgram(this.#child, "SIGKILL"), END_MS);
    await this.#closed;
    clearTimeout(kill);
  }

  /** The supervisor ends when its input is closed. As it started all other processes of the namespace, they end with it. */
  #close = () => {
    this.#child.stdin?.destroy();
    this.#child.stdout?.destroy();
  };

  #throwIfAborted(): void {
    if (this.#signal.aborted) throw new AppError("aborted", "Stopped while a command was running");
  }

  async *#read({ limits, maxFileBytes = 0 }: SandboxRun): AsyncGenerator<Received> {
    const reader = new FrameReader(Math.max(maxFileBytes + 1, 2 * limits.keptBytes + GAP_BYTES));
    for await (const piece of this.#child.stdout ?? []) {
      for (const { header, body } of reader.push(piece))
        yield { message: FromSupervisor.parse(header), body };
    }
  }
}

const supervisorFolder = join(import.meta.dirname, "supervisor");
const suffix = extname(import.meta.filename);
/** All code that the sandbox gets: this folder, and the package.json that makes its files modules. */
const supervisorFiles = [
  ...readdirSync(supervisorFolder)
    .filter((name) => extname(name) === suffix)
    .map((name) => join(supervisorFolder, name)),
  join(import.meta.dirname, "../../package.json"),
];

function start(sandbox: Sandbox, run: SandboxRun): ChildProcess {
  // As open files: `nobody` need not be able to read the folder that contains them.
  const open = supervisorFiles.map((file) => openSync(file, "r"));
  const code = new Map(supervisorFiles.map((file, index) => [basename(file), index + 3]));
  const isRoot = process.getuid?.() === 0;
  try {
    return spawn(
      sandbox.bwrap,
      [...outerArguments(sandbox, run.limits, run, code), "/supervisor/node", `/supervisor/main${suffix}`],
      {
        cwd: "/",
        // Not passed on into the sandbox. A server that starts later uses it to find leftovers of a killed one.
        env: { ...ownerVariable },
        stdio: ["pipe", "pipe", "pipe", ...open],
        ...programGroup(),
        ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
      },
    );
  } finally {
    for (const fd of open) closeSync(fd);
  }
}
