import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { changesOf, without } from "../../test/attacks/all-guards.ts";
import type { Guard } from "../../test/attacks/guard.ts";
import { type FileRun, runTests, type TestRun } from "./run-tests.ts";

/** What a guard's test says once the guard is gone. Only `red` and `endless` show that somebody would notice. */
export type Verdict = "red" | "endless" | "SURVIVED" | "CRASHED" | "NO TEST" | "NOT GREEN" | "NO GUARD";

export interface Outcome {
  guard: Guard;
  verdict: Verdict;
  /** The first line of the failure, or what is wrong. */
  reason: string;
  seconds: number;
}

export const isNoticed = ({ verdict }: Outcome) => verdict === "red" || verdict === "endless";

/** The tests that a guard names: the one of that title, else those whose full names hold the words. */
export function namedBy({ title }: Guard, { tests }: FileRun): TestRun[] {
  const exact = tests.filter((test) => test.title === title);
  return exact.length > 0 ? exact : tests.filter(({ fullName }) => fullName.includes(title));
}

/** What is wrong with a guard's test while the guard is there; undefined when it is one, and green. */
export function troubleOf(guard: Guard, run: FileRun): Pick<Outcome, "verdict" | "reason"> | undefined {
  const tests = namedBy(guard, run);
  if (run.isOutOfTime) return { verdict: "NOT GREEN", reason: "ran out of time" };
  if (tests.length !== 1) {
    const reason = run.tests.length === 0 ? firstLine(run.trouble) : `${tests.length} tests are named so`;
    return { verdict: "NO TEST", reason };
  }
  const [{ status, message }] = tests as [TestRun];
  return status === "passed"
    ? undefined
    : { verdict: "NOT GREEN", reason: `${status} ${firstLine(message)}` };
}

/** Takes the guard away in a copy of the project, asks its test, and puts it back. */
export async function tryGuard(guard: Guard, root: string, signal: AbortSignal): Promise<Outcome> {
  const start = performance.now();
  const told = (verdict: Verdict, reason = ""): Outcome => ({
    ...{ guard, verdict, reason, seconds: (performance.now() - start) / 1000 },
  });
  const read = changesOf(guard).map(async (change) => {
    const path = join(root, change.file);
    return { path, change, source: await readFile(path, "utf8") };
  });
  const places = await Promise.all(read);
  try {
    const changed = places.map(({ path, change, source }) => ({ path, text: without(change, source) }));
    for (const { path, text } of changed) await writeFile(path, text);
  } catch (error) {
    return told("NO GUARD", error instanceof Error ? error.message : String(error));
  }
  try {
    const run = await runTests(root, guard.test, [guard.title], { limitMs: 300_000, signal });
    const [verdict, reason] = judge(guard, run);
    return told(verdict, reason);
  } finally {
    for (const { path, source } of places) await writeFile(path, source);
  }
}

/** What the run of its test says of a guard that is gone, and why. */
export function judge(guard: Guard, run: FileRun): [Verdict, string] {
  if (run.isOutOfTime) return ["endless", "did not end by itself"];
  const [test] = namedBy(guard, run);
  if (!test || test.status === "skipped") return ["CRASHED", firstLine(run.trouble)];
  if (test.status === "passed") return ["SURVIVED", ""];
  return isCrash(test.message) ? ["CRASHED", firstLine(test.message)] : ["red", firstLine(test.message)];
}

/** Whether it was not the test that failed but the source that is left which cannot be run at all. */
function isCrash(message: string): boolean {
  return (
    /^(?:SyntaxError|ReferenceError)\b/.test(message) ||
    /ERR_MODULE_NOT_FOUND|ERR_INVALID_TYPESCRIPT|does not provide an export named|ReferenceError: \w+ is not/.test(
      message,
    )
  );
}

const firstLine = (text: string) => text.trim().split("\n")[0]?.slice(0, 120) ?? "";
