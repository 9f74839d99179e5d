import { runCli } from "../../test/support/run-cli.ts";
import { type Peaks, watchMemory } from "./memory.ts";

export interface WatchedCommand {
  stdout: string;
  stderr: string;
  /** From the start of the process to its end. */
  seconds: number;
  /** Seconds from the start of the process to its first line of progress; not a number if there was none. */
  firstLine: number;
  peaks: Peaks;
}

/** Runs the command line as a person does. Throws if it fails; a graph that finds nothing ends with 1. */
export async function watchCommand(
  args: readonly string[],
  env: Record<string, string>,
): Promise<WatchedCommand> {
  const began = performance.now();
  const since = () => (performance.now() - began) / 1_000;
  let firstLine = Number.NaN;
  let peaks = (): Peaks => ({ parent: 0, child: 0 });
  const { code, stdout, stderr } = await runCli(args, {
    env,
    onStart(child) {
      child.stderr?.once("data", () => {
        firstLine = since();
      });
      peaks = watchMemory(child.pid ?? 0);
    },
  });
  const watched = { seconds: since(), peaks: peaks() };
  if (code !== 0 && !(code === 1 && args[0] === "graph"))
    throw new Error(`hunkwise ${args[0]} ended with ${code}: ${stderr}`);
  return { stdout, stderr, firstLine, ...watched };
}
