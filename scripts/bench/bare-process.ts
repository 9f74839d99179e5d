import { spawn } from "node:child_process";
import { timed } from "./measure.ts";

export interface BareProcess {
  program: string;
  args: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  input?: Buffer;
  /** Exit codes that count as success. Default: only 0. */
  exits?: readonly number[];
  /** Inspects the output; true ends the process early. */
  enough?: (chunk: Buffer) => boolean;
}

/** Milliseconds from the start of a program until it has ended and its output has been read. */
export function timeOf(request: BareProcess): Promise<number> {
  return timed(() => run(request));
}

async function run({ program, args, cwd, env, input, exits = [0], enough }: BareProcess): Promise<void> {
  const child = spawn(program, args, { cwd, env, stdio: [input ? "pipe" : "ignore", "pipe", "pipe"] });
  let complaint = "";
  let stopped = false;
  child.stdout?.on("data", (chunk: Buffer) => {
    if (stopped || !enough?.(chunk)) return;
    stopped = true;
    child.kill("SIGKILL");
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    complaint += chunk.toString("utf8");
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (!stopped && !exits.includes(code ?? -1))
    throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${complaint}`);
}
