import { Writable } from "node:stream";
import type { CommandIo } from "../../src/cli/command.ts";
import { complaintLine } from "../../src/cli/output.ts";
import { runProgram } from "../../src/cli/program.ts";
import { environmentDocs } from "../../src/config/variables.ts";
import { startProcessHere } from "./process-here.ts";
import { requireSchema } from "./review-schema.ts";
import { unsetVariables, withoutFirstProgress } from "./run-cli.ts";

export interface ProgramRun {
  code: number;
  stdout: string;
  stderr: string;
}

// A test must never spend a key from the shell or from .env.
for (const { name } of environmentDocs) delete process.env[name];
Object.assign(process.env, unsetVariables);

/** A pipe that keeps its content. */
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
 * Runs a command line within this process, including its review: faster, for tests that do not depend on the environment, signals or real
 * pipes. `runCli` starts a real process.
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
  requireSchema(args, stdout.text());
  return { code, stdout: stdout.text(), stderr: withoutFirstProgress(stderr.text()) };
}
