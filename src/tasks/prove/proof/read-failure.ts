import { stripVTControlCharacters } from "node:util";
import type { TestEnd } from "../../../agent/record/test-end.ts";
import type { ProofTest } from "../../../core/finding.ts";

/** How a run of a test failed, as far as its output says. Untrusted text: the test can print anything. */
export interface Failure {
  /**
   * `setup`: no test began, or the test itself is broken. `unknown`: a limit or a signal ended it, it did not fail, or nobody can tell from
   * its output.
   */
  kind: "assertion" | "error" | "setup" | "unknown";
  /**
   * One line for people: "AssertionError: expected 'a' to equal 'b'", without paths of the sandbox, colours, times, addresses and durations.
   * Two runs that fail in the same way have the same line.
   */
  line: string;
  /** Places of the repository in its trace, innermost first, without the test's own and node_modules. */
  frames: readonly { path: string; line: number }[];
  /** The values that the runner prints, null if it prints none. Several lines for structures. */
  expected: string | null;
  actual: string | null;
}

/** What a reader finds in the output of one kind of program. */
interface Found {
  /** "AssertionError"; empty if the program names none. */
  name: string;
  /** Lines of the message, and of the comparison behind it. */
  message: readonly string[];
  /** Lines of the trace. */
  trace: readonly string[];
  /** In the trace, the innermost place is the last one. */
  isReversed?: boolean;
  isAssertion?: boolean;
  isSetup?: boolean;
  /** The message is a line of the source, in which there are no values. */
  isSource?: boolean;
  expected?: string | null | undefined;
  actual?: string | null | undefined;
}

type Reader = (lines: readonly string[], test: ProofTest) => Found | null;

/** Signals are reported as 128 and their number; a shell reports a program that it cannot run, or does not find, as 126 and 127. */
const SIGNAL = 128;
const LAST_SIGNAL = 64;
const CANNOT_RUN = 126;

/** Reads what a failing run printed: Node, node:test, Vitest, Jest, Mocha, AVA, TAP, pytest, unittest, Python, Go. */
export function readFailure(end: TestEnd, test: ProofTest): Failure {
  const lines = linesOf(end);
  const nothing = { frames: [], expected: null, actual: null };
  if (end.ended !== null) return { kind: "unknown", line: `Ended by a limit: ${end.ended}`, ...nothing };
  if (end.exit_code > SIGNAL && end.exit_code <= SIGNAL + LAST_SIGNAL)
    return { kind: "unknown", line: `Ended by signal ${end.exit_code - SIGNAL}`, ...nothing };
  if (end.exit_code === 0) return { kind: "unknown", line: "It did not fail", ...nothing };
  if (end.exit_code === CANNOT_RUN || end.exit_code === CANNOT_RUN + 1)
    return { kind: "setup", line: clean(lines.findLast((line) => line !== "") ?? "Not found"), ...nothing };
  const found = readersFor(test)
    .map((read) => read(lines, test))
    .find((one) => one !== null);
  const broken = brokenSetup(end, lines, test);
  if (!found) {
    const last = broken ?? lines.findLast((line) => line.trim() !== "") ?? `Exit code ${end.exit_code}`;
    return { kind: broken === null ? "unknown" : "setup", line: clean(last.trim()), ...nothing };
  }
  const frames = framesIn(found, test);
  const values = valuesIn(found);
  const isSetup = broken !== null || found.isSetup || isBrokenTest(found, frames, lines);
  return {
    kind: isSetup
      ? "setup"
      : isLate.test(found.message.join("\n"))
        ? "unknown"
        : isAssertion(found)
          ? "assertion"
          : "error",
    line: headline(found, values),
    frames: frames.filter(({ isTest }) => !isTest).map(({ path, line }) => ({ path, line })),
    ...values,
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
  /^(?:_+ ERROR (?:collecting|at setup of) |no tests ran\b|No test files found|Error: No test (?:files|suite) found|\s*● Test suite failed to run$|\s*Exception during run:|ERROR: \S+ \(unittest\.loader\._FailedTest|No tests found, exiting|Error: No test files found|FAIL\s+\S+ \[(?:build|setup) failed\]|ImportError while loading conftest|\s*✘ No tests found in |\s*Your test suite must contain at least one test)|^(?:npm|npx|node|python3?|bad option|ERROR): .*(?:usage|unrecognized argument|bad option|could not determine executable)/;

/** Faults of modules, wherever they are thrown. */
const moduleFault =
  /^(?:Module(?:NotFound)?Error|ImportError)\b|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND|ERR_UNKNOWN_FILE_EXTENSION|ERR_PACKAGE_PATH_NOT_EXPORTED|ERR_UNSUPPORTED_DIR_IMPORT|Cannot find (?:module|package) |does not provide an export named|Failed to (?:load url|resolve import)|^Error: Cannot run .* as it is/;

/** Whether the test never ran, or fails because of what only the test says. */
function isBrokenTest(found: Found, frames: readonly Frame[], lines: readonly string[]): boolean {
  const text = `${found.name}: ${found.message.join("\n")}`;
  if (moduleFault.test(text)) return true;
  const isParsed = /^(?:SyntaxError|IndentationError|TabError)\b/.test(found.name);
  // JSON.parse and eval throw this as well, but from somewhere.
  if (isParsed && (frames.length === 0 || text.includes("import"))) return true;
  if (/^(?:ReferenceError|NameError)\b/.test(found.name) && frames.every(({ isTest }) => isTest)) return true;
  // Thrown while modules were loaded, before the test file's first line.
  return (
    frames.every(({ isTest }) => !isTest) &&
    lines.some((line) => /^ +at (?:async )?ModuleJob\.run /.test(line))
  );
}

/** A test runner's own time limit, which a busy machine can exceed. */
const isLate =
  /\bTest timed out in \d|\btest timed out after \d|\bTimeout of \d+ ?ms exceeded|\bExceeded timeout of \d|^Timeout >\d/i;

const isAssertion = (found: Found) =>
  found.isAssertion === true || /^(?:.*\.)?(?:AssertionError|Failed|JestAssertionError)\b/.test(found.name);

const MAX_LINE = 300;

/** The error's name and the first line of its message, with the next ones if the first only announces them, or the values if it has none. */
function headline({ name, message }: Found, { expected, actual }: Values): string {
  const diff = message.findIndex((line) => diffHeaders.some(([header]) => header.test(line)));
  const said = (diff > 0 ? message.slice(0, diff) : message)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const [first = "", ...rest] = said;
  const whole = first.endsWith(":") ? [first, ...rest.slice(0, 6)].join(" ").replace(/:$/, "") : first;
  const line =
    name === "" || whole.startsWith(`${name}:`) ? whole : whole === "" ? name : `${name}: ${whole}`;
  const isTold =
    expected === null ||
    actual === null ||
    [expected, actual].some((value) => value.trim() === "") ||
    line.includes(actual.replace(/^(['"])(.*)\1$/, "$2")) ||
    `${expected}${actual}`.includes("\n");
  return clean(isTold ? line : `${line} (expected ${expected}, actual ${actual})`);
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

function framesIn({ trace, isReversed }: Found, test: ProofTest): Frame[] {
  const frames = trace.flatMap((text): Frame[] => {
    const groups = places.map((place) => place.exec(text)?.groups).find((one) => one !== undefined);
    const path = repositoryPath(groups?.path ?? "");
    return path === null ? [] : [{ path, line: Number(groups?.line), isTest: path === test.path }];
  });
  return (isReversed ? frames.toReversed() : frames).slice(0, MAX_FRAMES);
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
  return isForeign || names[0]?.startsWith(".hunkwise-") || names[0]?.startsWith("<") ? null : decoded(path);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

type Values = Pick<Failure, "expected" | "actual">;

const MAX_VALUE = 2_000;
const cut = (text: string) =>
  text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE).toWellFormed()}…` : text;

function valuesIn(found: Found): Values {
  const { message, trace } = found;
  const given = { expected: found.expected ?? null, actual: found.actual ?? null };
  const candidates = [
    given,
    namedValues([...message, ...trace]),
    found.isSource ? null : comparedIn(message),
    diffIn(message),
  ];
  const { expected, actual } =
    candidates.find((one) => one !== null && one.expected !== null && one.actual !== null) ?? given;
  const trimmed = (text: string | null) => (text === null ? null : cut(text.trim()));
  return { expected: trimmed(expected), actual: trimmed(actual) };
}

/** `Expected: x` and `Received: y` of Jest and Vitest; `actual: 'x',` of errors that Node prints. */
function namedValues(lines: readonly string[]): Values | null {
  const named = (pattern: RegExp) =>
    lines
      .map((line) => pattern.exec(line)?.[1])
      .find((one) => one !== undefined && !/^\[\w+\]$|^\|-?$/.test(one)) ?? null;
  const expected = named(/^\s*expected: (.+?),?$/i);
  const actual = named(/^\s*(?:actual|received): (.+?),?$/i);
  return expected === null || actual === null ? null : { expected, actual };
}

const value = `('(?:\\\\.|[^'\\\\])*'|"(?:\\\\.|[^"\\\\])*"|.+?)`;
/** How assertions say it in one line: node:assert, unittest, pytest, chai. */
const comparisons = [
  new RegExp(`^(?:AssertionError: )?assert ${value} == ${value}$`),
  new RegExp(`^${value} (?:!==?|={2,3}|!=) ${value}$`),
  new RegExp(
    `expected ${value} to (?:(?:strictly|deeply|loosely) )?(?:be|equal|eql)(?: equal to)? ${value}(?: // .*)?$`,
  ),
];

function comparedIn(message: readonly string[]): Values | null {
  for (const line of message) {
    for (const shape of comparisons) {
      const [, actual, expected] = shape.exec(line.trim()) ?? [];
      if (actual !== undefined && expected !== undefined) return { actual, expected };
    }
  }
  return null;
}

/** Headers of comparisons: which sign stands for which side. */
const diffHeaders: [RegExp, "expected" | "actual"][] = [
  [/^\s*- Expected(?:\s+-\s+\d+)?$/, "expected"],
  [/^\s*--- expected$/, "expected"],
  [/\+ actual - expected/, "expected"],
  [/\+ expected - actual/, "actual"],
  [/\(- actual, \+ expected\)/, "actual"],
];

function diffIn(message: readonly string[]): Values | null {
  for (const [header, minus] of diffHeaders) {
    const at = message.findIndex((line) => header.test(line));
    if (at < 0) continue;
    const rest = message
      .slice(at + 1)
      .filter((line) => !/^\s*(?:[+-] (?:Received|Expected)(?:\s+\+\s+\d+)?|\+\+\+ actual)$/.test(line));
    const of = (sign: string) =>
      rest
        .map((line) => line.trimStart())
        .filter((line) => line.startsWith(sign))
        .map((line) => line.slice(1).trim())
        .join("\n");
    const sides = { minus: of("-"), plus: of("+") };
    const [expected, actual] = minus === "expected" ? [sides.minus, sides.plus] : [sides.plus, sides.minus];
    return { expected, actual };
  }
  return null;
}

/** Lines from `at` up to the first that `ends`, at most `count`. */
function until(lines: readonly string[], at: number, ends: (line: string) => boolean, count = 400): string[] {
  const rest = lines.slice(at, at + count);
  const end = rest.findIndex(ends);
  return end < 0 ? rest : rest.slice(0, end);
}

const errorName = String.raw`(?:[A-Za-z_$][\w$]*\.)*[A-Za-z_$][\w$]*(?:Error|Exception|Exit|Interrupt|Warning|Failed|Failure)|Error`;
/** `AssertionError [ERR_ASSERTION]: message` */
const errorLine = new RegExp(
  String.raw`^(?:Uncaught |Unhandled )?(${errorName})(?: \[([A-Z_\d]+)\])?(?:: ?(.*))?$`,
);

function splitError(line: string): { name: string; said: string } | null {
  const [, name, code, said] = errorLine.exec(line.trim()) ?? [];
  if (name === undefined) return null;
  return { name, said: [said ?? "", code && code !== "ERR_ASSERTION" ? `[${code}]` : ""].join(" ").trim() };
}

/** pytest: the marked lines of the first failure, and its places, outermost first. */
const readPytest: Reader = (lines) => {
  const begin = lines.findIndex((line) => /^=+ (?:FAILURES|ERRORS) =+$/.test(line));
  if (begin < 0) return null;
  const title = begin + 1;
  const block = until(lines, title + 1, (line) => /^(?:_{3,} .* _{3,}|=+ .* =+)$/.test(line));
  const marked = block
    .filter((line) => /^E( |$)/.test(line))
    .map((line) => line.slice(1).replace(/^ {1,7}/, ""));
  // That of a file that cannot be parsed begins with its place.
  const begins = /^\s*File "/.test(marked[0] ?? "")
    ? marked.findIndex((line) => splitError(line) !== null)
    : 0;
  const [first = "", ...rest] = marked.slice(Math.max(0, begins));
  const error = splitError(first);
  const last = block.findLast((line) => /^\S+:\d+: \S+$/.test(line));
  const name = error?.name ?? last?.split(": ").at(-1) ?? "";
  return {
    name,
    message: [error?.said ?? first, ...rest],
    trace: block,
    isReversed: true,
    isAssertion: /^(?:Failed|AssertionError)$/.test(name) || first.startsWith("assert "),
    isSetup: lines.slice(begin, title + 1).some((line) => /ERRORS|ERROR (?:collecting|at setup)/.test(line)),
  };
};

const TRACEBACK = "Traceback (most recent call last):";

/** A traceback of Python, also those of unittest: the first one that no other follows from. */
const readTraceback: Reader = (lines) => {
  let at = lines.findIndex((line) => line.trim() === TRACEBACK);
  if (at < 0) return null;
  const chained = /^(?:During handling of the above exception|The above exception was the direct cause)/;
  for (;;) {
    const next = lines.findIndex((line, index) => index > at && line.trim() === TRACEBACK);
    if (next < 0 || !lines.slice(at, next).some((line) => chained.test(line.trim()))) break;
    at = next;
  }
  const indent = /^\s*/.exec(lines[at] ?? "")?.[0].length ?? 0;
  const trace = until(
    lines,
    at + 1,
    (line) => line.trim() !== "" && !line.startsWith(" ".repeat(indent + 1)),
  );
  const message = until(
    lines,
    at + 1 + trace.length,
    (line) => /^(?:-{20,}|={20,}|FAILED |Ran \d+ test)/.test(line),
    60,
  );
  const [first = "", ...rest] = message;
  const error = splitError(first) ?? {
    name: first.trim().split(":")[0] ?? "",
    said: first.trim().split(": ").slice(1).join(": "),
  };
  const isSetup = trace.some((line) => /unittest\/loader\.py/.test(line));
  // A bare `assert` has no message.
  const source = error.said === "" ? trace.findLast((line) => /^\s*assert\b/.test(line)) : undefined;
  const said = source ?? error.said;
  return {
    name: error.name,
    message: [said, ...rest],
    trace,
    isReversed: true,
    isSetup,
    isSource: source !== undefined,
  };
};

/** The first failure in TAP, with the values that node:test and tap print in YAML. */
const readTap: Reader = (lines) => {
  if (!lines.some((line) => /^TAP version \d+$/.test(line))) return null;
  // The innermost one: a suite fails because of its tests.
  const isFailing = (line: string) => /^\s*not ok \d+/.test(line) && !/# (?:TODO|SKIP)\b/i.test(line);
  const at = lines.findIndex(isFailing);
  if (at < 0) return null;
  const block = until(lines, at + 1, (line) => /^\s*\.\.\.$/.test(line));
  const field = (name: string) => yamlField(block, name);
  const error = field("error");
  const said = error ?? /^\s*not ok \d+ - (.*)$/.exec(lines[at] ?? "")?.[1] ?? "";
  return {
    name: field("name") ?? (error === null ? "" : "Error"),
    message: [...said.split("\n"), ...(field("diff") ?? "").split("\n")],
    trace: (field("stack") ?? "").split("\n"),
    isAssertion:
      field("code") === "ERR_ASSERTION" ||
      (error === null && block.some((line) => /^\s*compare:/.test(line))),
    expected: field("expected") ?? field("wanted"),
    actual: field("actual") ?? field("found"),
  };
};

/** A field of the YAML behind a test: in one line, or the deeper lines below it. */
function yamlField(block: readonly string[], name: string): string | null {
  const at = block.findIndex((line) => line.trimStart().startsWith(`${name}:`));
  if (at < 0) return null;
  const line = block[at] ?? "";
  const indent = line.length - line.trimStart().length;
  const inline = line
    .trimStart()
    .slice(name.length + 1)
    .trim();
  if (inline !== "" && !/^[|>]-?$/.test(inline))
    return name === "name" || name === "error" || name === "code"
      ? inline.replace(/^(['"])(.*)\1$/, "$2")
      : inline;
  return until(block, at + 1, (one) => one.trim() !== "" && one.length - one.trimStart().length <= indent)
    .map((one) => one.slice(indent + 2))
    .join("\n");
}

/** Jest: the first `● name`. Its assertions have no name. */
const readJest: Reader = (lines) => {
  const at = lines.findIndex((line) => /^ {2}● \S/.test(line) && !/^ {2}● Console$/.test(line));
  if (at < 0) return null;
  const block = until(lines, at + 1, (line) => /^ {2}● \S|^Test Suites: /.test(line)).map((line) =>
    line.replace(/^ {4}/, ""),
  );
  const isPlace = (line: string) => /^\s*at /.test(line);
  const message = until(block, 0, (line) => isPlace(line) || /^\s*(?:> )?\d+ \|/.test(line));
  const begin = message.findIndex((line) => line.trim() !== "");
  const [first = "", ...rest] = message.slice(begin);
  const error = splitError(first);
  return {
    name: error?.name ?? "",
    message: [error?.said ?? first, ...rest],
    trace: block.filter(isPlace),
    isAssertion: /^expect\(/.test(first) || error?.name === "AssertionError",
    isSetup: /Test suite failed to run$/.test(lines[at] ?? ""),
  };
};

/** AVA: the first title between two lines; differences have no name. */
const readAva: Reader = (lines) => {
  const at = lines.findIndex((line) => /^\s*✘ \[fail\]: /.test(line));
  if (at < 0) return null;
  const rule = lines.findIndex((line, index) => index > at && /^\s*─+$/.test(line));
  const block = until(lines, rule + 1, (line) => /^\s*─+$/.test(line));
  const thrown = block.findIndex(
    (line, index) =>
      splitError(line) !== null && /^\s+(?:at|›) /.test(block[index + 2] ?? block[index + 1] ?? ""),
  );
  const error = thrown < 0 ? null : splitError(block[thrown] ?? "");
  const difference = block.findIndex((line) => /^\s*Difference |^\s*Value is not/.test(line));
  const begin = difference < 0 ? 0 : difference;
  return {
    name: error?.name ?? "",
    message: error ? [error.said] : block.slice(begin).filter((line) => !/^\s*›/.test(line)),
    trace: block.filter((line) => /^\s*(?:at|›) /.test(line)),
    isAssertion: error === null,
  };
};

/** Vitest: the first ` FAIL `, an error, its comparison and its places, innermost first. */
const readVitest: Reader = (lines) => {
  const at = lines.findIndex((line) => /^ FAIL {2}\S/.test(line));
  if (at < 0) return null;
  const block = until(lines, at + 1, (line) => /^⎯{5,}/.test(line) || /^ FAIL {2}\S/.test(line));
  const begin = block.findIndex((line) => line.trim() !== "");
  const isPlace = (line: string) => /^ ❯ /.test(line);
  const message = until(block, begin, isPlace);
  const [first = "", ...rest] = message;
  const error = splitError(first);
  return {
    name: error?.name ?? "",
    message: [error?.said ?? first, ...rest],
    trace: block.filter(isPlace),
    // A file, not a test: it could not be loaded.
    isSetup:
      lines.slice(0, at).some((line) => /Failed Suites/.test(line)) && !(lines[at] ?? "").includes(" > "),
  };
};

/** Go: what the first failing test logged, or a panic. */
const readGo: Reader = (lines, { path }) => {
  const isBuild = lines.some(
    (line) => /^FAIL\s+\S+ \[(?:build|setup) failed\]/.test(line) || /^# \S+/.test(line),
  );
  if (isBuild) {
    const said = lines.find((line) => /^\S+\.go:\d+:\d+: /.test(line)) ?? "build failed";
    return { name: "", message: [said], trace: [], isSetup: true };
  }
  const panic = lines.findIndex((line) => line.startsWith("panic: "));
  if (panic >= 0) {
    const said = (lines[panic] ?? "").replace(/ \[recovered\].*$/, "");
    return { name: "", message: [said], trace: fullGoPaths(lines.slice(panic), path) };
  }
  const at = lines.findIndex((line) => /^\s*--- FAIL: /.test(line));
  if (at < 0) return null;
  const said = lines.slice(at + 1).find((line) => /^\s+\S+\.go:\d+: /.test(line)) ?? "";
  return { name: "", message: [said.trim().replace(/^\S+\.go:\d+: /, "")], trace: [], isAssertion: true };
};

/** Up to the test's frames; what is above them is Go's own. */
const fullGoPaths = (lines: readonly string[], path: string) =>
  until(lines, 0, (line) => line.includes(`/${path}:`));

/** node:test for people, Mocha, and what Node prints before it dies: an error, its message, and V8's stack. */
const readStack: Reader = (lines) => {
  const isPlace = (line: string) => /^\s*at /.test(line);
  // Failures of tests stand behind a headline. Before it, a program may print any error that it has handled.
  const summary = lines.findLastIndex((line) => /^✖ failing tests:$|^\s+\d+ failing$/.test(line));
  const from = Math.max(0, summary);
  const isError = (line: string, index: number) =>
    index >= from &&
    splitError(line) !== null &&
    !isPlace(line) &&
    lines.slice(index, index + 200).some(isPlace);
  // The last one kills a program; of a list of failures, the first one counts.
  const at =
    summary >= 0
      ? lines.findIndex(isError)
      : lines.findLastIndex((line, index) => isError(line, index) && !/^\s*\[cause\]/.test(line));
  if (at < 0) return null;
  const error = splitError(lines[at] ?? "");
  const rest = until(lines, at + 1, isPlace);
  const stack = lines.slice(at + 1 + rest.length);
  const places = until(stack, 0, (line) => !isPlace(line));
  // The fields of the error, in braces.
  const fields = (places.at(-1) ?? "").endsWith("{")
    ? until(stack, places.length, (line) => /^\s*\}$/.test(line))
    : [];
  return { name: error?.name ?? "", message: [error?.said ?? "", ...rest], trace: [...places, ...fields] };
};

/** From the most particular output to the most general; only those of its language, so that a test cannot print that of another one. */
function readersFor({ path }: ProofTest): readonly Reader[] {
  if (path.endsWith(".go")) return [readGo];
  if (path.endsWith(".py")) return [readPytest, readTraceback];
  return [readTap, readVitest, readAva, readJest, readStack];
}
