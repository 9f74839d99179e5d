import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { AppError, type ErrorCode } from "../errors.ts";
import { ownerVariable } from "./owner.ts";
import { runProcess } from "./run-process.ts";

export const DISK_FULL_REMEDY =
  "Make room on the disk of the data folder, or set HUNKWISE_DISK_LIMIT_GB so that less of it is used";

/**
 * git's own words with everything that could be a credential taken out: user information of URLs, headers, and the given
 * secrets themselves.
 */
export function cleanStderr(stderr: string, secrets: readonly string[] = []): string {
  let text = stderr;
  for (const secret of secrets) if (secret.length > 3) text = text.replaceAll(secret, "***");
  // A scheme has an end: without one, each letter of a long word would be the beginning of a search to its end.
  return text
    .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/)[^/\s@]*@/gi, "$1***@")
    .replace(/(authorization\s*:).*/gi, "$1 ***")
    .replace(/\b(bearer|basic)(\s+)\S+/gi, "$1$2***")
    .replace(/\b(?:gh[a-z]_|github_pat_)[\w.-]+/g, "***");
}

interface Pattern {
  match: RegExp;
  code: ErrorCode;
  retryable?: boolean;
  remedy?: string;
}

/** What git says when something else than git is at fault. First match wins. */
const known: readonly Pattern[] = [
  {
    // First: a helper that could not write makes git say more, of other reasons. Of a file of the work tree it says no reason.
    match: /(?:No space left on device|Disk quota exceeded)\s*$|^error: unable to write file /im,
    code: "disk_full",
    retryable: true,
    remedy: DISK_FULL_REMEDY,
  },
  {
    match: /Authentication failed|could not read Username|HTTP 40[13]|returned error: 40[13]/i,
    code: "repository_unavailable",
    remedy: "Check that the app is installed on the repository and may read its contents",
  },
  {
    match:
      /repository .* not found|returned error: 404|does not appear to be a git repository|not a git repository/i,
    code: "repository_unavailable",
    remedy: "Check that the repository exists and that the app may read it",
  },
  {
    match: /returned error: 30\d|unable to update url base from redirection/i,
    code: "repository_unavailable",
    remedy: "The repository has moved: use its present name",
  },
  {
    match: /couldn't find remote ref|not our ref|no such remote ref|unadvertised object/i,
    code: "revision_unknown",
  },
  {
    match:
      /could not resolve host|failed to connect|couldn't connect|connection (?:refused|reset|timed out)|early EOF|remote end hung up|returned error: (?:429|5\d\d)|RPC failed|SSL|TLS|invalid index-pack output/i,
    code: "git_failed",
    retryable: true,
  },
  {
    match:
      /corrupt|bad object|unable to read (?:tree|[0-9a-f]{40})|packfile .* (?:cannot be|is far too short)/i,
    code: "git_failed",
    remedy: "If this happens again, remove the repository's folder below mirrors: it is fetched anew",
  },
  {
    match: /Permission denied|Read-only file system/i,
    code: "data_folder_unusable",
    remedy: "Check who may write to the data folder",
  },
];

/** The AppError for a git command that failed. `what` names the command in words; argv never gets into the message. */
export function gitError(
  what: string,
  end: { exitCode: number | null; stderr: string },
  secrets?: readonly string[],
) {
  const lines = cleanStderr(end.stderr, secrets)
    .split(/[\r\n]+/)
    .filter((line) => /\S/.test(line));
  const telling = lines.filter((line) => /^(fatal|error|remote):/.test(line)).slice(-3);
  const words = (telling.length > 0 ? telling : lines.slice(-1)).join("; ").slice(0, 600);
  const status = end.exitCode === null ? "was killed" : `exit code ${end.exitCode}`;
  const found = known.find(({ match }) => match.test(end.stderr));
  // Somebody killed it, or the machine was at its limits: the next one may end otherwise, if it was asked what git understands.
  const passes = found ? (found.retryable ?? false) : end.exitCode !== USAGE_EXIT;
  return new AppError(found?.code ?? "git_failed", `git ${what} failed: ${words || status}`, {
    retryable: passes,
    ...(found?.remedy ? { remedy: found.remedy } : {}),
  });
}

/** With which git ends when it does not understand its arguments. */
const USAGE_EXIT = 129;

/** The AppError for what the system says of the data folder, whose disk is full or which cannot be used; else the error. */
export function diskError(dataFolder: string, cause: unknown): unknown {
  const { code, syscall } = cause as NodeJS.ErrnoException;
  if (syscall === undefined) return cause;
  if (code === "ENOSPC" || code === "EDQUOT")
    return new AppError("disk_full", "The disk of the data folder is full", {
      retryable: true,
      remedy: DISK_FULL_REMEDY,
      cause,
    });
  return new AppError("data_folder_unusable", `The data folder '${dataFolder}' cannot be used`, {
    remedy: "Check that it exists and may be written to",
    cause,
  });
}

export const isDiskFull = (error: unknown) => error instanceof AppError && error.code === "disk_full";

/** The git program and the empty folder that is its HOME. Every git process of this room is started with these two. */
export interface Git {
  /** Absolute path. */
  gitPath: string;
  emptyHome: string;
}

/** What only a fetch needs to know. */
export interface Network {
  /** Plain http is refused unless the operator asked for it. */
  allowHttp?: boolean;
  /** Values of HTTPS_PROXY (HTTP_PROXY for plain http) and NO_PROXY. */
  proxy?: string | undefined;
  noProxy?: string | undefined;
  /** A PEM file with the certificates to trust; it replaces the system's list, as git does it. */
  caFile?: string | undefined;
}

/**
 * Configuration that outranks whatever a repository brings. Each line stands against an attack that was reproduced, or
 * keeps the bytes on the disk equal to the blob.
 */
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
  // Beyond it git streams a file instead of holding it, and shows no diff of it: nobody reads so much.
  ["core.bigFileThreshold", "20m"],
  // Housekeeping in the background would outlive the job and its lock.
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
];

/** The hardened configuration as pairs of key and value. */
export function hardenedConfig(network: Network = {}): (readonly [string, string])[] {
  return network.allowHttp ? [...hardened, ["protocol.http.allow", "always"]] : [...hardened];
}

/** Configuration as the environment variables that git reads it from: no file holds it and no list of processes shows it. */
export function configVariables(config: readonly (readonly [string, string])[]): Record<string, string> {
  const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(config.length) };
  for (const [index, [key, value]] of config.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}

/** The environment of a git process, made from nothing; it reaches no remote and asks nobody. */
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

/** What a fetch gets on top: the way out, and nothing else has it. */
export function networkVariables(network: Network): Record<string, string> {
  return {
    ...(network.proxy ? { HTTPS_PROXY: network.proxy, https_proxy: network.proxy } : {}),
    ...(network.proxy && network.allowHttp ? { http_proxy: network.proxy } : {}),
    ...(network.noProxy ? { NO_PROXY: network.noProxy, no_proxy: network.noProxy } : {}),
    ...(network.caFile ? { GIT_SSL_CAINFO: network.caFile } : {}),
  };
}

const fullName = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Whether this is a full object name; nothing else may stand where git expects a revision. */
export function isObjectName(text: string): boolean {
  return fullName.test(text);
}

/** Rejects with `usage` for anything but full object names. */
export function requireObjectNames(...names: readonly string[]): void {
  const bad = names.find((name) => !isObjectName(name));
  if (bad !== undefined) throw new AppError("usage", `'${bad}' is not a full object name`);
}

interface GitCommand {
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

const DEFAULT_TIMEOUT_MS = 120_000;
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

/** The oldest git that knows GIT_NO_LAZY_FETCH and has the fixes of May 2024 against hostile repositories. */
export const OLDEST_GIT = "2.39.5";

interface GitProgram {
  /** Absolute path. */
  path: string;
  /** "2.39.5" */
  version: string;
}

/**
 * Finds git on a PATH (or takes `program`, an absolute path) and asks for its version. Rejects with `git_missing` or
 * `git_too_old`, naming what was found and what to do.
 */
export async function requireGit(options: { searchPath?: string | undefined; program?: string | undefined }) {
  const path = options.program ?? (await findOnPath(options.searchPath ?? ""));
  if (path === undefined) {
    throw new AppError("git_missing", "No git was found on PATH", {
      remedy: `Install git ${OLDEST_GIT} or newer`,
    });
  }
  const version = await versionOf(path);
  if (compareVersions(version, OLDEST_GIT) < 0) {
    throw new AppError("git_too_old", `git ${version} at ${path} is older than ${OLDEST_GIT}`, {
      remedy: `Install git ${OLDEST_GIT} or newer`,
    });
  }
  return { path, version } satisfies GitProgram;
}

async function findOnPath(searchPath: string): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter)) {
    // A relative folder would let the current directory decide which program runs.
    if (isAbsolute(folder) && (await isProgram(join(folder, "git")))) return join(folder, "git");
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

async function versionOf(path: string): Promise<string> {
  let output = "";
  const request = { program: path, args: ["--version"], cwd: "/", env: { LC_ALL: "C" }, timeoutMs: 10_000 };
  const end = await runProcess({
    ...request,
    onStdout: (chunk) => {
      output += chunk.toString("latin1");
      return undefined;
    },
  }).catch((error: unknown) => {
    throw new AppError("git_missing", `${path} could not be run`, {
      remedy: `Install git ${OLDEST_GIT} or newer`,
      cause: error,
    });
  });
  const version = /^git version (\d+(?:\.\d+)+)/.exec(output)?.[1];
  if (end.exitCode === 0 && version !== undefined) return version;
  throw new AppError("git_missing", `${path} does not answer like git`, {
    remedy: `Install git ${OLDEST_GIT} or newer`,
  });
}

/** Negative when `left` is older. */
function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split(".").map(Number));
  for (const [index, number] of (b ?? []).entries()) {
    const difference = (a?.[index] ?? 0) - number;
    if (difference !== 0) return difference;
  }
  return 0;
}
