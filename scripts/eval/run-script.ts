import { ignoreClosedPipes, write } from "../../src/cli/output.ts";
import { errorLine } from "../../src/core/errors.ts";
import { escapeInvisible } from "../../src/core/text/escape-invisible.ts";

/** Runs the main function of a script and exits with its code; an error prints one line and exits with 2. */
export async function runScript(
  name: string,
  main: (argv: readonly string[], signal: AbortSignal) => Promise<number>,
): Promise<never> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => stop.abort(new Error("stopped")));
  ignoreClosedPipes(process.stdout, process.stderr);
  try {
    process.exit(await main(process.argv.slice(2), stop.signal));
  } catch (error) {
    const line = escapeInvisible(errorLine(error).replaceAll(/\s*\n\s*/g, " "));
    await write(process.stderr, `${name}: ${line}\n`);
    process.exit(2);
  }
}
