import { AppError } from "../errors.ts";
import { diffOptions, renameOptions } from "./blob-diff.ts";
import type { ObjectPlace } from "./checkout-place.ts";
import { streamGit } from "./run-git.ts";

export interface ChangeSink {
  /** All raw records and all numstat records, as `-z` prints them. Comes once, before any patch; empty without a change. */
  listing(bytes: Buffer): void;
  /** The patches of all files at `PATCH_CONTEXT`, in the pieces in which git prints them. "stop" ends git at once. */
  patch(chunk: Buffer): "stop" | undefined;
}

/** Unchanged lines around each change, as GitHub shows it. */
export const PATCH_CONTEXT = 3;
/** A listing of this size has about a hundred thousand changes; what is larger is an attack. */
const MAX_LISTING_BYTES = 32 * 1024 * 1024;

/**
 * Compares merge base and head once for everything: what changed, how much, and the patches. To find renames and to count
 * lines git has to read every changed file; a second process would read them all again.
 */
export async function streamChange(
  place: ObjectPlace,
  sink: ChangeSink,
  signal?: AbortSignal | undefined,
): Promise<void> {
  const { mergeBase, head } = place.shas;
  const what = ["-r", "-z", "--raw", "--numstat", "--no-abbrev", "-p", `-U${PATCH_CONTEXT}`];
  const splitter = new ChangeSplitter(sink);
  await streamGit(
    {
      git: place,
      gitDir: place.gitDir,
      what: "diff",
      args: ["diff-tree", ...what, ...renameOptions, ...diffOptions, mergeBase, head, "--"],
      maxBytes: Number.POSITIVE_INFINITY,
      signal,
    },
    (chunk) => splitter.push(chunk),
  );
  splitter.end();
}

/** Records end with NUL and none is empty; an empty one stands between them and the patches. */
const SEPARATOR = Buffer.from([0, 0]);

/** Tells the listing from the patches behind it, in whatever pieces they come. */
export class ChangeSplitter {
  readonly #sink: ChangeSink;
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #isListed = false;

  constructor(sink: ChangeSink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): "stop" | undefined {
    if (this.#isListed) return this.#sink.patch(chunk);
    const isCut = chunk[0] === 0 && this.#pieces.at(-1)?.at(-1) === 0;
    const end = isCut ? 0 : chunk.indexOf(SEPARATOR) + 1;
    if (!isCut && end === 0) {
      this.#keep(chunk);
      return undefined;
    }
    this.#keep(chunk.subarray(0, end));
    this.end();
    return end + 1 < chunk.length ? this.#sink.patch(chunk.subarray(end + 1)) : undefined;
  }

  /** Without a change there is neither a listing nor a separator. */
  end(): void {
    if (this.#isListed) return;
    this.#isListed = true;
    this.#sink.listing(Buffer.concat(this.#pieces.splice(0)));
  }

  #keep(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > MAX_LISTING_BYTES) {
      throw new AppError("too_large", `The list of changed files has more than ${MAX_LISTING_BYTES} bytes`);
    }
    if (piece.length > 0) this.#pieces.push(piece);
  }
}
