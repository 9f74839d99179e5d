import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { AppError } from "../errors.ts";
import {
  configVariables,
  type Git,
  gitEnvironment,
  hardenedConfig,
  isObjectName,
} from "./git-environment.ts";
import { killProgram, programGroup } from "./run-process.ts";

/** Reads from a stream the next line, then the next N bytes, in whatever pieces they come. */
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
}

/** One long-lived `git cat-file --batch-command` that answers one request after the other. */
export class CatFile implements AsyncDisposable {
  readonly #git: Git;
  readonly #gitDir: string;
  readonly #maxBytes: number;
  #running: Running | undefined;
  #closed = false;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(git: Git, gitDir: string, maxBytes: number) {
    this.#git = git;
    this.#gitDir = gitDir;
    this.#maxBytes = maxBytes;
  }

  /** A blob's bytes. Rejects with `too_large` before any content is read, `revision_unknown` when there is no such blob. */
  read(oid: string): Promise<Buffer> {
    const result = this.#queue.then(() => this.#read(oid));
    this.#queue = result.catch(() => {});
    return result;
  }

  async #read(oid: string): Promise<Buffer> {
    if (!isObjectName(oid)) throw new AppError("revision_unknown", `'${oid}' is not a full object name`);
    const { child, reader } = this.#start();
    child.stdin.write(`info ${oid}\n`);
    const [, type, size] = (await reader.line()).split(" ");
    if (type !== "blob")
      throw new AppError("revision_unknown", `There is no blob ${oid} (${type ?? "no answer"})`);
    const bytes = Number(size);
    if (bytes > this.#maxBytes) {
      throw new AppError("too_large", `Blob ${oid} has ${bytes} bytes, more than ${this.#maxBytes}`);
    }
    child.stdin.write(`contents ${oid}\n`);
    await reader.line();
    const content = await reader.bytes(bytes + 1);
    return content.subarray(0, bytes);
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
    const lost = () => {
      reader.fail(new AppError("git_failed", "git cat-file ended unexpectedly", { retryable: true }));
      if (this.#running?.child === child) this.#running = undefined;
    };
    child.stdout.on("data", (chunk: Buffer) => reader.push(chunk));
    child.stdin.on("error", () => {});
    child.on("error", lost);
    child.on("close", lost);
    this.#running = { child, reader };
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
