import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { githubOf, type LocalEnv } from "../config/env.ts";
import { checkPolicy } from "../config/named-rules.ts";
import { ghEnvironment, gitHubVariables, programPath } from "../config/process-env.ts";
import type { EffectiveConfig } from "../config/repo-config.ts";
import { AppError } from "../core/errors.ts";
import { registerSecret } from "../core/secrets/live-secrets.ts";
import { tokenIdentity } from "../pull/github/app-client.ts";
import { pullPlace } from "../pull/github/references.ts";
import { createSeal } from "../pull/ledger/seal.ts";
import { type CheckRun, inProgress } from "../pull/publish/check-run.ts";
import { publishReview } from "../pull/publish/publish-review.ts";
import { sealedPull } from "../pull/publish/sealed-api.ts";
import { Disk } from "../repo/git/disk.ts";
import { openWorkspace } from "../repo/git/object-workspace.ts";
import { originAddress } from "../repo/git/repository.ts";
import { requireGit } from "../repo/git/run-git.ts";
import { findOnPath, runProcess } from "../repo/git/run-process.ts";
import { makeTempFolder, removeFolder } from "../repo/git/scratch.ts";
import { createCheckoutPull } from "../server/jobs/checkout-pull.ts";
import { basic, createTokenAccess } from "../server/jobs/github-access.ts";
import { pullTextOf } from "../server/jobs/prompt-context.ts";
import type { PullText } from "../tasks/shapes/review-input.ts";
import type { ReviewResult } from "../tasks/shapes/review-result.ts";
import { networkOf } from "./open-app.ts";
import { commitCount, MOST_COMMITS, type OpenRange } from "./open-range.ts";
import { programVersion } from "./output.ts";

/** A pull request on GitHub as a range. Its objects are fetched; nothing is checked out. */
export interface OpenPull extends OpenRange {
  /** Its description, linked issues and failed checks. */
  textFor(config: EffectiveConfig): Promise<PullText>;
  /** Posts a result under the name of the token's owner. Resolves to one line for the user. */
  publish(result: ReviewResult, config: EffectiveConfig): Promise<string>;
}

interface PullOptions {
  /** The pull request's number, or the address of its page. */
  pr: string;
  repo: string;
  /** Without it, no request can change anything. */
  publish: boolean;
  env: LocalEnv;
  /** Takes one line for the user. */
  warn(text: string): void;
  signal: AbortSignal;
}

/** A mirror of this size is kept for the next review. */
const MOST_BYTES = 5_000_000_000;

/** Fetches a pull request. Rejects with `usage` before any request if its place or a token for its host is not known. */
export async function openPull({ pr, repo, publish, env, warn, signal }: PullOptions): Promise<OpenPull> {
  const { path: gitPath } = await requireGit({ searchPath: programPath() });
  const isNumber = /^#?\d+$/.test(pr);
  const { host, protocol, owner, name, number } = pullPlace(
    pr,
    isNumber ? await originAddress(repo, gitPath) : null,
  );
  const token = await tokenFor(host, signal);
  registerSecret(token, { keep: true });
  const github = githubOf(host, protocol);
  const { apiUrl, webUrl } = github;
  const userAgent = `hunkwise/${programVersion()}`;
  const identity = await tokenIdentity({ baseUrl: apiUrl, userAgent, token, signal });
  const access = createTokenAccess({ apiUrl, userAgent, token, identity: async () => identity }).openJob(
    publish ? undefined : readOnly,
  );
  // Without an id, requests that change something are about the repository's present name.
  const repository = { installation: 1, id: 0, owner, name };
  const api = await access.pull(repository, number, signal);
  const pull = await api.pull();

  const temp = await makeTempFolder(tmpdir());
  const dataFolder = env.modelFolder === null ? join(temp, "pull") : join(env.modelFolder, "pulls");
  const log = {
    info() {},
    warn: (_: object, text: string) => warn(text),
    error: (_: object, text: string) => warn(text),
  };
  const disk = new Disk({ dataFolder, limitBytes: MOST_BYTES, log });
  try {
    await disk.start();
    const checkout = await createCheckoutPull({
      gitPath,
      dataFolder,
      host,
      webUrl,
      disk,
      onlyObjects: true,
      network: networkOf({ ...env, github }),
      authorization: async () => basic(token),
    })({ repository, pull, signal });
    const workspace = openWorkspace(checkout.place);
    const commits = await workspace.commits(MOST_COMMITS + 1);
    return {
      place: checkout.place,
      workspace,
      roots: [],
      dirty: false,
      uncommitted: null,
      behind: 0,
      parent: "present",
      names: {
        base: pull.baseRef,
        head: `${owner}/${name}#${number}`,
        commits: commitCount(commits.length),
      },
      textFor: async (config) => ({
        ...(await pullTextOf({ api, pull, repository: { owner, name }, webUrl, config, warn })),
        earlier: [],
      }),
      async publish(result, config) {
        const repositoryUrl = `${webUrl}/${owner}/${name}`;
        // A person's own words must not count as markers, so only those of this run do. No visible comment of that person is repeated.
        const seal = createSeal(randomBytes(32));
        const outcome = await publishReview({
          result,
          baseRef: pull.baseRef,
          repositoryUrl,
          version: programVersion(),
          again: null,
          api: sealedPull(api, seal, { repository: 0, pull: number }),
          trigger: `event#${number}@${pull.baseRef}`,
          maxComments: config.max_comments,
          checkPolicy: checkPolicy(config),
          check: noCheck,
        });
        if (outcome.kind !== "published") return `nothing was posted: ${outcome.reason}`;
        const { posted, listed, postedBefore } = outcome;
        return `posted on ${repositoryUrl}/pull/${number}: ${posted} on lines, ${listed} in the summary, ${postedBefore} there already`;
      },
      async [Symbol.asyncDispose]() {
        await workspace[Symbol.asyncDispose]();
        await checkout.release();
        await disk.close();
        await removeFolder(temp);
      },
    };
  } catch (error) {
    await disk.close();
    await removeFolder(temp);
    throw error;
  }
}

async function readOnly(): Promise<undefined> {
  throw new AppError("not_allowed", "Nothing is written without --publish");
}

/** Only an App can have check runs, and only of its own. */
const noCheck: CheckRun = {
  id: undefined,
  takenUp: false,
  reviewed: false,
  before: null,
  goingOn: inProgress,
  problem: "There is no check run, because a person posted this review from the command line",
  async conclude() {},
};

/**
 * The token for a GitHub, which goes to no other one. As for GitHub's own command line, `GH_TOKEN` and `GITHUB_TOKEN` are for github.com, or
 * for the tenant of ghe.com that `GH_HOST` names; `GH_ENTERPRISE_TOKEN` and `GITHUB_ENTERPRISE_TOKEN` are for the server that it names.
 * Otherwise `gh` is asked for the one that it stored for this host (https://cli.github.com/manual/gh_help_environment). Rejects with
 * `usage`, before any request.
 */
async function tokenFor(host: string, signal: AbortSignal): Promise<string> {
  const { ofGitHub, ofServer, server } = gitHubVariables();
  // `gh` takes subdomains of github.com for github.com.
  const isSubdomain = host.endsWith(".github.com");
  const isTenant = host.endsWith(".ghe.com");
  const isGitHub = host === "github.com" || (isTenant && server === host);
  const token = isGitHub ? ofGitHub : server === host ? ofServer : null;
  const found = isSubdomain ? null : (token ?? (await storedToken(host, signal)));
  if (found !== null) return found;
  const variable = isSubdomain || isTenant || host === "github.com" ? "GH_TOKEN" : "GH_ENTERPRISE_TOKEN";
  const forHost =
    host === "github.com" ? "" : ` with GH_HOST=${host}, because other tokens are for other hosts`;
  throw new AppError("usage", `There is no token for ${host}`, {
    remedy: `Set ${variable}${forHost}, or log in with: gh auth login --hostname ${host}`,
  });
}

/** What `gh` prints; null without `gh`, or if it has no token for this host. */
async function storedToken(host: string, signal: AbortSignal): Promise<string | null> {
  const program = await findOnPath("gh", programPath());
  if (program === undefined) return null;
  const args = ["auth", "token", "--hostname", host];
  const request = { program, args, cwd: "/", env: ghEnvironment(), signal, timeoutMs: 30_000 };
  const { exitCode, stdout } = await runProcess(request);
  const token = stdout.toString("utf8").trim();
  return exitCode === 0 && /^[\w.-]{10,500}$/.test(token) ? token : null;
}
