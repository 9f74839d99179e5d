import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { AppError } from "../errors.ts";
import { ownerVariable } from "../git/owner.ts";
import { killProgram, programGroup } from "../git/run-process.ts";
import { Answer } from "./answers.ts";
import type { SandboxLimits } from "./limits.ts";
import type { Sandbox } from "./sandbox.ts";
import { firstWall } from "./walls.ts";
import { encodeFrame, FrameReader } from "./warden/frames.ts";
import type { ToWarden } from "./warden/messages.ts";

/** Nobody. As root no limit of processes would hold, and files of root could be read. */
const NOBODY = 65_534;
/** How long a room may take to end by itself before it is made to. */
const PATIENCE_MS = 5_000;
const STDERR_KEPT = 8_192;
/** Bytes of the words between head and tail of an output. */
const OF_A_GAP = 200;

const wardenFolder = join(import.meta.dirname, "warden");
const suffix = extname(import.meta.filename);
/** The warden's files, and the few words that make them modules. */
const wardenFiles = readdirSync(wardenFolder).filter((name) => extname(name) === suffix);

export interface Reply {
  answer: Answer;
  body: Buffer;
}

/** A room behind the first wall, with its warden. Disposing of it ends everything in it. */
export class Room implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #replies: AsyncGenerator<Reply>;
  readonly #closed: Promise<void>;
  readonly #signal: AbortSignal;
  #stderr = "";
  #drained: PromiseWithResolvers<void> | null = null;

  /** @param longest bytes of a file that will be asked for */
  constructor(sandbox: Sandbox, limits: SandboxLimits, longest: number, signal: AbortSignal) {
    this.#signal = signal;
    this.#child = start(sandbox, limits);
    const { stdin, stderr } = this.#child;
    this.#closed = new Promise((resolve) => {
      this.#child.once("error", (error) => {
        this.#stderr += error.message;
        resolve();
      });
      this.#child.once("close", () => resolve());
    });
    stdin?.on("drain", () => this.#drained?.resolve());
    // A room that has ended says so where its next answer is waited for.
    stdin?.on("error", () => this.#drained?.resolve());
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_KEPT);
    });
    void this.#closed.then(() => this.#drained?.resolve());
    signal.addEventListener("abort", this.#close, { once: true });
    this.#replies = this.#read(limits, longest);
  }

  /** Resolves once there is place for more. */
  async send(message: ToWarden, body?: Uint8Array): Promise<void> {
    this.#throwIfAborted();
    const { stdin } = this.#child;
    if (!stdin?.writable || stdin.write(encodeFrame(message, body))) return;
    this.#drained = Promise.withResolvers();
    await this.#drained.promise;
  }

  /**
   * The next answer.
   * @throws AppError `aborted`, or `child_died` where the room has ended or the warden says that something is wrong
   */
  async next(): Promise<Reply> {
    const { value } = await this.#replies.next().catch((error: unknown) => {
      this.#throwIfAborted();
      throw new AppError("child_died", "The sandbox sent an answer that cannot be read", { cause: error });
    });
    this.#throwIfAborted();
    if (!value) {
      await this.#closed;
      throw new AppError(
        "child_died",
        `The sandbox has ended: ${this.#stderr.trim() || "it did not say why"}`,
      );
    }
    if (value.answer.kind === "fault")
      throw new AppError("child_died", `In the sandbox: ${value.answer.message}`);
    return value;
  }

  /** Resolves when no process of the room is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener("abort", this.#close);
    this.#close();
    const hard = setTimeout(() => killProgram(this.#child, "SIGKILL"), PATIENCE_MS);
    await this.#closed;
    clearTimeout(hard);
  }

  /** The warden ends when it hears nothing any more, and with it all others: it was the first of their processes. */
  #close = () => {
    this.#child.stdin?.destroy();
    this.#child.stdout?.destroy();
  };

  #throwIfAborted(): void {
    if (this.#signal.aborted) throw new AppError("aborted", "Stopped while a command was running");
  }

  async *#read({ keptBytes }: SandboxLimits, longest: number): AsyncGenerator<Reply> {
    const reader = new FrameReader(Math.max(longest + 1, 2 * keptBytes + OF_A_GAP));
    for await (const piece of this.#child.stdout ?? []) {
      for (const { header, body } of reader.push(piece)) yield { answer: Answer.parse(header), body };
    }
  }
}

function start(sandbox: Sandbox, limits: SandboxLimits): ChildProcess {
  const files = [
    ...wardenFiles.map((name) => join(wardenFolder, name)),
    join(import.meta.dirname, "../../package.json"),
  ];
  const open = files.map((file) => openSync(file, "r"));
  const code = new Map(files.map((file, index) => [basename(file), index + 3]));
  const isRoot = process.getuid?.() === 0;
  try {
    return spawn(
      sandbox.bwrap,
      [...firstWall(sandbox, limits, code), "/warden/node", `/warden/main${suffix}`],
      {
        cwd: "/",
        // What it starts has nothing of it; a server that is started later knows by it what a killed one left.
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
