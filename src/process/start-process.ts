import { type ChildProcess, fork } from "node:child_process";
import { existsSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ownerVariable } from "../git/owner.ts";
import { killGroup } from "../git/run-process.ts";
import { compiledCodeFolder, compiledCodeVariable } from "./compile-cache.ts";

/** `src/`, or `dist/` once it is built, and the rules beside it. */
const root = join(import.meta.dirname, "../..");

/** Where temporary files go. A process with an environment of its own has to be told. */
const temporaryFolder = () => resolve(tmpdir());

/** What a process may open beside the checkout; absolute paths. */
interface MoreToOpen {
  /** Files that it may read. */
  files?: readonly string[];
  /** Folders in which it may write. */
  writable?: readonly string[];
}

/**
 * Arguments that have Node itself refuse a review process every file but its own code, what it keeps in temporary folders
 * of ours, and the checkouts given here. A wall behind those of the tools: a fault in one of them then reads nothing of the server.
 * It holds JavaScript alone, and neither git nor ripgrep. https://nodejs.org/api/permissions.html
 *
 * @param readable absolute paths of folders
 */
export function confinement(
  readable: readonly string[],
  { files = [], writable = [] }: MoreToOpen = {},
): string[] {
  const scratch = namesOf(temporaryFolder()).map((folder) => join(folder, "hunkwise-range-*"));
  const more = writable.flatMap(namesOf).map(wholeFolder);
  const read = [
    ...[...code(), ...ownProcess, ...scratch, ...more],
    ...readable.flatMap(namesOf).map(wholeFolder),
    ...files.flatMap(namesOf),
  ];
  return [
    "--permission",
    // Reviews run git and ripgrep, parse with native grammars, and watch in a thread whether the parent lives.
    ...["--allow-child-process", "--allow-addons", "--allow-worker", "--disable-warning=SecurityWarning"],
    ...read.map((path) => `--allow-fs-read=${path}`),
    ...[...scratch, ...more, wholeFolder(compiledCodeFolder)].map((path) => `--allow-fs-write=${path}`),
  ];
}

/** Packages may lie beside the program's folder, above it, or behind a link. */
function code(): string[] {
  const place = fileURLToPath(import.meta.resolve("zod"));
  const folder = `${sep}node_modules${sep}`;
  const packages = place.slice(0, place.indexOf(folder) + folder.length);
  const own = ["src", "dist", "rules", "package.json"].map((name) => join(root, name));
  return [...own, join(root, "node_modules"), packages];
}

/** Who this process is, and where the files are that it holds open. */
const ownProcess = [
  ...["/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid", "/proc/self/stat"],
  "/proc/self/fd/",
];

/** Where links lead to a folder, its real name too: what is opened there is asked for by that one (`git/confined-file.ts`). */
function namesOf(folder: string): string[] {
  // What is not there has no other name.
  const real = existsSync(folder) ? realpathSync.native(folder) : folder;
  return [...new Set([folder, real])];
}

const wholeFolder = (path: string) => join(path, sep);

/**
 * A third of what others get where all want the processor, and all of it where nobody does. At 10 it is a tenth: on a machine
 * with other work, reviews then hardly begin and ripgrep runs into its time limit.
 */
const NICENESS = 5;

/**
 * Lets a process that was just started, and whatever it starts, have the processor after the others: a webhook has to be
 * answered while reviews run. Whatever the system allows of it; never throws.
 */
function yieldToServer(pid: number | undefined): void {
  if (pid === undefined) return;
  attempt(() => setPriority(pid, NICENESS));
  // Those it has by now; later ones take it over from the thread that starts them.
  for (const thread of threadsOf(pid)) attempt(() => setPriority(thread, NICENESS));
  // A leader of a session shares the processor as one of many sessions; Linux then asks the session how nice it is (sched(7)).
  attempt(() => writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS)));
}

/** Empty where the system shows none. */
function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The process has ended already, or the system knows nothing of this kind.
  }
}

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
