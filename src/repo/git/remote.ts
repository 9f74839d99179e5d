import { setInterval } from "node:timers/promises";
import { AppError } from "../../core/errors.ts";
import { mirrorBytes } from "./disk.ts";
import { gitError } from "./git-error.ts";
import {
  configVariables,
  type GitPlace,
  gitEnvironment,
  hardenedConfig,
  type Network,
  networkVariables,
  requireObjectNames,
  runGit,
} from "./run-git.ts";
import { runProcess } from "./run-process.ts";

export interface FetchAccess {
  /** Value of the Authorization header; null for a public repository. A function is called before each fetch: fetches may outlive a token. */
  authorization: string | null | (() => Promise<string>);
  signal?: AbortSignal | undefined;
  /** Default 10 minutes for each fetch. */
  timeoutMs?: number | undefined;
  /** Receives the mirror's size in bytes, several times a second while git writes to it; if it throws, the fetch ends. */
  requireFits?: ((bytes: number) => void) | undefined;
}

/** A repository on this machine, and the one on a server. */
interface RemotePlace extends GitPlace {
  network: Network;
  /** `https://host/owner/name.git`; for a fetch the same as the repository's `origin`. */
  url: string;
}

export interface FetchRequest extends FetchAccess, RemotePlace {
  /** Refspecs or object names. */
  wanted: readonly string[];
  /** Objects that the server may leave out; null fetches everything. */
  filter: string | null;
  /** Objects are requested by name, so both sides need not negotiate what they have in common. */
  byName?: boolean;
  /** Fetches existing objects again: the repository changes from a partial to a full clone. */
  refetch?: boolean;
}

/** Objects that were left out remain promised by this remote. With both values given, git writes none into the config. */
export const partialClone = [
  ["remote.origin.promisor", "true"],
  ["remote.origin.partialCloneFilter", "blob:none"],
] as const;

const DEFAULT_TIMEOUT_MS = 600_000;

/** Runs one `git fetch` from `origin`. Rejects with AppErrors without credentials. */
export async function fetchObjects(request: FetchRequest): Promise<void> {
  const authorization =
    typeof request.authorization === "function" ? await request.authorization() : request.authorization;
  // git limits what it receives, but not what it fetches.
  await using growth = watchGrowth(request);
  const config = request.byName
    ? ([...partialClone, ["fetch.negotiationAlgorithm", "noop"]] as const)
    : partialClone;
  const shared = withNetwork(request, authorization, config);
  const end = await runProcess({
    ...shared,
    args: fetchArguments(request),
    // A delta may be based on an object that a partial clone lacks; git then fetches that one too.
    env: { ...shared.env, GIT_NO_LAZY_FETCH: "0" },
    input: `${request.wanted.join("\n")}\n`,
    signal: growth.signal,
    timeoutMs: request.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  }).catch((error: unknown) => {
    throw growth.fault() ?? error;
  });
  if (end.exitCode !== 0) throw gitError("fetch", end, secretsOf(authorization));
}

const LOOK_MS = 100;

/** Its `signal` ends the fetch if the mirror may not grow further; `fault` is the reason. */
function watchGrowth({ gitDir, requireFits, signal }: FetchRequest) {
  if (!requireFits) return { signal, fault: () => undefined, async [Symbol.asyncDispose]() {} };
  const [over, done] = [new AbortController(), new AbortController()];
  const watch = async () => {
    for await (const _ of setInterval(LOOK_MS, undefined, { signal: done.signal }))
      requireFits(await mirrorBytes(gitDir));
  };
  const watching = watch().catch((error: unknown) => {
    if (!done.signal.aborted) over.abort(error);
  });
  return {
    signal: signal ? AbortSignal.any([signal, over.signal]) : over.signal,
    fault: () => over.signal.reason,
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

export interface PushRequest extends RemotePlace {
  /** Name of the branch, without `refs/heads/`. */
  branch: string;
  /** The commit that the branch must be at for the push to succeed. */
  from: string;
  /** The new commit of the branch; a descendant of `from`. */
  to: string;
  /** Value of the Authorization header. Passed to git only through its environment. */
  authorization: string;
  timeoutMs?: number | undefined;
}

/** The result of a push; `reason` is for people. */
export type PushEnd = { kind: "pushed" } | { kind: "moved" } | { kind: "refused"; reason: string };

const DEFAULT_PUSH_MS = 120_000;

/**
 * Moves a branch from one commit to another, or does nothing: the server compares the branch's position. A branch that is already there counts
 * as pushed, so a push may be repeated. Rejects if the server cannot be reached. https://git-scm.com/docs/git-push (`--force-with-lease`)
 */
export async function pushCommit(request: PushRequest): Promise<PushEnd> {
  const { url, authorization, from, to } = request;
  const ref = refOf(request);
  await requireDescendant(request);
  const end = await runProcess({
    ...withNetwork(request, authorization),
    args: [
      `--git-dir=${request.gitDir}`,
      "push",
      "--porcelain",
      "--no-verify",
      "--no-signed",
      "--no-follow-tags",
      "--recurse-submodules=no",
      `--force-with-lease=${ref}:${from}`,
      "--",
      url,
      `${to}:${ref}`,
    ],
    signal: request.signal,
    timeoutMs: request.timeoutMs ?? DEFAULT_PUSH_MS,
  });
  if (end.exitCode === 0) return { kind: "pushed" };
  if (notAllowed.test(end.stderr)) return { kind: "refused", reason: "writing to it is not allowed" };
  const refusal = refusalIn(end.stdout.toString("utf8"), ref);
  if (refusal === undefined) throw gitError("push", end, secretsOf(authorization));
  return refusal;
}

/** The lease only checks the branch's position. Rejects with `usage` if `to` is not a descendant. */
async function requireDescendant({ git, gitDir, from, to, signal }: PushRequest): Promise<void> {
  const args = ["merge-base", "--is-ancestor", from, to];
  const { exitCode } = await runGit({
    git,
    gitDir,
    what: "compare commits",
    args,
    expectedExits: [0, 1],
    signal,
  });
  if (exitCode === 1) throw new AppError("usage", `${to} does not descend from ${from}`);
}

/** GitHub's answer for a repository that the token may only read, or cannot see. */
const notAllowed = /returned error: 40[34]|repository .* not found|Permission to .* denied/i;

/** git's message if the branch is elsewhere: detected here, or by the server during the push. */
const elsewhere =
  /stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref|reference already exists/;

/** `!\tFROM:TO\t[remote rejected] (REASON)`, one line per ref. */
function refusalIn(report: string, ref: string): PushEnd | undefined {
  const line = report
    .split("\n")
    .find((one) => one.startsWith("!") && one.split("\t")[1]?.endsWith(`:${ref}`));
  if (line === undefined) return undefined;
  const summary = line.split("\t")[2] ?? "";
  if (elsewhere.test(summary)) return { kind: "moved" };
  return { kind: "refused", reason: /\((.+)\)\s*$/.exec(summary)?.[1] ?? "the server gave no reason" };
}

/** The full name of the branch; git cannot misread it as an option or a refspec. */
function refOf({ branch, from, to }: PushRequest): string {
  requireObjectNames(from, to);
  // https://git-scm.com/docs/git-check-ref-format
  const isName =
    !/[\s~^:?*[\\\p{Cc}]|\.\.|@\{|\/\/|\/$|\.$/u.test(branch) &&
    branch.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
  if (!isName) throw new AppError("usage", `'${branch}' is not a valid branch name`);
  return `refs/heads/${branch}`;
}

/** What every git process with access to a server has in common. SIGTERM lets git remove its lock files. */
function withNetwork(
  { git, network, url }: RemotePlace,
  authorization: string | null,
  more: readonly (readonly [string, string])[] = [],
) {
  const config = [
    ...hardenedConfig(network),
    ...httpConfig,
    ...more,
    ...authorizationConfig(url, authorization),
  ];
  return {
    program: git.gitPath,
    cwd: git.emptyHome,
    env: { ...gitEnvironment(git, network), ...networkVariables(network), ...configVariables(config) },
    killSignal: "SIGTERM" as const,
  };
}

/** No redirects, and a limit for slow connections. */
const httpConfig = [
  // git would send the header to the target of a redirect (tested: to another host, too).
  ["http.followRedirects", "false"],
  ["http.lowSpeedLimit", "1000"],
  ["http.lowSpeedTime", "60"],
] as const;

/** The configuration that makes git send a header, if there is one, to the server of a URL and to no other. */
function authorizationConfig(url: string, authorization: string | null): (readonly [string, string])[] {
  if (authorization === null) return [];
  if (/[\r\n]/.test(authorization)) throw new AppError("usage", "An Authorization header must be one line");
  return [[`http.${new URL(url).origin}/.extraHeader`, `Authorization: ${authorization}`]];
}

/** Every form of the credential that could appear: the header, its value, and the decoded value. */
function secretsOf(authorization: string | null): string[] {
  if (authorization === null) return [];
  const value = authorization.split(" ").at(-1) ?? "";
  const decoded = Buffer.from(value, "base64").toString("utf8");
  return [authorization, value, decoded, decoded.slice(decoded.indexOf(":") + 1)];
}
