import { keepCompiledCode } from "../border/compile-cache.ts";
import { folderOfCaller } from "../config/process-env.ts";
import { AppError } from "../core/errors.ts";
import { complaint, ignoreClosedPipes, write } from "./output.ts";

const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

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

/** Ends with 2 on an unhandled error. Node's own exit code 1 would mean "a finding". */
function endOnStrayErrors(): void {
  const end = async (error: unknown) => {
    await write(process.stderr, complaint(error));
    process.exit(2);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

/** Runs the command line of this process, and ends the process with its exit code. */
export async function main(): Promise<never> {
  const { stdout, stderr } = process;
  ignoreClosedPipes(stdout, stderr);
  endOnStrayErrors();
  keepCompiledCode();
  const abort = abortOnSignals();
  try {
    const caller = folderOfCaller();
    if (caller !== null) process.chdir(caller);
    const { runProgram } = await import("./program.ts");
    process.exit(await runProgram(process.argv.slice(2), { stdout, stderr, signal: abort.signal }));
  } catch (error) {
    const code = abort.exitCode();
    await write(stderr, code === null ? complaint(error) : "hunkwise: stopped\n");
    process.exit(code ?? 2);
  }
}
