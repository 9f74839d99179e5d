import { createHash } from "node:crypto";
import { AppError } from "../../src/core/errors.ts";
import type { TreeEntry } from "../../src/repo/git/workspace.ts";
import type { CommandFiles } from "../../src/sandbox/command-port.ts";

type Mode = "100644" | "100755" | "120000";

/** Files in memory that commands can be run on. */
export class MemoryFiles implements CommandFiles {
  readonly #files = new Map<string, { mode: Mode; bytes: Buffer }>();
  readonly isPrivate: (path: string) => boolean;
  /** Paths that the door for changes does not let through. */
  readonly closed = new Set<string>();

  constructor(files: Record<string, string | Buffer>, isPrivate = (_: string) => false) {
    this.isPrivate = isPrivate;
    for (const [path, text] of Object.entries(files)) this.put(path, text);
  }

  put(path: string, text: string | Buffer, mode: Mode = "100644"): void {
    this.#files.set(path, { mode, bytes: Buffer.from(text) });
  }

  /** Texts by path. */
  texts(): Record<string, string> {
    return Object.fromEntries([...this.#files].map(([path, { bytes }]) => [path, bytes.toString("latin1")]));
  }

  modeOf(path: string): string | undefined {
    return this.#files.get(path)?.mode;
  }

  readonly workspace = {
    tree: async () => {
      const entries = [...this.#files].map(([path, { mode }]): [string, TreeEntry] => [
        path,
        { path, mode, oid: createHash("sha1").update(path).digest("hex") },
      ]);
      return new Map(entries);
    },
    readBlob: async (oid: string) => {
      for (const [path, { oid: known }] of await this.workspace.tree()) {
        if (known !== oid) continue;
        const text = this.#files.get(path)?.bytes.toString("utf8") ?? "";
        return { text, encoding: "utf8" as const, binary: false, bytes: text.length };
      }
      throw new AppError("usage", `no blob ${oid}`);
    },
  };

  readonly edit = {
    read: async (path: string) => {
      const file = this.#files.get(path);
      if (!file) throw new AppError("usage", `no file ${path}`);
      return file.bytes;
    },
    write: async (path: string, bytes: Buffer, options: { mode?: "100644" | "100755" } = {}) => {
      this.#require(path);
      this.put(path, bytes, options.mode ?? this.#files.get(path)?.mode);
    },
    remove: async (path: string) => {
      this.#require(path);
      this.#files.delete(path);
    },
    edits: async () => [],
  };

  #require(path: string): void {
    if (this.closed.has(path)) throw new AppError("not_allowed", `${path} is no part of the fix`);
  }
}
