import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { AppError } from "../../errors.ts";
import type { ObjectPlace } from "../checkout-place.ts";
import { configVariables, gitEnvironment, hardenedConfig } from "../git-environment.ts";
import { killProgram, programGroup } from "../run-process.ts";

const NEWLINE = 10;

/**
 * The bytes of blobs one after the other, as fast as they are taken: at no time are there more than one blob and what a pipe
 * holds in memory. Null stands for one of more than `maxBytes`, whose bytes are passed over. Rejects with `git_failed` for a
 * blob that is not there. Dispose of it: it keeps a git process.
 */
export class BlobStream implements AsyncIterable<Buffer | null>, AsyncDisposable {
  readonly #oids: readonly string[];
  readonly #maxBytes: number;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #closed: Promise<void>;

  constructor(place: ObjectPlace, oids: readonly string[], maxBytes: number) {
    this.#oids = oids;
    this.#maxBytes = maxBytes;
    const args = [`--git-dir=${place.gitDir}`, "cat-file", "--batch", "--buffer"];
    this.#child = spawn(place.gitPath, args, {
      cwd: place.emptyHome,
      env: { ...gitEnvironment(place), ...configVariables(hardenedConfig()) },
      stdio: ["pipe", "pipe", "ignore"],
      ...programGroup(),
    });
    this.#closed = new Promise((resolve) => {
      this.#child.on("close", () => resolve()).on("error", () => resolve());
    });
    // It may end before it has read everything; the answers that are missing say so.
    this.#child.stdin.on("error", () => {});
    this.#child.stdin.end(oids.map((oid) => `${oid}\n`).join(""));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer | null, void, undefined> {
    const answers = new Answers(this.#child.stdout.iterator());
    for (const oid of this.#oids) yield await answers.next(oid, this.#maxBytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    killProgram(this.#child, "SIGKILL");
    // What nobody reads any more would keep it from being closed.
    this.#child.stdout.destroy();
    await this.#closed;
  }
}

/** What `git cat-file --batch` prints: `OID blob SIZE`, a line feed, the bytes, a line feed. */
class Answers {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest = Buffer.alloc(0);

  constructor(chunks: AsyncIterator<Buffer>) {
    this.#chunks = chunks;
  }

  async next(oid: string, maxBytes: number): Promise<Buffer | null> {
    const header = await this.#line();
    const [name, type, size] = header.split(" ");
    const bytes = Number(size);
    if (name !== oid || type !== "blob" || !Number.isInteger(bytes))
      throw new AppError("git_failed", `There is no blob ${oid} (${header.slice(0, 100)})`);
    if (bytes > maxBytes) {
      await this.#skip(bytes + 1);
      return null;
    }
    return (await this.#take(bytes + 1)).subarray(0, bytes);
  }

  async #line(): Promise<string> {
    let end = this.#rest.indexOf(NEWLINE);
    while (end < 0) {
      this.#rest = Buffer.concat([this.#rest, await this.#more()]);
      end = this.#rest.indexOf(NEWLINE);
    }
    const line = this.#rest.toString("latin1", 0, end);
    this.#rest = this.#rest.subarray(end + 1);
    return line;
  }

  async #take(count: number): Promise<Buffer> {
    if (this.#rest.length < count) {
      const pieces = [this.#rest];
      let length = this.#rest.length;
      while (length < count) {
        const piece = await this.#more();
        pieces.push(piece);
        length += piece.length;
      }
      this.#rest = Buffer.concat(pieces);
    }
    const taken = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return taken;
  }

  async #skip(count: number): Promise<void> {
    let left = count - this.#rest.length;
    while (left > 0) {
      this.#rest = await this.#more();
      left -= this.#rest.length;
    }
    this.#rest = this.#rest.subarray(this.#rest.length + left);
  }

  async #more(): Promise<Buffer<ArrayBuffer>> {
    const { done, value } = await this.#chunks.next();
    if (!done) return value as Buffer<ArrayBuffer>;
    throw new AppError("git_failed", "git cat-file ended unexpectedly", { retryable: true });
  }
}
