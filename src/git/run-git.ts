import { AppError } from "../errors.ts";
import { configVariables, type Git, gitEnvironment, hardenedConfig } from "./git-environment.ts";
import { gitError } from "./git-error.ts";
import { runProcess } from "./run-process.ts";

export interface GitCommand {
  git: Git;
  /** The repository; always named, never discovered. */
  gitDir: string;
  /** For the few commands that write files or compare them. */
  workTree?: string | undefined;
  indexFile?: string | undefined;
  /** More configuration, outranking the hardened one. */
  config?: readonly (readonly [string, string])[];
  /** What the command does, for messages: "diff", "list the tree". */
  what: string;
  args: readonly string[];
  input?: string | Buffer | undefined;
  signal?: AbortSignal | undefined;
  /** Default 2 minutes. */
  timeoutMs?: number | undefined;
  /** Default 512 MB of stdout; beyond it the process is killed and the call rejects with `too_large`. */
  maxBytes?: number | undefined;
  /** Exit codes that are answers. Default 0 alone. */
  expectedExits?: readonly number[];
}

export const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_MAX_BYTES = 512 * 1024 * 1024;

/** Runs git and hands its stdout on as it comes. No shell, no inherited environment, no configuration but ours. */
export async function streamGit(
  command: GitCommand,
  onStdout: (chunk: Buffer) => "stop" | undefined,
): Promise<number> {
  const { git, what } = command;
  const location = [`--git-dir=${command.gitDir}`];
  if (command.workTree !== undefined) location.push(`--work-tree=${command.workTree}`);
  const maxBytes = command.maxBytes ?? DEFAULT_MAX_BYTES;
  let bytes = 0;
  const end = await runProcess({
    program: git.gitPath,
    args: ["--no-pager", ...location, ...command.args],
    cwd: git.emptyHome,
    env: {
      ...gitEnvironment(git),
      ...configVariables([...hardenedConfig(), ...(command.config ?? [])]),
      ...(command.indexFile === undefined ? {} : { GIT_INDEX_FILE: command.indexFile }),
    },
    input: command.input,
    signal: command.signal,
    timeoutMs: command.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    onStdout: (chunk) => {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new AppError("too_large", `git ${what} gave more than ${maxBytes} bytes`);
      return onStdout(chunk);
    },
  });
  if (end.stopped) return 0;
  if (end.exitCode === null || !(command.expectedExits ?? [0]).includes(end.exitCode))
    throw gitError(what, end);
  return end.exitCode;
}

/** Runs git and returns its stdout byte for byte. */
export async function runGit(command: GitCommand): Promise<{ stdout: Buffer; exitCode: number }> {
  const chunks: Buffer[] = [];
  const exitCode = await streamGit(command, (chunk) => {
    chunks.push(chunk);
    return undefined;
  });
  return { stdout: Buffer.concat(chunks), exitCode };
}
