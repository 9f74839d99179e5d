import { Writable } from "node:stream";
import type { CommandIo } from "../../src/cli/command.ts";
import { complaintLine } from "../../src/cli/output.ts";
import { runProgram } from "../../src/cli/program.ts";
import { environmentDocs } from "../../src/config/variables.ts";
import { startProcessHere } from "./process-here.ts";
import { unsetVariables } from "./run-cli.ts";

export interface ProgramRun {
  code: number;
  stdout: string;
  stderr: string;
}

// A key in the shell or in .env must never be spent by a test.
for (const { name } of environmentDocs) delete process.env[name];
Object.assign(process.env, unsetVariables);

/** A pipe that remembers. */
function collector() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return {
    stream: stream as unknown as NodeJS.WriteStream,
    text: () => Buffer.concat(chunks).toString("utf8"),
  };
}

/**
 * Runs a command line within this process, its review too: the quick way for whatever does not depend on the environment, signals or real
 * pipes. `runCli` starts the real thing.
 */
export async function runHere(
  args: readonly string[],
  { startProcess = startProcessHere }: Pick<CommandIo, "startProcess"> = {},
): Promise<ProgramRun> {
  const [stdout, stderr] = [collector(), collector()];
  const { signal } = new AbortController();
  const io = { stdout: stdout.stream, stderr: stderr.stream, signal, startProcess };
  const code = await runProgram(args, io).catch((error: unknown) => {
    stderr.stream.write(complaintLine(error));
    return 2;
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}
