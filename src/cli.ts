#!/usr/bin/env node
import { AppError } from "./errors.ts";
import { keepCompiledCode } from "./process/compile-cache.ts";

const OLDEST_NODE = [22, 20] as const;
const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Checked before anything is loaded that an old Node cannot load. */
function complaintAboutNode(): string | null {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return null;
  return `Node ${process.versions.node} is too old. Install Node ${OLDEST_NODE.join(".")} or newer.`;
}

/** The first signal lets the command clean up; the second one ends the process at once. */
function abortOnSignals(): { signal: AbortSignal; exitCode: () => number | null } {
  const controller = new AbortController();
  let received: number | null = null;
  for (const [name, code] of Object.entries(signals)) {
    process.on(name, () => {
      if (received !== null) process.exit(code);
      received = code;
      controller.abort(new AppError("aborted", `stopped by ${name}`));
    });
  }
  return { signal: controller.signal, exitCode: () => received };
}

// Only the errors are imported statically: an old Node must reach the message about its version.
const complaint = async (error: unknown) => (await import("./cli/output.ts")).complaint(error);
const output = () => import("./cli/output.ts");

/** Ends with 2 on an unhandled error. Node's own exit code 1 would mean "a finding". */
function endOnStrayErrors(): void {
  const end = async (error: unknown) => {
    await (await output()).write(process.stderr, await complaint(error));
    process.exit(2);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

async function main(): Promise<number> {
  const tooOld = complaintAboutNode();
  if (tooOld !== null) {
    process.stderr.write(`hunkwise: ${tooOld}\n`);
    return 2;
  }
  const { ignoreClosedPipes, write } = await output();
  const { stdout, stderr } = process;
  ignoreClosedPipes(stdout, stderr);
  endOnStrayErrors();
  keepCompiledCode();
  const abort = abortOnSignals();
  try {
    const { runProgram } = await import("./cli/program.ts");
    return await runProgram(process.argv.slice(2), { stdout, stderr, signal: abort.signal });
  } catch (error) {
    const code = abort.exitCode();
    await write(stderr, code === null ? await complaint(error) : "hunkwise: stopped\n");
    return code ?? 2;
  }
}

process.exit(await main());
