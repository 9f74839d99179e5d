import type { CommandIo } from "../../src/cli/command.ts";
import { complaintLine } from "../../src/cli/output.ts";
import { runProgram } from "../../src/cli/program.ts";
import { environmentDocs } from "../../src/config/variables.ts";
import { capturedIo } from "./captured-io.ts";
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

/**
 * Runs a command line within this process, including its review: faster, for tests that do not depend on the environment, signals or real
 * pipes. `runCli` starts a real process.
 */
export async function runHere(
  args: readonly string[],
  { startProcess = startProcessHere }: Pick<CommandIo, "startProcess"> = {},
): Promise<ProgramRun> {
  const io = capturedIo();
  const code = await runProgram(args, { ...io, startProcess }).catch((error: unknown) => {
    io.stderr.write(complaintLine(error));
    return 2;
  });
  requireSchema(args, io.printed());
  return { code, stdout: io.printed(), stderr: withoutFirstProgress(io.warned()) };
}
