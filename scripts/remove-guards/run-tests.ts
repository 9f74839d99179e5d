import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** What became of one test. */
export interface TestRun {
  title: string;
  /** The titles of its groups and its own, with blanks between. */
  fullName: string;
  status: "passed" | "failed" | "skipped";
  /** What it says of its failure. */
  message: string;
}

export interface FileRun {
  /** What ran and what did not; empty where the file could not be loaded. */
  tests: TestRun[];
  /** Why nothing of it ran, or what the runner said in the end. */
  trouble: string;
  isOutOfTime: boolean;
  seconds: number;
}

const report = z.object({
  testResults: z.array(
    z.object({
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({
          title: z.string(),
          fullName: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

/** Matches the words in a full name, where a title of a group ends with " > ". */
const literally = (words: string) =>
  words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(" ", "(?: > | )");

/** Runs the tests of one file whose full names hold any of the words, and ends them when the time is over. */
export async function runTests(
  root: string,
  file: string,
  names: readonly string[],
  { limitMs, signal }: { limitMs: number; signal: AbortSignal },
): Promise<FileRun> {
  const result = join(root, "tests.json");
  await rm(result, { force: true });
  const start = performance.now();
  const args = [
    "run",
    file,
    "--reporter=json",
    `--outputFile=${result}`,
    "-t",
    names.map(literally).join("|"),
  ];
  const { said, isOutOfTime } = await runVitest(root, args, limitMs, signal);
  const files = await readFile(result, "utf8").then(
    (text) => report.parse(JSON.parse(text)).testResults,
    () => [],
  );
  const tests = files.flatMap(({ assertionResults }) => assertionResults).map(toRun);
  const message = files.map((one) => one.message ?? "").find(Boolean);
  const seconds = (performance.now() - start) / 1000;
  return { tests, trouble: message ?? said.slice(-2_000), isOutOfTime, seconds };
}

function toRun(one: z.infer<typeof report>["testResults"][number]["assertionResults"][number]): TestRun {
  const status = one.status === "passed" || one.status === "failed" ? one.status : "skipped";
  const { title, fullName } = one;
  return { title, fullName, status, message: (one.failureMessages ?? []).join("\n") };
}

async function runVitest(root: string, args: string[], limitMs: number, signal: AbortSignal) {
  const { HUNKWISE_LONG: _, ...env } = process.env;
  const child = spawn(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), ...args], {
    ...{ cwd: root, env, detached: true, stdio: ["ignore", "pipe", "pipe"] as const },
  });
  let said = "";
  const note = (chunk: Buffer) => {
    said += chunk;
  };
  child.stdout.on("data", note);
  child.stderr.on("data", note);
  // The whole group: a loop without an end keeps its worker from hearing of anything else.
  const end = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  };
  let isOutOfTime = false;
  const timer = setTimeout(() => {
    isOutOfTime = true;
    end();
  }, limitMs);
  signal.addEventListener("abort", end, { once: true });
  await once(child, "close").finally(() => {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  });
  signal.throwIfAborted();
  return { said, isOutOfTime };
}
