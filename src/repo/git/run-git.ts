import { dirname } from "node:path";
import { AppError } from "../../core/errors.ts";
import { gitError } from "./git-error.ts";
import { ownerVariable } from "./owner.ts";
import { findOnPath, runProcess } from "./run-process.ts";

/** The git program and the empty folder that is its HOME. Every git process of this folder uses both. */
export interface Git {
  /** Absolute path. */
  gitPath: string;
  emptyHome: string;
}

export interface Network {
  /** Plain http is refused unless the operator asked for it. */
  allowHttp?: boolean;
  /** Values of HTTPS_PROXY (HTTP_PROXY for plain http) and NO_PROXY. */
  proxy?: string | undefined;
  noProxy?: string | undefined;
  /** A PEM file with the certificates to trust; it replaces the system's list, as in git. */
  caFile?: string | undefined;
}

/** Overrides a repository's own configuration. Each line stops an attack that was reproduced, or keeps the bytes on the disk equal to the blob. */
const hardened: readonly (readonly [string, string])[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.symlinks", "false"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.autocrlf", "false"],
  ["core.quotePath", "false"],
  ["core.askPass", ""],
  ["credential.helper", ""],
  ["safe.bareRepository", "explicit"],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
  ["filter.lfs.smudge", ""],
  ["filter.lfs.process", ""],
  ["filter.lfs.required", "false"],
  ["protocol.allow", "never"],
  ["protocol.https.allow", "always"],
  ["transfer.bundleURI", "false"],
  ["fetch.writeCommitGraph", "false"],
  // For a larger file, git streams the content and shows no diff.
  ["core.bigFileThreshold", "20m"],
  // Background maintenance would outlive the job and its lock.
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
];

export function hardenedConfig(network: Network = {}): (readonly [string, string])[] {
  return network.allowHttp ? [...hardened, ["protocol.http.allow", "always"]] : [...hardened];
}

/** Configuration as environment variables for git: no file contains it and no process list shows it. */
export function configVariables(config: readonly (readonly [string, string])[]): Record<string, string> {
  const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(config.length) };
  for (const [index, [key, value]] of config.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}

/** The environment of a git process, built from scratch. It reaches no remote and never prompts. */
export function gitEnvironment(git: Git, network: Network = {}): Record<string, string> {
  return {
    PATH: `${dirname(git.gitPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: git.emptyHome,
    XDG_CONFIG_HOME: git.emptyHome,
    LC_ALL: "C.UTF-8",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ALLOW_PROTOCOL: network.allowHttp ? "https:http" : "https",
    GIT_NO_LAZY_FETCH: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_OPTIONAL_LOCKS: "0",
    ...ownerVariable,
  };
}

/** The variables that give a fetch network access. No other command gets them. */
export function networkVariables(network: Network): Record<string, string> {
  return {
    ...(network.proxy ? { HTTPS_PROXY: network.proxy, https_proxy: network.proxy } : {}),
    ...(network.proxy && network.allowHttp ? { http_proxy: network.proxy } : {}),
    ...(network.noProxy ? { NO_PROXY: network.noProxy, no_proxy: network.noProxy } : {}),
    ...(network.caFile ? { GIT_SSL_CAINFO: network.caFile } : {}),
  };
}

const fullName = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Whether this is a full object name. git receives no other text as a revision. */
export function isObjectName(text: string): boolean {
  return fullName.test(text);
}

/** Rejects with `usage` for anything but full object names. */
export function requireObjectNames(...names: readonly string[]): void {
  const bad = names.find((name) => !isObjectName(name));
  if (bad !== undefined) throw new AppError("usage", `'${bad}' is not a full object name`);
}

/** A repository for git to work on; always named, never discovered. */
export interface GitPlace {
  git: Git;
  gitDir: string;
  signal?: AbortSignal | undefined;
}

interface GitCommand extends GitPlace {
  /** For the few commands that write files or compare them. */
  workTree?: string | undefined;
  indexFile?: string | undefined;
  /** More configuration, which overrides the hardened one. */
  config?: readonly (readonly [string, string])[];
  /** What the command does, for messages: "diff", "list the tree". */
  what: string;
  args: readonly string[];
  input?: string | Buffer | undefined;
  /** Default 2 minutes. */
  timeoutMs?: number | undefined;
  /** Default 512 MB of stdout; beyond it the process is killed and the call rejects with `too_large`. */
  maxBytes?: number | undefined;
  /** Exit codes that do not count as errors. Default only 0. */
  expectedExits?: readonly number[];
  /** Paths to leave out, of a command that takes paths after `--`. */
  without?: readonly string[];
}

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_MAX_BYTES = 512 * 1024 * 1024;

/** Runs git and streams its stdout. No shell, no inherited environment, no configuration except ours. */
export async function streamGit(
  command: GitCommand,
  onStdout: (chunk: Buffer) => "stop" | undefined,
): Promise<number> {
  const { git, what, without = [] } = command;
  const location = [`--git-dir=${command.gitDir}`];
  if (command.workTree !== undefined) location.push(`--work-tree=${command.workTree}`);
  const maxBytes = command.maxBytes ?? DEFAULT_MAX_BYTES;
  let bytes = 0;
  const end = await runProcess({
    program: git.gitPath,
    args: ["--no-pager", ...location, ...command.args, ...without.map((path) => `:(exclude,literal)${path}`)],
    cwd: git.emptyHome,
    env: {
      ...gitEnvironment(git),
      ...configVariables([...hardenedConfig(), ...(command.config ?? [])]),
      ...(command.indexFile === undefined ? {} : { GIT_INDEX_FILE: command.indexFile }),
      ...(without.length > 0 ? { GIT_LITERAL_PATHSPECS: "0" } : {}),
    },
    input: command.input,
    signal: command.signal,
    timeoutMs: command.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    onStdout: (chunk) => {
      bytes += chunk.length;
      if (bytes > maxBytes)
        throw new AppError("too_large", `git ${what} printed more than ${maxBytes} bytes`);
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

/** The oldest git that supports GIT_NO_LAZY_FETCH and has the fixes of May 2024 against hostile repositories. */
export const OLDEST_GIT = "2.39.5";
const INSTALL = `Install git ${OLDEST_GIT} or newer`;

/** Finds git on a PATH (or uses `program`, an absolute path) and checks its version. Rejects with `git_missing` or `git_too_old`. */
export async function requireGit(options: { searchPath?: string | undefined; program?: string | undefined }) {
  const path = options.program ?? (await findOnPath("git", options.searchPath ?? ""));
  if (path === undefined) {
    throw new AppError("git_missing", "git was not found on PATH", { remedy: INSTALL });
  }
  const version = await versionOf(path);
  if (compareVersions(version, OLDEST_GIT) < 0) {
    throw new AppError("git_too_old", `git ${version} at ${path} is older than ${OLDEST_GIT}`, {
      remedy: INSTALL,
    });
  }
  return { path, version };
}

async function versionOf(path: string): Promise<string> {
  const request = { program: path, args: ["--version"], cwd: "/", env: { LC_ALL: "C" }, timeoutMs: 10_000 };
  const end = await runProcess(request).catch((cause: unknown) => {
    throw new AppError("git_missing", `${path} could not be run`, { remedy: INSTALL, cause });
  });
  const version = /^git version (\d+(?:\.\d+)+)/.exec(end.stdout.toString("latin1"))?.[1];
  if (end.exitCode === 0 && version !== undefined) return version;
  throw new AppError("git_missing", `${path} does not answer like git`, { remedy: INSTALL });
}

/** Negative if `left` is older. */
function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split(".").map(Number));
  for (const [index, number] of (b ?? []).entries()) {
    const difference = (a?.[index] ?? 0) - number;
    if (difference !== 0) return difference;
  }
  return 0;
}
