import { dirname } from "node:path";
import { AppError } from "../errors.ts";
import { ownerVariable } from "./orphans.ts";

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
