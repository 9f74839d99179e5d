import type { CommandEnd, CommandPort, CommandRequest } from "../tools/tool.ts";
import { ignoreRules } from "./ignored.ts";
import type { SandboxLimits } from "./limits.ts";
import { runInSandbox } from "./run-in-sandbox.ts";
import type { Sandbox } from "./sandbox.ts";
import { askedFor, MAX_FILE_BYTES, takeOver, wantedFiles } from "./take-over.ts";
import { type CommandFiles, folderName, workspaceFiles } from "./workspace-files.ts";

export interface CommandPortOptions extends CommandFiles {
  sandbox: Sandbox;
  limits: SandboxLimits;
  /** What the base's configuration lets be run, by name. */
  allowed: Readonly<Record<string, string>>;
}

/**
 * Runs commands on the files of an editable workspace. Each begins with exactly these files; what it changes of them is there
 * afterwards, and nothing else that it did.
 */
export function createCommandPort(options: CommandPortOptions): CommandPort {
  // One at a time: what two change at once would depend on which is the first to end.
  let last: Promise<unknown> = Promise.resolve();
  return {
    allowed: options.allowed,
    run(request, signal) {
      const run = last.then(() => runOn(options, request, signal));
      last = run.catch(() => {});
      return run;
    },
  };
}

async function runOn(
  options: CommandPortOptions,
  { command, folder, timeoutMs, env }: CommandRequest,
  signal: AbortSignal,
): Promise<CommandEnd> {
  const { sandbox, limits, isPrivate } = options;
  const refusals = { isPrivate, isIgnored: await ignoreRules(options) };
  const leftOut: string[] = [];
  const outcome = await runInSandbox(
    sandbox,
    {
      ...{ command, timeoutMs, env, limits },
      folder: folder === "." ? "" : folderName(folder),
      files: workspaceFiles(options, limits.filesBytes, (path) => leftOut.push(path)),
      wants: (left) => askedFor(wantedFiles(left, refusals)),
      longest: MAX_FILE_BYTES,
    },
    signal,
  );
  const { changed, notes } = await takeOver(options, outcome, refusals);
  if (leftOut.length > 0) notes.push(`Too large to be there: ${leftOut.slice(0, 5).join(", ")}.`);
  return {
    stdout: outcome.stdout.toString("utf8"),
    stderr: outcome.stderr.toString("utf8"),
    exitCode: outcome.exitCode,
    ended: outcome.ended,
    truncated: outcome.truncated,
    ...{ changed, notes },
  };
}
