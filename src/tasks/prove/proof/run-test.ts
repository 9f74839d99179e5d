import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path/posix";
import { z } from "zod";
import { ExecutedFunction, type TestEnd } from "../../../agent/record/test-end.ts";
import { AppError } from "../../../core/errors.ts";
import type { ProofTest } from "../../../core/finding.ts";
import { shellWord } from "../../../core/text/fence.ts";
import { decodeName } from "../../../repo/git/names.ts";
import type { Sandbox, SandboxLimits } from "../../../sandbox/bubblewrap.ts";
import type { LeftFile } from "../../../sandbox/from-supervisor.ts";
import {
  keyOf,
  type PlacedFile,
  runInSandbox,
  type SandboxOutcome,
  sandboxPath,
} from "../../../sandbox/run-in-sandbox.ts";

interface TestOrder {
  /** Files of the revision, without the test. */
  files: AsyncIterable<PlacedFile> | Iterable<PlacedFile>;
  test: ProofTest;
  /** The command of the configuration, with the name of the test file in it; null runs the file as it is ({@link asItIs}). */
  command: string | null;
  sandbox: Sandbox;
  limits: SandboxLimits;
  timeoutMs: number;
  /** Absolute path of the prepared environment; omitted if there is none. */
  environment?: string | undefined;
}

const RUNNER = "HUNKWISE_RUNNER";
/** What the runner puts into the workspace. The names are those that Node and Python load at their start. */
const runnerFiles = ["probe.cjs", "load.mjs", "sitecustomize.py", "run_test.py"];
const runnerFolder = join(import.meta.dirname, "runner");
/** The folder of the program's own Node in a sandbox. */
const OWN_NODE = "/runner/bin";

/** A path as an argument that no program takes for an option. */
const argument = (path: string) => shellWord(`./${path}`);

/**
 * The command line that runs a test file with nothing but the repository's own files, or why there is none. It is `shown` to people without what
 * only the sandbox has.
 */
export function asItIs({ path, text }: ProofTest): { command: string; shown: string } | { why: string } {
  const extension = extname(path);
  if (/^\.[cm]?[jt]s$/.test(extension)) {
    const command = `node ${argument(path)}`;
    return { command, shown: command };
  }
  if (extension === ".py")
    return {
      command: `python3 "$${RUNNER}/run_test.py" ${argument(path)}`,
      shown: `python3 run_test.py ${argument(path)}`,
    };
  if (extension === ".go") return goCommand(path, text);
  if (extension === ".tsx" || extension === ".jsx") return { why: "Node does not run JSX as it is" };
  return {
    why: `a file ${extension === "" ? "without an extension" : `'${extension}'`} cannot be run as it is`,
  };
}

/** Runs the tests of this file alone: others of its package may fail. The functions that ran are printed into a report. */
function goCommand(path: string, text: string): ReturnType<typeof asItIs> {
  if (!path.endsWith("_test.go")) return { why: "Go runs tests only in files '*_test.go'" };
  const names = [...text.matchAll(/^func (Test[A-Z0-9_]\w*)\(/gm)].map(([, name]) => name);
  if (names.length === 0) return { why: "it has no function 'Test...'" };
  const profile = `"$${RUNNER}/report/profile"`;
  const wanted = `go test -count=1 -run '^(${names.join("|")})$'`;
  const folder = argument(dirname(path));
  const report = `go tool cover -func=${profile} > "$${RUNNER}/report/functions.go" 2>/dev/null`;
  return {
    command: `${wanted} -coverprofile=${profile} ${folder}; code=$?; ${report}; exit $code`,
    shown: `${wanted} ${folder}`,
  };
}

/**
 * Runs one test file on the files of a revision, in the sandbox. Each run starts with exactly these files.
 *
 * @throws AppError `aborted`; `child_died` if the sandbox cannot be built or fails, also because the test's path is below a file or a link;
 *   `usage` if there is no command for the test's language
 */
export async function runTest(order: TestOrder, signal: AbortSignal): Promise<TestEnd> {
  // Not guessable, so that no file of the repository can be in its place.
  const folder = `.hunkwise-${randomBytes(4).toString("hex")}`;
  const command = order.command ?? commandFor(order.test);
  const placed = new Set<string>();
  const begin = performance.now();
  const outcome = await runInSandbox(
    order.sandbox,
    {
      command,
      env: environmentOf(folder, order.command === null),
      timeoutMs: order.timeoutMs,
      limits: { ...order.limits, dataBytes: order.limits.dataBytes + RESERVED_BYTES },
      environment: order.environment,
      files: filesOf(order, folder, placed),
      wants: (left) => reportsIn(left, folder) ?? [],
      maxFileBytes: MAX_REPORT_BYTES,
    },
    signal,
  );
  return {
    stdout: outcome.stdout.toString("utf8"),
    stderr: outcome.stderr.toString("utf8"),
    exit_code: outcome.exitCode,
    ended: outcome.ended,
    changed: changedIn(outcome, folder),
    executed: executedIn(outcome, folder, placed),
    duration_ms: Math.round(performance.now() - begin),
  };
}

/** For the threads of a test runner; what they use counts against `memoryBytes` as before. */
const RESERVED_BYTES = 16 * 1024 * 1024 * 1024;

function commandFor(test: ProofTest): string {
  const found = asItIs(test);
  if ("why" in found) throw new AppError("usage", `'${test.path}' cannot be run: ${found.why}`);
  return `export PATH=${OWN_NODE}:$PATH; ${found.command}`;
}

function environmentOf(folder: string, isAsItIs: boolean): Record<string, string> {
  const runner = `/work/${folder}`;
  const load = isAsItIs ? ` --import ${runner}/load.mjs` : "";
  return {
    ...{ [RUNNER]: runner, PYTHONPATH: runner, NODE_OPTIONS: `--require ${runner}/probe.cjs${load}` },
    // The same in each run.
    ...{ PYTHONDONTWRITEBYTECODE: "1", PYTHONHASHSEED: "0", TZ: "UTC" },
  };
}

/** The runner, the files of the revision, and the test: in place of a file that the revision has under its path. */
async function* filesOf(
  { files, test }: TestOrder,
  folder: string,
  placed: Set<string>,
): AsyncGenerator<PlacedFile> {
  const mode = "100644";
  for (const name of runnerFiles)
    yield { path: `${folder}/${name}`, mode, bytes: readFileSync(join(runnerFolder, name)) };
  // Python appends to a file of this folder, Go writes one.
  yield { path: `${folder}/${REPORTS}/begun`, mode, bytes: new Uint8Array() };
  for await (const file of files) {
    const key = keyOf(file.path);
    if (key === test.path) continue;
    placed.add(key);
    yield file;
  }
  yield { path: sandboxPath(test.path), mode, bytes: Buffer.from(test.text, "utf8") };
}

const REPORTS = "report";
const GO_REPORT = "functions.go";
const MAX_REPORTS = 200;
/** Of one report, and of all. */
const MAX_REPORT_BYTES = 4 * 1024 * 1024;
const MAX_REPORTS_BYTES = 16 * 1024 * 1024;

/** The paths of all reports; null if they are more than a run leaves that nobody tampers with. */
function reportsIn(left: readonly LeftFile[], folder: string): string[] | null {
  const reports = left.filter(({ path }) => path.startsWith(`${folder}/${REPORTS}/`) && isReport(path));
  const sum = reports.reduce((bytes, one) => bytes + one.bytes, 0);
  const isTooMuch =
    reports.length > MAX_REPORTS ||
    sum > MAX_REPORTS_BYTES ||
    reports.some(({ bytes, kind }) => kind !== "new" || bytes > MAX_REPORT_BYTES);
  return isTooMuch ? null : reports.map(({ path }) => path);
}

const isReport = (path: string) => path.endsWith(".jsonl") || path.endsWith(`/${GO_REPORT}`);

/** A line of a report. The test can write reports as well. */
const ReportLine = ExecutedFunction.extend({
  path: z.string().min(1).max(1_000),
  name: z.string().max(500),
  line: z.int().min(1).max(10_000_000),
}).refine(({ path }) => isOwnPath(path));

/** Whether the runner could have written this path: it leaves out everything else. */
const isOwnPath = (path: string) =>
  !path.startsWith("/") &&
  path.split("/").every((name) => name !== "" && name !== "." && name !== ".." && name !== "node_modules");

const MAX_FUNCTIONS = 20_000;
/** Of the names of all functions and their files: each run is recorded, and a proof may have a hundred. */
const MAX_NAMES = 2 * 1024 * 1024;

/** The functions in the reports of a run; null if there is no report, or one that the runner did not write. */
function executedIn(
  { left, tooMany, taken }: SandboxOutcome,
  folder: string,
  placed: ReadonlySet<string>,
): ExecutedFunction[] | null {
  const wanted = reportsIn(left, folder);
  if (tooMany || !wanted || wanted.length === 0 || taken.length !== wanted.length) return null;
  const found = new Map<string, ExecutedFunction>();
  try {
    for (const { path, bytes } of taken) {
      const text = bytes.toString("utf8");
      const functions = path.endsWith(GO_REPORT) ? goFunctions(text, placed) : functionsIn(text);
      for (const one of functions) {
        // Files that the run made are none of the repository.
        const key = decodeName(Buffer.from(one.path, "utf8"));
        if (placed.has(key)) found.set(`${key}\0${one.line}\0${one.name}`, { ...one, path: key });
      }
    }
  } catch {
    return null;
  }
  const functions = [...found.values()];
  const names = functions.reduce((sum, { path, name }) => sum + path.length + name.length, 0);
  return functions.length > MAX_FUNCTIONS || names > MAX_NAMES ? null : functions;
}

const functionsIn = (text: string): ExecutedFunction[] =>
  text
    .split("\n")
    // Without the last one: empty, or not whole because its process was killed.
    .slice(0, -1)
    .map((line) => ReportLine.parse(JSON.parse(line)));

/** The functions of `go tool cover -func` that ran: `example.com/module/folder/file.go:12:  Name  80.0%`. */
function goFunctions(text: string, placed: ReadonlySet<string>): ExecutedFunction[] {
  return [...text.matchAll(/^(\S+\.go):(\d+):\s+(\S+)\s+(\d+\.\d)%$/gm)].flatMap(
    ([, path = "", line, name, share]) => {
      // The module's name in front of the path is that of no folder.
      const names = path.split("/");
      const own = names.map((_, index) => names.slice(index).join("/")).find((one) => placed.has(one));
      return own === undefined || share === "0.0"
        ? []
        : [ReportLine.parse({ path: own, name, line: Number(line) })];
    },
  );
}

/** Folders and files that test runners and compilers write to be faster the next time, or about themselves. */
const cache =
  /(?:^|\/)(?:__pycache__|\.pytest_cache|\.hypothesis|coverage|\.nyc_output|node_modules\/\.(?:cache|vite[^/]*))\/|\.tsbuildinfo$/;

const MAX_CHANGED = 20;

/** Everything that a run left different, in words for what has no name here. The judge refuses a test that leaves any. */
function changedIn({ left, odd, tooMany }: SandboxOutcome, folder: string): string[] {
  const changed = left
    .map(({ path, kind }) => ({ key: keyOf(path), kind }))
    .filter(
      ({ key, kind }) => !(kind === "new" && (key.startsWith(`${folder}/${REPORTS}/`) || cache.test(key))),
    )
    .map(({ key }) => key)
    .toSorted();
  return [
    ...(tooMany ? ["(more files than can be listed)"] : []),
    ...(odd.length > 0 ? [`(${odd.length} links, pipes or other entries)`] : []),
    ...changed,
  ].slice(0, MAX_CHANGED);
}
