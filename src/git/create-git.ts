import { type SimpleGit, simpleGit } from "simple-git";
import { type Git, gitEnvironment, hardenedConfig } from "./git-environment.ts";

export interface CreateGitOptions {
  git: Git;
  /** The folder git runs in; without `gitDir` it looks for a repository from here upwards. */
  baseDir: string;
  gitDir?: string | undefined;
  /** More configuration, outranking the hardened one. */
  config?: readonly (readonly [string, string])[];
  signal?: AbortSignal | undefined;
  /** Every command made with this instance has to be through when it is over. Default 1 minute. */
  timeoutMs?: number | undefined;
}

/**
 * The one constructor of simple-git, for short commands whose answers are text. Content is read with `runGit`, which
 * keeps bytes as they are; fetches have a function of their own, which ends what git started as well.
 *
 * simple-git refuses hardening as it refuses attacks, so its guards are opened for exactly the keys we set; what keeps
 * callers safe is that every argument here is fixed or a value behind `--end-of-options`.
 */
export function createGit(options: CreateGitOptions): SimpleGit {
  const environment = {
    ...gitEnvironment(options.git),
    ...(options.gitDir ? { GIT_DIR: options.gitDir } : {}),
  };
  const config = [...hardenedConfig(), ...(options.config ?? [])];
  // simple-git's own time-out starts anew with every byte; a signal does not.
  const deadline = AbortSignal.timeout(options.timeoutMs ?? 60_000);
  return simpleGit({
    baseDir: options.baseDir,
    binary: options.git.gitPath,
    config: config.map(([key, value]) => `${key}=${value}`),
    abort: options.signal ? AbortSignal.any([options.signal, deadline]) : deadline,
    maxConcurrentProcesses: 4,
    trimmed: true,
    unsafe: {
      allowUnsafeAskPass: true,
      allowUnsafeConfigPaths: true,
      allowUnsafeCredentialHelper: true,
      allowUnsafeCustomBinary: true,
      allowUnsafeFilter: true,
      allowUnsafeFsMonitor: true,
      allowUnsafeHooksPath: true,
      allowUnsafeProtocolOverride: true,
    },
    allowEnvironment: Object.keys(environment),
  }).env(environment);
}
