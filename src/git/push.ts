import { AppError } from "../errors.ts";
import {
  configVariables,
  type Git,
  gitEnvironment,
  hardenedConfig,
  type Network,
  networkVariables,
  requireObjectNames,
} from "./git-environment.ts";
import { gitError } from "./git-error.ts";
import { authorizationConfig, httpConfig, secretsOf } from "./remote-access.ts";
import { runGit } from "./run-git.ts";
import { runProcess } from "./run-process.ts";

export interface PushRequest {
  git: Git;
  network: Network;
  /** Where the commit is. */
  gitDir: string;
  /** `https://host/owner/name.git` */
  url: string;
  /** Name of the branch, without `refs/heads/`. */
  branch: string;
  /** Where the branch has to be for the push to be taken. */
  from: string;
  /** The commit it goes to; a descendant of `from`. */
  to: string;
  /** Value of the Authorization header. Reaches git through its environment alone. */
  authorization: string;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
}

/** What the server made of a push. In words for people where it did not take it. */
export type PushEnd = { kind: "pushed" } | { kind: "moved" } | { kind: "refused"; reason: string };

const DEFAULT_TIMEOUT_MS = 120_000;

/**
 * Moves a branch from one commit to another, or does nothing: the server compares where the branch is as it takes the push
 * (https://git-scm.com/docs/git-push#Documentation/git-push.txt---force-with-leaseltrefnamegtltexpectgt). A branch that is there
 * already counts as pushed, so that it may be asked again after a fault. Rejects where the server cannot be reached.
 */
export async function pushCommit(request: PushRequest): Promise<PushEnd> {
  const { git, network, url, authorization, from, to } = request;
  const ref = refOf(request);
  await requireDescendant(request);
  let report = "";
  const end = await runProcess({
    program: git.gitPath,
    args: [
      `--git-dir=${request.gitDir}`,
      ...["push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags"],
      ...["--recurse-submodules=no", `--force-with-lease=${ref}:${from}`, "--", url, `${to}:${ref}`],
    ],
    cwd: git.emptyHome,
    env: {
      ...gitEnvironment(git, network),
      ...networkVariables(network),
      ...configVariables([
        ...hardenedConfig(network),
        ...httpConfig,
        ...authorizationConfig(url, authorization),
      ]),
    },
    signal: request.signal,
    timeoutMs: request.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    killSignal: "SIGTERM",
    onStdout: (chunk) => {
      report += chunk.toString("utf8");
      return undefined;
    },
  });
  if (end.exitCode === 0) return { kind: "pushed" };
  if (notAllowed.test(end.stderr)) return { kind: "refused", reason: "writing to it is not allowed" };
  const refusal = refusalIn(report, ref);
  if (refusal === undefined) throw gitError("push", end, secretsOf(authorization));
  return refusal;
}

/** The lease says where the branch is, and lets it go anywhere: what stood on it has to stay. Rejects with `usage` where it would not. */
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
  if (exitCode === 1) throw new AppError("usage", `${to} does not go on from ${from}`);
}

/** As GitHub says it of a repository that the token may read, or may not even see. */
const notAllowed = /returned error: 40[34]|repository .* not found|Permission to .* denied/i;

/** What git says when the branch is elsewhere: found here, or by the server as it took the push. */
const elsewhere =
  /stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref|reference already exists/;

/** `!\tFROM:TO\t[remote rejected] (REASON)`, a line for the ref. */
function refusalIn(report: string, ref: string): PushEnd | undefined {
  const line = report
    .split("\n")
    .find((one) => one.startsWith("!") && one.split("\t")[1]?.endsWith(`:${ref}`));
  if (line === undefined) return undefined;
  const said = line.split("\t")[2] ?? "";
  if (elsewhere.test(said)) return { kind: "moved" };
  return { kind: "refused", reason: /\((.+)\)\s*$/.exec(said)?.[1] ?? "the server did not say why" };
}

/** The full name of the branch, which neither git's options nor its refspecs can read as anything else. */
function refOf({ branch, from, to }: PushRequest): string {
  requireObjectNames(from, to);
  // https://git-scm.com/docs/git-check-ref-format
  const isName =
    !/[\s~^:?*[\\\p{Cc}]|\.\.|@\{|\/\/|\/$|\.$/u.test(branch) &&
    branch.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"));
  if (!isName) throw new AppError("usage", `'${branch}' is no name of a branch`);
  return `refs/heads/${branch}`;
}
