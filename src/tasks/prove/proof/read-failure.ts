import { stripVTControlCharacters } from "node:util";
import type { TestEnd } from "../../../agent/record/test-end.ts";
import type { ProofTest } from "../../../core/finding.ts";
import { decoded } from "../../../core/text/json.ts";

/** How a run of a test failed, as far as its output says. Untrusted text: the test can print anything. */
export interface Failure {
  /** `setup`: no test began, or the test is broken. `unknown`: it did not fail by itself, or its output does not say why. */
  kind: "failed" | "setup" | "unknown";
  /**
   * One line for people: "AssertionError: expected 'a' to equal 'b'", without paths of the sandbox, colors, times, addresses and durations.
   * Two runs that fail in the same way have the same line.
   */
  line: string;
  /** Places of the repository in its trace, innermost first, without the test's own and node_modules. */
  frames: readonly { path: string; line: number }[];
}

/** The failure that a program printed. */
interface Printed {
  /** Its first line names the error: "AssertionError: expected 'a' to equal 'b'". */
  message: readonly string[];
  /** Lines with its places, innermost first. */
  trace: readonly string[];
}

type Reader = (lines: readonly string[], test: ProofTest) => Printed | null;

/** Signals are reported as 128 and their number; a shell reports a program that it cannot run, or does not find, as 126 and 127. */
const SIGNAL = 128;
const LAST_SIGNAL = 64;
const CANNOT_RUN = 126;

/** Reads what a failing run printed: Node, node:test, Vitest, Jest, Mocha, AVA, pytest, unittest, Python, Go. */
export function readFailure(end: TestEnd, test: ProofTest): Failure {
  const lines = linesOf(end);
  const last = lines.findLast((line) => line.trim() !== "");
  const without = (kind: Failure["kind"], line: string) => ({ kind, line: clean(line), frames: [] });
  if (end.ended !== null) return without("unknown", `Ended by a limit: ${end.ended}`);
  if (end.exit_code > SIGNAL && end.exit_code <= SIGNAL + LAST_SIGNAL)
    return without("unknown", `Ended by signal ${end.exit_code - SIGNAL}`);
  if (end.exit_code === 0) return without("unknown", "It did not fail");
  if (end.exit_code === CANNOT_RUN || end.exit_code === CANNOT_RUN + 1)
    return without("setup", last ?? "Not found");
  const broken = brokenSetup(end, lines, test);
  const printed = readerFor(test)(lines, test);
  if (printed === null)
    return broken === null
      ? without("unknown", last ?? `Exit code ${end.exit_code}`)
      : without("setup", broken);
  const frames = framesIn(printed, test);
  const text = printed.message.join("\n");
  const kind = isLate.test(text) ? "unknown" : "failed";
  return {
    kind: broken !== null || isBrokenTest(text, frames, lines) ? "setup" : kind,
    line: headline(printed.message),
    frames: frames.filter(({ isTest }) => !isTest).map(({ path, line }) => ({ path, line })),
  };
}

/** stderr behind stdout: runners print a summary to one of them, and programs die on the other. */
const linesOf = ({ stdout, stderr }: TestEnd): string[] =>
  stripVTControlCharacters(`${stdout}\n${stderr}`).replaceAll("\r", "").split("\n");

/** The first line that shows that no test began; null if there is none. */
function brokenSetup({ exit_code }: TestEnd, lines: readonly string[], { path }: ProofTest): string | null {
  const found = lines.find((line) => noTest.test(line));
  if (found !== undefined) return found;
  // Exit codes of pytest, and of our own runner: not loaded, an error of pytest, wrong usage, no tests.
  return path.endsWith(".py") && exit_code >= 2 && exit_code <= 5 ? `Exit code ${exit_code}` : null;
}

const noTest =
  /^(?:_+ ERROR (?:collecting|at setup of) |no tests ran\b|No test files found|Error: No test (?:files|suite) found|⎯+ Failed Suites |\s*● Test suite failed to run$|\s*Exception during run:|ERROR: \S+ \(unittest\.loader\._FailedTest|No tests found, exiting|Error: No test files found|FAIL\s+\S+ \[(?:build|setup) failed\]|ImportError while loading conftest|\s*✘ No tests found in |\s*Your test suite must contain at least one test)|^(?:npm|npx|node|python3?|bad option|ERROR): .*(?:usage|unrecognized argument|bad option|could not determine executable)/;

const moduleFault =
  /^(?:Module(?:NotFound)?Error|ImportError)\b|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND|ERR_UNKNOWN_FILE_EXTENSION|ERR_PACKAGE_PATH_NOT_EXPORTED|ERR_UNSUPPORTED_DIR_IMPORT|Cannot find (?:module|package) |does not provide an export named|Failed to (?:load url|resolve import)|^Error: Cannot run .* as it is/;

/** Whether the test never ran, or fails because of what only the test says. */
function isBrokenTest(text: string, frames: readonly Frame[], lines: readonly string[]): boolean {
  if (moduleFault.test(text)) return true;
  const isParsed = /^(?:SyntaxError|IndentationError|TabError)\b/.test(text);
  // JSON.parse and eval throw this as well, but from somewhere.
  if (isParsed && (frames.length === 0 || text.includes("import"))) return true;
  if (/^(?:ReferenceError|NameError)\b/.test(text) && frames.every(({ isTest }) => isTest)) return true;
  // Thrown while modules were loaded, before the test file's first line.
  return (
    frames.every(({ isTest }) => !isTest) &&
    lines.some((line) => /^ +at (?:async )?ModuleJob\.run /.test(line))
  );
}

/** A test runner's own time limit, which a busy machine can exceed. */
const isLate =
  /\bTest timed out in \d|\btest timed out after \d|\bTimeout of \d+ ?ms exceeded|\bExceeded timeout of \d|^Timeout >\d/i;

const MAX_LINE = 300;

/** Where a message goes on with both values, line by line. */
const comparison = /^\s*(?:- Expected|--- expected|\+ actual - expected|\+ expected - actual)\b/;

/** The first line of the message, with the next ones if it only announces them. */
function headline(message: readonly string[]): string {
  const compared = message.findIndex((line) => comparison.test(line));
  const [first = "", ...rest] = (compared > 0 ? message.slice(0, compared) : message)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const isAnnounced = first.endsWith(":") || first.startsWith("expect(");
  return clean(isAnnounced ? [first, ...rest.slice(0, 6)].join(" ").replace(/:$/, "") : first);
}

const quotedText = /'[^']*'|"[^"]*"|`[^`]*`/g;
const changing: [RegExp, string][] = [
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "(time)"],
  [/\b\d\d:\d\d:\d\d(?:\.\d+)?\b/g, "(time)"],
  [/(?<=\(|\b(?:took|after|in) )\d+(?:\.\d+)?\s?(?:ms|s|seconds?|milliseconds?)\b/g, "(duration)"],
];

/** Without what differs between two runs. Times inside of quotes are values. */
function clean(line: string): string {
  const plain = stripVTControlCharacters(line)
    .replace(/(?:file:\/\/)?\/work\//g, "")
    .replace(/\.hunkwise-[0-9a-f]{8}\/?/g, "")
    .replace(/\b0x[0-9a-f]{4,}\b/gi, "0x…");
  const quotes = plain.match(quotedText) ?? [];
  const between = plain
    .split(quotedText)
    .map((part) => changing.reduce((all, [what, by]) => all.replace(what, by), part));
  const joined = between.map((part, index) => part + (quotes[index] ?? "")).join("");
  const shown = joined.replace(/\s+/g, " ").trim();
  return shown.length > MAX_LINE ? `${shown.slice(0, MAX_LINE).toWellFormed()}…` : shown;
}

interface Frame {
  path: string;
  line: number;
  isTest: boolean;
}

const places = [
  // Python's traceback
  /^\s*File "(?<path>[^"]+)", line (?<line>\d+)/,
  // Node's stacks, Vitest's, and those in TAP
  /^\s*(?:at |❯ |› )?(?:.*\(|(?:async )?(?:[^\s(:]+ )?)(?<path>(?:file:\/\/)?[^\s():]+\.[A-Za-z]+):(?<line>\d+):\d+\)?,?(?: \{)?$/,
  // pytest, and Go's own
  /^\s*(?<path>[^\s:]+\.(?:py|go)):(?<line>\d+):/,
  // Go's panics
  /^\t(?<path>\/[^\s:]+\.go):(?<line>\d+)(?: |$)/,
];

const MAX_FRAMES = 50;

function framesIn({ trace }: Printed, test: ProofTest): Frame[] {
  const frames = trace.flatMap((text): Frame[] => {
    const groups = places.map((place) => place.exec(text)?.groups).find((one) => one !== undefined);
    const path = repositoryPath(groups?.path ?? "");
    return path === null ? [] : [{ path, line: Number(groups?.line), isTest: path === test.path }];
  });
  return frames.slice(0, MAX_FRAMES);
}

/** The path in the repository; null for any other file. */
function repositoryPath(text: string): string | null {
  const path = text
    .replace(/^file:\/\//, "")
    .replace(/^\/work\//, "")
    .replace(/^\.\//, "");
  const names = path.split("/");
  const isForeign = names.some(
    (name) => name === "" || name === ".." || name === "node_modules" || name.startsWith("node:"),
  );
  return isForeign || names[0]?.startsWith(".hunkwise-") || names[0]?.startsWith("<")
    ? null
    : (decoded(path) ?? path);
}

/** Lines from `at` up to the first that `ends`, at most `count`. */
function until(lines: readonly string[], at: number, ends: (line: string) => boolean, count = 400): string[] {
  const rest = lines.slice(at, at + count);
  const end = rest.findIndex(ends);
  return end < 0 ? rest : rest.slice(0, end);
}

const errorName = String.raw`(?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*(?:Error|Exception|Exit|Interrupt|Warning|Failed|Failure)|Error|Failed`;
const errorLine = new RegExp(
  String.raw`^\s*(?:Uncaught |Unhandled )?(?:${errorName})(?: \[[A-Z_\d]+\])?(?::|$)`,
);
const isError = (line: string) => errorLine.test(line);

const plainError = (line: string) =>
  line
    .trim()
    .replace(/^(?:Uncaught|Unhandled) /, "")
    .replace(" [ERR_ASSERTION]", "")
    .replace(tapError, "")
    .replace(/^(["'])(.*)\1$/, "$2");

/** pytest: the marked lines of the first failure. Places are outermost first. */
const readPytest: Reader = (lines) => {
  const begin = lines.findIndex((line) => /^=+ (?:FAILURES|ERRORS) =+$/.test(line));
  if (begin < 0) return null;
  const trace = until(lines, begin + 2, (line) => /^(?:_{3,} .* _{3,}|=+ .* =+)$/.test(line));
  const marked = trace.filter((line) => /^E( |$)/.test(line)).map((line) => line.slice(1).trim());
  const error = Math.max(0, marked.findIndex(isError));
  return { message: marked.slice(error), trace: trace.toReversed() };
};

/** The last traceback of Python, also of unittest: an error that was handled is printed before it. */
const readTraceback: Reader = (lines) => {
  const at = lines.findLastIndex((line) => line.trim() === "Traceback (most recent call last):");
  if (at < 0) return null;
  const trace = until(lines, at + 1, (line) => /^\S/.test(line));
  const [first = "", ...rest] = until(
    lines,
    at + 1 + trace.length,
    (line) => /^(?:-{20,}|={20,}|FAILED |Ran \d+ test)/.test(line),
    60,
  );
  // A bare `assert` has no message.
  const source = first.endsWith("AssertionError")
    ? trace.findLast((line) => /^\s*assert\b/.test(line))
    : undefined;
  const message = source === undefined ? first : `${first}: ${source.trim()}`;
  return { message: [message, ...rest], trace: trace.toReversed() };
};

const readPython: Reader = (lines, test) => readPytest(lines, test) ?? readTraceback(lines, test);

/** Go: what the first failing test logged, or a panic. */
const readGo: Reader = (lines, { path }) => {
  const build = lines.some((line) => /^# \S+/.test(line))
    ? lines.find((line) => /^\S+\.go:\d+:\d+: /.test(line))
    : undefined;
  if (build !== undefined) return { message: [build], trace: [] };
  const panic = lines.findIndex((line) => line.startsWith("panic: "));
  if (panic >= 0) {
    const message = (lines[panic] ?? "").replace(/ \[recovered\].*$/, "");
    // Up to the test's own place; what follows is Go's.
    return { message: [message], trace: until(lines, panic, (line) => line.includes(`/${path}:`)) };
  }
  const at = lines.findIndex((line) => /^\s*--- FAIL: /.test(line));
  if (at < 0) return null;
  const logged = lines.slice(at + 1).find((line) => /^\s+\S+\.go:\d+: /.test(line)) ?? "";
  return { message: [logged.trim().replace(/^\S+\.go:\d+: /, "")], trace: [] };
};

/** Headlines of the first failure: Vitest, Jest, AVA, node:test, Mocha. Before them, a program may print any error that it has handled. */
const failures = /^ FAIL {2}\S|^ {2}● (?!Console$)\S|^\s*✘ \[fail\]: |^✖ failing tests:$|^\s+\d+ failing$/;
/** What follows on one failure: the next one, or a summary. */
const failureEnds = /^⎯{5,}|^ FAIL {2}\S|^ {2}● \S|^Test Suites: |^Node\.js v/;
const isPlace = (line: string) => /^\s*(?:at |❯ |› )/.test(line);
/** Behind a message: a place, the code around it, or the next field in TAP. */
const messageEnds = (line: string) =>
  isPlace(line) || /^\s*(?:(?:> )?\d+ \||code: |name: |stack: )/.test(line);
/** The message of node:test in TAP. */
const tapError = /^\s*error: (?:\|-$|(?=["']))/;

/** The first error in TAP; that of a test marked as TODO fails nothing. */
function tapErrorAt(lines: readonly string[]): number {
  let isTodo = false;
  return lines.findIndex((line) => {
    if (/^\s*not ok \d/.test(line)) isTodo = / # TODO\b/i.test(line);
    return !isTodo && tapError.test(line);
  });
}

/** Programs of Node: an error, its message, and the places of a stack. */
const readStack: Reader = (lines) => {
  const tap = lines.some((line) => /^TAP version \d+$/.test(line)) ? tapErrorAt(lines) : -1;
  if (tap >= 0) return thrownAt(until(lines, tap, (line) => /^\s*\.\.\.$/.test(line)));
  const headline = lines.findIndex((line) => failures.test(line));
  const isThrown = (line: string, index: number) =>
    isError(line) && !isPlace(line) && lines.slice(index, index + 200).some(isPlace);
  // Without a headline, the last error has ended the program.
  if (headline < 0) {
    const last = lines.findLastIndex((line, index) => isThrown(line, index) && !/^\s*\[cause\]/.test(line));
    return last < 0 ? null : thrownAt(lines.slice(last));
  }
  const block = until(lines, headline + 1, (line) => failureEnds.test(line));
  const named = block.findIndex(
    (line) => isError(line) || /^\s*(?:Difference |Value is not|expect\()/.test(line),
  );
  const begin = named < 0 ? block.findIndex((line) => line.trim() !== "") : named;
  return thrownAt(block.slice(Math.max(0, begin)));
};

function thrownAt([first = "", ...rest]: readonly string[]): Printed {
  const message = until(rest, 0, messageEnds);
  return { message: [plainError(first), ...message], trace: rest.slice(message.length) };
}

/** Only what programs of its language print, so that a test cannot print the output of another one. */
function readerFor({ path }: ProofTest): Reader {
  if (path.endsWith(".go")) return readGo;
  return path.endsWith(".py") ? readPython : readStack;
}
