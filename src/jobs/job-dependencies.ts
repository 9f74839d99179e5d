import type { Checkout } from "../git/checkout.ts";
import type { PushEnd } from "../git/remote.ts";
import type { BeforeWrite } from "../github/client.ts";
import type {
  PullRequestApi,
  ReadFile,
  RepositoryApi,
  RepositoryWriter,
} from "../github/pull-request-api.ts";
import type { LogseqVault } from "../journal/logseq-vault.ts";
import type { Models } from "../llm/model.ts";
import type { FindFixSandbox } from "../process/fix-sandbox.ts";
import type { IndexTask } from "../process/index-messages.ts";
import type { StartedReviewProcess } from "../process/start-review-process.ts";
import type { RepositoryRef } from "../queue/job.ts";
import type { Spending } from "../queue/spending.ts";
import type { DayLimits, UsageLimits } from "./budgets.ts";
import type { BranchPush } from "./push-branch.ts";
import type { Phase } from "./review-and-publish.ts";
import type { Upkeep } from "./upkeep.ts";

/** What a push takes. */
export interface Pushing {
  /** Whose commits are pushed: ours. */
  author: { name: string; email: string };
  /**
   * Value of the Authorization header, of a token for this job alone; asked for right before the push. Rejects with
   * `github_forbidden` where writing was not granted.
   */
  authorization(): Promise<string>;
}

/**
 * GitHub for jobs: each API acts on one repository with a token that reaches nothing else. `beforeWrite` is asked right before
 * each request leaves that changes something.
 */
export interface GitHubAccess {
  repository(
    repository: RepositoryRef,
    signal: AbortSignal,
    beforeWrite?: BeforeWrite,
  ): Promise<RepositoryApi>;
  pull(
    repository: RepositoryRef,
    number: number,
    signal: AbortSignal,
    beforeWrite?: BeforeWrite,
  ): Promise<PullRequestApi>;
  /** For a command that changes a file. Its calls reject with `github_forbidden` where that was not granted. */
  writer(
    repository: RepositoryRef,
    signal: AbortSignal,
    beforeWrite?: BeforeWrite,
  ): Promise<RepositoryWriter>;
  /** For a command that pushes. */
  pushing(repository: RepositoryRef, signal: AbortSignal, beforeWrite?: BeforeWrite): Promise<Pushing>;
  /** Reads the repository `.github` of the repository's owner, where an organisation keeps what holds for all of its own. */
  organization(repository: RepositoryRef, signal: AbortSignal): Promise<ReadFile>;
}

export interface CheckoutRequest {
  repository: RepositoryRef;
  pull: number;
  /** Full object names. Both are fetched, and `head` is checked out. */
  head: string;
  base: string;
  /** Name of the branch that the pull request is to be merged into. */
  baseRef: string;
  signal: AbortSignal;
}

/** The part of a logger that jobs need. */
export interface JobLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What jobs work with; the process that runs them composes it once. */
export interface JobDependencies {
  github: GitHubAccess;
  checkout(request: CheckoutRequest): Promise<Checkout>;
  /** Moves a branch on GitHub from one commit to another, or does nothing. */
  push(request: BranchPush): Promise<PushEnd>;
  /** Starts what reads the checkout in this folder; left out, a process of its own. */
  startProcess?: (checkout: string) => StartedReviewProcess;
  /** Left out, fixes run no commands. */
  fixSandbox?: FindFixSandbox;
  /** Null reviews with the analyzers alone. */
  models: Models | null;
  /** Resolves once it is known what the models can do, and their facts hold. Rejects only when aborted. */
  modelsReady(signal: AbortSignal): Promise<void>;
  spending: Spending;
  /** A Logseq graph that takes notes of reviews; left out or null, none are taken. */
  vault?: LogseqVault | null;
  /** Indexes repositories for later reviews; left out, none are, and no review reads an index. */
  indexes?: { update(task: IndexTask): void };
  /** Left out where nothing but reviews is done. */
  upkeep?: Upkeep;
  /** Of each installation. */
  dailyBudget: DayLimits;
  /** How much may be asked of us. */
  usage: UsageLimits;
  /** A secret of a pull request, the same in each process: by it is remembered what was read. */
  contentKey(repository: RepositoryRef, pull: number): string;
  /** Told how long a phase of a review took that went well. For metrics. */
  onPhase?: (phase: Phase, milliseconds: number) => void;
  /** Milliseconds since 1970. */
  now(): number;
  /** Root of GitHub's pages, without a slash at the end. */
  webUrl: string;
  /** Version of Hunkwise. */
  version: string;
  log: JobLog;
}
