import { setTimeout as delay } from "node:timers/promises";
import { mirrorBytes } from "./disk/kept.ts";
import {
  configVariables,
  type Git,
  gitEnvironment,
  hardenedConfig,
  type Network,
  networkVariables,
} from "./git-environment.ts";
import { gitError } from "./git-error.ts";
import { authorizationConfig, httpConfig, secretsOf } from "./remote-access.ts";
import { runProcess } from "./run-process.ts";

/** How far a fetch has come, for a person who waits. */
export interface FetchProgress {
  /** git's own words: "Receiving objects", "Resolving deltas" ... */
  stage: string;
  percent: number;
}

/** What lets one fetch in, and how long it may take. */
export interface FetchAccess {
  /**
   * Value of the Authorization header; null for a public repository. Reaches git through its environment alone. A function is
   * asked before each fetch: what a repository takes may outlive a token.
   */
  authorization: string | null | (() => Promise<string>);
  signal?: AbortSignal | undefined;
  /** Default 10 minutes for each fetch. */
  timeoutMs?: number | undefined;
  onProgress?: ((progress: FetchProgress) => void) | undefined;
  /** Gets what the mirror takes, in bytes, several times a second while git writes to it; what it throws ends the fetch. */
  requireFits?: ((bytes: number) => void) | undefined;
}

export interface FetchRequest extends FetchAccess {
  git: Git;
  network: Network;
  gitDir: string;
  /** `https://host/owner/name.git`, as the repository's `origin` has it too. */
  url: string;
  /** Refspecs or object names. */
  wanted: readonly string[];
  /** What the server may leave out; null takes everything. */
  filter: string | null;
  /** Objects are asked for by name, so the two sides need not find out what they have in common. */
  byName?: boolean;
  /** Fetch again what we seem to have: the repository turns from a partial into a full clone. */
  refetch?: boolean;
}

/** Objects that were left out stay promised by this remote. With both values given, git writes none into the config. */
export const partialClone = [
  ["remote.origin.promisor", "true"],
  ["remote.origin.partialCloneFilter", "blob:none"],
] as const;

const DEFAULT_TIMEOUT_MS = 600_000;

/** Runs one `git fetch` from `origin`. Rejects with AppErrors whose text holds no credential. */
export async function fetchObjects(request: FetchRequest): Promise<void> {
  const { git, network } = request;
  const authorization =
    typeof request.authorization === "function" ? await request.authorization() : request.authorization;
  // git limits what it receives, but not what it fetches.
  await using growth = watchGrowth(request);
  const end = await runProcess({
    program: git.gitPath,
    args: fetchArguments(request),
    cwd: git.emptyHome,
    env: {
      ...gitEnvironment(git, network),
      ...networkVariables(network),
      // A delta may rest on an object that a partial clone does not have; git then fetches that one too.
      GIT_NO_LAZY_FETCH: "0",
      ...configVariables([...hardenedConfig(network), ...fetchConfig(request, authorization)]),
    },
    input: `${request.wanted.join("\n")}\n`,
    signal: growth.signal,
    timeoutMs: request.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    killSignal: "SIGTERM",
    onStdout: () => undefined,
    onStderr: progressReader(request.onProgress),
  }).catch((error: unknown) => {
    throw growth.fault() ?? error;
  });
  if (end.exitCode !== 0) throw gitError("fetch", end, secretsOf(authorization));
}

const LOOK_MS = 100;

interface Growth extends AsyncDisposable {
  /** Fires when the fetch has to end. */
  signal: AbortSignal | undefined;
  /** Why the mirror may not grow further. */
  fault(): unknown;
}

function watchGrowth({ gitDir, requireFits, signal }: FetchRequest): Growth {
  if (!requireFits) return { signal, fault: () => undefined, async [Symbol.asyncDispose]() {} };
  const [over, done] = [new AbortController(), new AbortController()];
  let fault: unknown;
  const watch = async () => {
    while (!done.signal.aborted) {
      try {
        requireFits(await mirrorBytes(gitDir));
      } catch (error) {
        fault = error;
        over.abort();
        return;
      }
      await delay(LOOK_MS, undefined, { signal: done.signal }).catch(() => {});
    }
  };
  const watching = watch();
  return {
    signal: signal ? AbortSignal.any([signal, over.signal]) : over.signal,
    fault: () => fault,
    async [Symbol.asyncDispose]() {
      done.abort();
      await watching;
    },
  };
}

function fetchArguments(request: FetchRequest): string[] {
  return [
    `--git-dir=${request.gitDir}`,
    "fetch",
    "--progress",
    "--force",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-show-forced-updates",
    "--no-auto-maintenance",
    "--no-recurse-submodules",
    ...(request.refetch ? ["--refetch"] : []),
    request.filter === null ? "--no-filter" : `--filter=${request.filter}`,
    "--stdin",
    "origin",
  ];
}

function fetchConfig(
  { url, byName }: FetchRequest,
  authorization: string | null,
): (readonly [string, string])[] {
  const config: (readonly [string, string])[] = [...partialClone, ...httpConfig];
  if (byName) config.push(["fetch.negotiationAlgorithm", "noop"]);
  return [...config, ...authorizationConfig(url, authorization)];
}

function progressReader(onProgress: FetchAccess["onProgress"]): ((text: string) => void) | undefined {
  if (!onProgress) return undefined;
  return (text) => {
    for (const [, stage, percent] of text.matchAll(/(?:remote: )?([A-Z][A-Za-z ]{1,60}): +(\d+)% \(/g)) {
      onProgress({ stage: stage ?? "", percent: Number(percent) });
    }
  };
}
