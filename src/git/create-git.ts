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
 * What keeps git from starting a program. simple-git refuses each of these keys, whatever its value is, and its commands here need
 * none: they look up names, and run neither hooks nor filters nor monitors, and fetch nothing (`GIT_NO_LAZY_FETCH`).
 */
const guarded = /^(?:core\.(?:hooksPath|fsmonitor|askPass)|credential\.|filter\.|protocol\.)/;

/**
 * The one constructor of simple-git, for what looks up names: repositories, revisions, refs, settings. Content is read with `runGit`,
 * which keeps bytes as they are; fetches have a function of their own, which ends what git started as well. simple-git's guards stay
 * closed but for the one against program paths with unusual characters: ours is an absolute path that `requireGit` has tried.
 */
export function createGit(options: CreateGitOptions): SimpleGit {
  // HOME is empty, so there is no global configuration; simple-git guards the variable that says so once more.
  const { GIT_CONFIG_GLOBAL: _, ...own } = gitEnvironment(options.git);
  const environment = { ...own, ...(options.gitDir ? { GIT_DIR: options.gitDir } : {}) };
  const config = [...hardenedConfig().filter(([key]) => !guarded.test(key)), ...(options.config ?? [])];
  // simple-git's own time-out starts anew with every byte; a signal does not.
  const deadline = AbortSignal.timeout(options.timeoutMs ?? 60_000);
  return simpleGit({
    baseDir: options.baseDir,
    binary: options.git.gitPath,
    config: config.map(([key, value]) => `${key}=${value}`),
    abort: options.signal ? AbortSignal.any([options.signal, deadline]) : deadline,
    maxConcurrentProcesses: 4,
    trimmed: true,
    unsafe: { allowUnsafeCustomBinary: true },
    allowEnvironment: Object.keys(environment),
  }).env(environment);
}
