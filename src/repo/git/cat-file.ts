import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { AppError } from "../../core/errors.ts";
import {
  configVariables,
  type Git,
  gitEnvironment,
  hardenedConfig,
  isObjectName,
  runGit,
} from "./run-git.ts";
import { killProgram, programGroup } from "./run-process.ts";

/** Reads the next line, then the next N bytes, from a stream in pieces of any size. */
class ByteReader {
  readonly #chunks: Buffer[] = [];
  #length = 0;
  #wake: (() => void) | undefined;
  #failure: AppError | undefined;

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    this.#wake?.();
  }

  fail(error: AppError): void {
    this.#failure ??= error;
    this.#wake?.();
  }

  async line(): Promise<string> {
    for (;;) {
      const all = this.#joined();
      const end = all.indexOf(10);
      if (end >= 0) return this.#take(end + 1).toString("latin1", 0, end);
      await this.#more();
    }
  }

  async bytes(count: number): Promise<Buffer> {
    while (this.#length < count) await this.#more();
    return this.#take(count);
  }

  #joined(): Buffer {
    if (this.#chunks.length > 1) this.#chunks.splice(0, this.#chunks.length, Buffer.concat(this.#chunks));
    return this.#chunks[0] ?? Buffer.alloc(0);
  }

  #take(count: number): Buffer {
    const all = this.#joined();
    this.#chunks.length = 0;
    this.#length = all.length - count;
    if (this.#length > 0) this.#chunks.push(all.subarray(count));
    return all.subarray(0, count);
  }

  async #more(): Promise<void> {
    if (this.#failure) throw this.#failure;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
    if (this.#failure) throw this.#failure;
  }
}

interface Running {
  child: ChildProcessByStdio<Writable, Readable, null>;
  reader: ByteReader;
  /** Settles when the last request is answered. */
  answered: Promise<unknown>;
}

type ObjectType = "blob" | "tree" | "commit";

/** git's exit code if it gives up, for example at a damaged object. */
const FATAL = 128;
const gaveUp = new AppError("git_failed", "git cat-file gave up at an object");

/** A long-lived `git cat-file --batch-command` process. It answers in the order of the requests, so many can be on their way. */
export class CatFile implements AsyncDisposable {
  readonly #git: Git;
  readonly #gitDir: string;
  readonly #maxBytes: number;
  #running: Running | undefined;
  #closed = false;

  constructor(git: Git, gitDir: string, maxBytes: number) {
    this.#git = git;
    this.#gitDir = gitDir;
    this.#maxBytes = maxBytes;
  }

  /**
   * An object's bytes. Rejects with `too_large` before any content is read, with `revision_unknown` if there is no such object, or a damaged
   * one. git ends there, so each request without an answer is repeated by a process of its own.
   */
  async read(oid: string, wanted: ObjectType = "blob"): Promise<Buffer> {
    if (!isObjectName(oid)) throw new AppError("revision_unknown", `'${oid}' is not a full object name`);
    return await this.#read(this.#start(), oid, wanted).catch(async (error: unknown) => {
      if (error !== gaveUp) throw error;
      const args = ["cat-file", wanted, oid];
      const place = { git: this.#git, gitDir: this.#gitDir, maxBytes: this.#maxBytes };
      const alone = await runGit({ ...place, what: "read an object", args }).catch((cause: unknown) => {
        if (!(cause instanceof AppError) || cause.code !== "git_failed") throw cause;
        throw new AppError("revision_unknown", `The ${wanted} ${oid} is damaged`, { cause });
      });
      return alone.stdout;
    });
  }

  async #read(running: Running, oid: string, wanted: ObjectType): Promise<Buffer> {
    const info = await ask(running, `info ${oid}\n`, (reader) => reader.line());
    const [, type, size] = info.split(" ");
    if (type !== wanted)
      throw new AppError("revision_unknown", `There is no ${wanted} ${oid} (${type ?? "no answer"})`);
    const bytes = Number(size);
    if (bytes > this.#maxBytes) {
      throw new AppError("too_large", `The ${wanted} ${oid} has ${bytes} bytes, more than ${this.#maxBytes}`);
    }
    return await ask(running, `contents ${oid}\n`, async (reader) => {
      await reader.line();
      return (await reader.bytes(bytes + 1)).subarray(0, bytes);
    });
  }

  #start(): Running {
    if (this.#running) return this.#running;
    if (this.#closed) throw new AppError("aborted", "The workspace was closed");
    const child = spawn(this.#git.gitPath, [`--git-dir=${this.#gitDir}`, "cat-file", "--batch-command"], {
      cwd: this.#git.emptyHome,
      env: { ...gitEnvironment(this.#git), ...configVariables(hardenedConfig()) },
      stdio: ["pipe", "pipe", "ignore"],
      ...programGroup(),
    });
    const reader = new ByteReader();
    const lost = (end: unknown) => {
      const unexpected = new AppError("git_failed", "git cat-file ended unexpectedly", { retryable: true });
      reader.fail(end === FATAL ? gaveUp : unexpected);
      if (this.#running?.child === child) this.#running = undefined;
    };
    child.stdout.on("data", (chunk: Buffer) => reader.push(chunk));
    child.stdin.on("error", () => {});
    child.on("error", lost);
    child.on("close", lost);
    this.#running = { child, reader, answered: Promise.resolve() };
    return this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const child = this.#running?.child;
    if (!child) return;
    const closed = new Promise((resolve) => child.once("close", resolve));
    child.stdin.end();
    killProgram(child, "SIGKILL");
    await closed;
  }
}

function ask<Answer>(
  running: Running,
  request: string,
  take: (reader: ByteReader) => Promise<Answer>,
): Promise<Answer> {
  running.child.stdin.write(request);
  const answer = running.answered.then(() => take(running.reader));
  running.answered = answer.catch(() => {});
  return answer;
}
