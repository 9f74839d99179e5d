import { type ChildProcess, fork } from "node:child_process";
import { extname, join } from "node:path";
import { ownerVariable } from "../git/owner.ts";
import { killGroup } from "../git/run-process.ts";
import { compiledCodeVariable } from "./compile-cache.ts";
import { confinement, temporaryFolder } from "./confinement.ts";
import { yieldToServer } from "./yield-to-server.ts";

/** A review process that loads what it needs while its parent still makes the checkout. Good for one review. */
export interface StartedReviewProcess extends Disposable {
  readonly child: ChildProcess;
  /** Resolves once the process has ended, to words that say how: "ended with code 1". */
  readonly ended: Promise<string>;
  /** The end of what it wrote to stderr; for the log alone, a hostile file may have had it written. */
  lastWords(): string;
}

export interface StartOptions {
  /** The folder it may read besides temporary ones of ours. */
  checkout?: string;
  /** The one file beside it that it may read: the index of the repository's graph. */
  graphIndex?: string | null | undefined;
  /** Of its heap. */
  memoryMb?: number | undefined;
}

const DEFAULT_MEMORY_MB = 512;
/** What is kept of the last words of a dying process. */
const STDERR_BYTES = 2_000;

/** What such a process does. */
type Entry = "review-process" | "index-process";

/**
 * Starts a process whose environment says who started it, where compiled code lies and where temporary files go and nothing
 * else, that reads no file but its code and the checkout; it yields the processor to others. Disposing of it kills it with everything it started.
 */
export function startReviewProcess({
  checkout,
  graphIndex,
  memoryMb = DEFAULT_MEMORY_MB,
}: StartOptions = {}): StartedReviewProcess {
  const files = graphIndex ? [graphIndex] : [];
  const walls = confinement(checkout === undefined ? [] : [checkout], { files });
  return startConfined("review-process", walls, memoryMb);
}

/** The same for one that brings an index up to date: it reads what git hands it, and writes to one folder. */
export function startIndexProcess(folder: string): StartedReviewProcess {
  return startConfined("index-process", confinement([], { writable: [folder] }), DEFAULT_MEMORY_MB);
}

function startConfined(entry: Entry, walls: readonly string[], memoryMb: number): StartedReviewProcess {
  const file = join(import.meta.dirname, `${entry}${extname(import.meta.filename)}`);
  const child = fork(file, [], {
    env: { ...ownerVariable, ...compiledCodeVariable, TMPDIR: temporaryFolder() },
    cwd: "/",
    execArgv: [`--max-old-space-size=${memoryMb}`, ...walls],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    // A group of its own, so that git and ripgrep below it end with it.
    detached: true,
  });
  // Before it has threads: those take over what is set by then.
  yieldToServer(child.pid);
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  const lastWords = collectStderr(child);
  child.on("error", (error) => resolve(`could not be started: ${error.message}`));
  child.on("exit", (code, signal) => resolve(`ended with ${signal ?? `code ${code}`}`));
  return { child, ended, lastWords, [Symbol.dispose]: () => killGroup(child, "SIGKILL") };
}

function collectStderr(child: ChildProcess): () => string {
  let tail = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    tail = (tail + chunk).slice(-STDERR_BYTES);
  });
  return () => tail.trim();
}
