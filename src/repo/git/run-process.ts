import { type ChildProcess, spawn } from "node:child_process";
import { access, constants, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AppError } from "../../core/errors.ts";

interface ProcessRequest {
  /** Absolute path of the program. */
  program: string;
  args: readonly string[];
  cwd: string;
  /** The whole environment: nothing is inherited. */
  env: Readonly<Record<string, string>>;
  /** Its input; pieces are read as fast as the program reads them, and an error of the iterable rejects this call. */
  input?: string | Buffer | AsyncIterable<Buffer> | undefined;
  signal?: AbortSignal | undefined;
  /** The process is killed this many milliseconds after its start. */
  timeoutMs: number;
  /** Receives stdout as it arrives; "stop" ends the process at once, which is not a failure. Without it, stdout is part of the result. */
  onStdout?: (chunk: Buffer) => "stop" | undefined;
  /** SIGTERM lets git remove its lock files; SIGKILL follows two seconds later. Default SIGKILL. */
  killSignal?: "SIGTERM" | "SIGKILL";
}

interface ProcessEnd {
  /** Null if a signal ended it. */
  exitCode: number | null;
  /** Empty if `onStdout` received it. */
  stdout: Buffer;
  /** The last 16 KiB. */
  stderr: string;
  /** Whether `onStdout` stopped it. */
  stopped: boolean;
}

const STDERR_KEPT = 16_384;

let inThisGroup = false;

/** For a process that leads a group created for it: from now on programs run in that group, so that killing it ends them too. */
export function keepProgramsInThisGroup(): void {
  inThisGroup = true;
}

/** The options for starting every program: by default as the leader of its own process group. */
export const programGroup = () => ({ detached: !inThisGroup });

/** Kills a program and all of its children, or only the program if it runs in this process's group. */
export function killProgram(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  if (inThisGroup) child.kill(signal);
  else killGroup(child, signal);
}

/** Kills a process that leads a group, and everything in the group. */
export function killGroup(leader: Pick<ChildProcess, "pid">, signal: "SIGTERM" | "SIGKILL"): void {
  if (leader.pid === undefined) return;
  try {
    process.kill(-leader.pid, signal);
  } catch {
    // Already gone.
  }
}

/** Runs a program without a shell. Rejects with `aborted`, `git_timeout`, an error thrown by `onStdout`, or the system's if it cannot start. */
export function runProcess(request: ProcessRequest): Promise<ProcessEnd> {
  const { signal } = request;
  const chunks: Buffer[] = [];
  const keep = (chunk: Buffer) => {
    chunks.push(chunk);
    return undefined;
  };
  const { onStdout = keep } = request;
  if (signal?.aborted) return Promise.reject(new AppError("aborted", "Aborted before it started"));
  return new Promise((resolve, reject) => {
    const child = spawn(request.program, request.args, {
      cwd: request.cwd,
      env: { ...request.env },
      stdio: [request.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      ...programGroup(),
    });
    let stderr = "";
    let stopped = false;
    let failure: unknown;
    let hardKill: NodeJS.Timeout | undefined;

    const kill = (reason?: unknown) => {
      failure ??= reason;
      const gentle = request.killSignal === "SIGTERM";
      killProgram(child, gentle ? "SIGTERM" : "SIGKILL");
      if (gentle) hardKill ??= setTimeout(() => killProgram(child, "SIGKILL"), 2000);
    };
    const onAbort = () => kill(new AppError("aborted", "Aborted while a program was running"));
    const timer = setTimeout(() => kill(timeoutError(request)), request.timeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });

    child.stdout?.on("data", (chunk: Buffer) => {
      if (stopped || failure !== undefined) return;
      try {
        if (onStdout(chunk) !== "stop") return;
        stopped = true;
        kill();
      } catch (error) {
        kill(error);
      }
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      stderr = (stderr + text).slice(-STDERR_KEPT);
    });
    // A program that ends before it has read its input breaks the pipe; its exit code gives the reason.
    child.stdin?.on("error", () => {});
    if (child.stdin && request.input !== undefined) feed(child.stdin, request.input).catch(kill);

    const settle = () => {
      clearTimeout(timer);
      clearTimeout(hardKill);
      signal?.removeEventListener("abort", onAbort);
    };
    child.on("error", (error) => {
      settle();
      reject(error);
    });
    child.on("close", (exitCode) => {
      settle();
      if (failure !== undefined) reject(failure);
      else resolve({ exitCode, stdout: Buffer.concat(chunks), stderr, stopped });
    });
  });
}

/** Rejects with an error of the input; for a broken pipe, the program's exit code gives the reason. */
async function feed(stdin: Writable, input: string | Buffer | AsyncIterable<Buffer>): Promise<void> {
  if (typeof input === "string" || Buffer.isBuffer(input)) {
    stdin.end(input);
    return;
  }
  let fault: unknown;
  const pieces = async function* () {
    try {
      yield* input;
    } catch (error) {
      fault = error;
    }
  };
  await pipeline(pieces, stdin).catch(() => {});
  if (fault !== undefined) throw fault;
}

function timeoutError(request: ProcessRequest): AppError {
  const name = request.program.split("/").at(-1);
  const seconds = Math.round(request.timeoutMs / 1000);
  return new AppError("git_timeout", `${name} ran longer than ${seconds} s and was stopped`, {
    retryable: true,
  });
}

const NEWLINE = 10;
const MAX_BYTES = 32 * 1024 * 1024;

interface SplitterOptions {
  /** The bytes that end a line, in turn. Default only newline. */
  ends?: readonly number[];
  /** Longer lines are left out, because they would fill the memory. Default 32 MB. */
  maxBytes?: number;
}

/** For git's `-z` output: no record is left out. */
export const byNul: SplitterOptions = { ends: [0], maxBytes: Number.POSITIVE_INFINITY };

/** Splits a stream into lines as it arrives. A line is a view into its piece: copy what is kept, or the whole piece stays in memory. */
export class LineSplitter {
  readonly #onLine: (line: Buffer, end: number) => "stop" | undefined;
  readonly #ends: readonly number[];
  readonly #maxBytes: number;
  #ended = 0;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(
    onLine: (line: Buffer, end: number) => "stop" | undefined,
    { ends = [NEWLINE], maxBytes = MAX_BYTES }: SplitterOptions = {},
  ) {
    this.#onLine = onLine;
    this.#ends = ends;
    this.#maxBytes = maxBytes;
  }

  get #end(): number {
    return this.#ends[this.#ended % this.#ends.length] ?? NEWLINE;
  }

  push(chunk: Buffer): "stop" | undefined {
    let start = 0;
    for (let end = chunk.indexOf(this.#end); end >= 0; end = chunk.indexOf(this.#end, start)) {
      const piece = chunk.subarray(start, end);
      start = end + 1;
      if (this.#finish(piece) === "stop") return "stop";
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return undefined;
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#maxBytes) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  #finish(last: Buffer): "stop" | undefined {
    const fits = this.#bytes + last.length <= this.#maxBytes;
    const line = fits && this.#pieces.length > 0 ? Buffer.concat([...this.#pieces, last]) : last;
    const end = this.#end;
    this.#ended += 1;
    this.#pieces = [];
    this.#bytes = 0;
    return fits ? this.#onLine(line, end) : undefined;
  }
}

/** The first program of this name on a PATH; undefined if there is none. */
export async function findOnPath(name: string, searchPath: string): Promise<string | undefined> {
  // In a relative folder, the current directory would decide which program runs.
  for (const folder of searchPath.split(delimiter).filter(isAbsolute)) {
    const path = join(folder, name);
    const isFile = await stat(path)
      .then((stats) => stats.isFile())
      .catch(() => false);
    if (
      isFile &&
      (await access(path, constants.X_OK)
        .then(() => true)
        .catch(() => false))
    )
      return path;
  }
  return undefined;
}
