import { type ChildProcess, fork } from "node:child_process";
import { existsSync, realpathSync, writeFileSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ownerVariable } from "../repo/git/owner.ts";
import { killProgram, programGroup } from "../repo/git/run-process.ts";
import { compiledCodeFolder, compiledCodeVariable } from "./compile-cache.ts";

/** The folder of `src/` or `dist/`. */
const root = join(import.meta.dirname, "../..");

/** The folder of temporary files. A child gets it as TMPDIR, because its environment is not inherited. */
const temporaryFolder = () => resolve(tmpdir());

/**
 * Lets a process read only its own code, our temporary folders and the given ones: a second layer behind the checks of the tools, for
 * JavaScript, not for git and ripgrep. https://nodejs.org/api/permissions.html
 * @param readable absolute paths of folders, as `writable` are; `files` may be read as well
 */
export function confinement(
  readable: readonly string[],
  { files = [], writable = [] }: { files?: readonly string[]; writable?: readonly string[] } = {},
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
    // Reviews run git and ripgrep, load native grammars, and watch the parent in a thread.
    ...["--allow-child-process", "--allow-addons", "--allow-worker", "--disable-warning=SecurityWarning"],
    ...read.map((path) => `--allow-fs-read=${path}`),
    ...[...scratch, ...more, wholeFolder(compiledCodeFolder)].map((path) => `--allow-fs-write=${path}`),
  ];
}

/** Like {@link confinement}, for a process that only computes: it loads native grammars, and watches its parent in a thread. */
export const ruleConfinement = (): string[] => [
  ...["--permission", "--allow-addons", "--allow-worker", "--disable-warning=SecurityWarning"],
  ...code().map((path) => `--allow-fs-read=${path}`),
];

/** Packages may be in the program's folder, above it, or behind a link. */
function code(): string[] {
  const installed = fileURLToPath(import.meta.resolve("@ast-grep/napi"));
  const folder = `${sep}node_modules${sep}`;
  const packages = installed.slice(0, installed.indexOf(folder) + folder.length);
  const own = ["src", "dist", "rules", "package.json"].map((name) => join(root, name));
  return [...own, join(root, "node_modules"), packages];
}

/** For the identity of the process and its open files. */
const ownProcess = [
  ...["/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid", "/proc/self/stat"],
  "/proc/self/fd/",
];

/** The path, and its real path if that differs: files are opened by the real one (`repo/git/confined-file.ts`). */
function namesOf(folder: string): string[] {
  const real = existsSync(folder) ? realpathSync.native(folder) : folder;
  return [...new Set([folder, real])];
}

const wholeFolder = (path: string) => join(path, sep);

/** A third of the processor time of other processes under load. With a tenth (10), ripgrep would time out on a busy machine. */
const NICENESS = 5;

/** Lowers the priority of a child and of all that it starts, because webhooks must be answered while reviews run. Never throws. */
function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  attempt(() => setPriority(pid, NICENESS));
  // With autogrouping, Linux schedules a session as a whole, by the niceness of the session (sched(7)).
  attempt(() => writeFileSync(`/proc/${pid}/autogroup`, String(NICENESS)));
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // The process has ended, or the system does not support it.
  }
}

/** A child process that loads its code while the parent prepares its work. It does one piece of work. */
export interface StartedProcess extends Disposable {
  readonly child: ChildProcess;
  /** Resolves when the process has ended, to a description: "ended with code 1". */
  readonly ended: Promise<string>;
  /** The end of its stderr. Only for the log: a hostile file may have caused it. */
  stderrTail(): string;
}

export interface StartOptions {
  checkout?: string;
  /** The index of the repository's graph, which it may read as well. */
  graphIndex?: string | null | undefined;
}

const MEMORY_MB = 512;
/** Megabytes for new objects. With V8's own 16, the nodes of syntax trees live until they take 50 MB more, and no time is saved. */
const YOUNG_MB = 4;
const STDERR_BYTES = 2_000;

type Entry = "review-process" | "index-process" | "rule-process";

/** Starts a review process, which reads only its code and the checkout. Disposing of it kills it with everything that it started. */
export function startReviewProcess({ checkout, graphIndex }: StartOptions = {}): StartedProcess {
  const files = graphIndex ? [graphIndex] : [];
  const permissions = confinement(checkout === undefined ? [] : [checkout], { files });
  return startConfined("review-process", permissions, MEMORY_MB);
}

export function startIndexProcess(folder: string): StartedProcess {
  return startConfined("index-process", confinement([], { writable: [folder] }), MEMORY_MB);
}

const RULE_MEMORY_MB = 256;

/** Starts the process that matches a repository's own rules. It reads only the program, writes nothing and starts nothing. */
export function startRuleProcess(): StartedProcess {
  return startConfined("rule-process", ruleConfinement(), RULE_MEMORY_MB);
}

function startConfined(entry: Entry, permissions: readonly string[], memoryMb: number): StartedProcess {
  const file = join(import.meta.dirname, `${entry}${extname(import.meta.filename)}`);
  const child = fork(file, [], {
    env: { ...ownerVariable, ...compiledCodeVariable, TMPDIR: temporaryFolder() },
    cwd: "/",
    execArgv: [`--max-old-space-size=${memoryMb}`, `--max-semi-space-size=${YOUNG_MB}`, ...permissions],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    // Its own process group, so that git and ripgrep end with it; or that of the review process, with which it ends.
    ...programGroup(),
  });
  // At once, before it has many threads, which inherit the priority.
  lowerPriority(child.pid);
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  const stderrTail = collectStderr(child);
  child.on("error", (error) => resolve(`could not be started: ${error.message}`));
  child.on("exit", (code, signal) => resolve(`ended with ${signal ?? `code ${code}`}`));
  return { child, ended, stderrTail, [Symbol.dispose]: () => killProgram(child, "SIGKILL") };
}

function collectStderr(child: ChildProcess): () => string {
  let tail = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    tail = (tail + chunk).slice(-STDERR_BYTES);
  });
  return () => tail.trim();
}
