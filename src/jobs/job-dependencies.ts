import type { EffectiveConfig } from "../config/repo-config.ts";
import type { Checkout } from "../git/checkout.ts";
import type { PushEnd, PushRequest } from "../git/remote.ts";
import type { RevisionPlace } from "../git/workspace.ts";
import type { ArtifactApi } from "../github/artifact-client.ts";
import type { BeforeWrite } from "../github/client.ts";
import type {
  PullRequestApi,
  ReadFile,
  RepositoryApi,
  RepositoryWriter,
} from "../github/pull-request-api.ts";
import type { LogseqVault } from "../journal/journal.ts";
import type { Models } from "../llm/model.ts";
import type { IndexTask } from "../process/index-messages.ts";
import type { StartedProcess } from "../process/start-process.ts";
import type { FindCommandSandbox, FindTestPlace } from "../process/test-place.ts";
import type { Figures } from "../queue/figures.ts";
import type { ClaimedJob, JobOutcome, NewJob, NotifyTask, RepositoryRef } from "../queue/job.ts";
import type { Queue } from "../queue/queue.ts";
import type { Notes } from "../queue/stores.ts";
import type { Spending } from "../queue/usage.ts";
import type { EventJson } from "../reporters/event.ts";
import type { ToolResult } from "../review/tool-results/tool-result.ts";
import type { AppAccess } from "./app-access.ts";
import type { SpendingLimits, UsageLimits } from "./budgets.ts";

/** Dependencies of jobs that are not about a pull request: looking for missed events, and deleting stored data. */
export interface Upkeep {
  access: AppAccess;
  queue: Pick<Queue, "accept" | "enqueue" | "knows" | "forget">;
  notes: Notes;
  /** Whether a webhook may start a job at all. */
  handles(event: string, action: string | null): boolean;
  /** The jobs that a webhook starts. */
  jobsOf(event: string, payload: unknown): Promise<readonly NewJob[]>;
  /** Deletes mirror and checkouts of a repository; false if one of them is in use. */
  removeRepository(place: { id: number }): Promise<boolean>;
}

/** What a push needs. */
export interface Pushing {
  /** Author of the pushed commits: us. */
  author: { name: string; email: string };
  /**
   * Value of the Authorization header, with a token for this job only; requested right before the push. Rejects with `github_forbidden` if
   * write access was not granted.
   */
  authorization(): Promise<string>;
}

/**
 * GitHub for jobs: each API acts on one repository, with a token that reaches nothing else. `beforeWrite` is called right before each
 * request that changes something.
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
  /** For a command that changes a file. Its calls reject with `github_forbidden` if that was not granted. */
  writer(
    repository: RepositoryRef,
    signal: AbortSignal,
    beforeWrite?: BeforeWrite,
  ): Promise<RepositoryWriter>;
  /** For a command that pushes. */
  pushing(repository: RepositoryRef, signal: AbortSignal, beforeWrite?: BeforeWrite): Promise<Pushing>;
  /** Reads the results of workflows, with a token for nothing else. Left out: they are not read. */
  artifacts?(repository: RepositoryRef, signal: AbortSignal): ArtifactApi;
  /** Reads the repository `.github` of the repository's owner, which holds an organisation's common settings. */
  organization(repository: RepositoryRef, signal: AbortSignal): Promise<ReadFile>;
}

export interface CheckoutRequest {
  repository: RepositoryRef;
  pull: number;
  /** Full object names. Both are fetched, and `head` is checked out. */
  head: string;
  base: string;
  /** Name of the pull request's target branch. */
  baseRef: string;
  signal: AbortSignal;
}

/** Something that happened, for the operator's receiver. */
export interface Announcement {
  repository: RepositoryRef;
  /** Names what happened: the same is announced once, however often it is noticed. */
  key: string;
  event: EventJson;
}

/** The part of a logger that jobs need. */
export interface JobLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The measured phases of a review: fetching and checking out, reading and finding, publishing. */
export type Phase = "fetch" | "review" | "publish";

/** A commit to push to a branch on GitHub. */
export interface BranchPush extends Pick<PushRequest, "branch" | "from" | "to" | "authorization" | "signal"> {
  /** Where the commit is. */
  place: RevisionPlace;
  /** The repository of the branch, which may be a fork. */
  owner: string;
  name: string;
}

/** Dependencies of jobs; the process that runs the jobs composes them once. */
export interface JobDependencies {
  github: GitHubAccess;
  checkout(request: CheckoutRequest): Promise<Checkout>;
  /** Moves a branch on GitHub from one commit to another, or does nothing. */
  push(request: BranchPush): Promise<PushEnd>;
  /** Starts the process that reads the checkout in this folder. Default: a separate process. */
  startProcess?: (checkout: string) => StartedProcess;
  /** Without it, fixes run no commands. */
  commandSandbox?: FindCommandSandbox;
  /** Without it, no finding is proved. */
  findTestPlace?: FindTestPlace;
  /** Narrows the configuration of the base branch, which then decides nothing that goes further. Left out: it holds as it is. */
  narrow?: (config: EffectiveConfig) => EffectiveConfig;
  /** Whether no model reads anything without a policy of the organisation. Left out: it does. */
  requiresPolicy?: boolean | undefined;
  /** Reads the results of other tools, once a review begins. Left out: there are none. */
  results?(): Promise<readonly ToolResult[]>;
  /** Null: only the analyzers review. */
  models: Models | null;
  /** Resolves when the models' abilities are known and their facts are valid. Rejects only when aborted. */
  modelsReady(signal: AbortSignal): Promise<void>;
  spending: Spending;
  /** Counts what became of findings. Left out: nothing is counted. */
  figures?: Figures;
  /** A Logseq graph that takes notes of reviews. Left out or null: no notes. */
  vault?: LogseqVault | null;
  /** Indexes repositories for later reviews. Left out: no indexes, and no review reads one. */
  indexes?: { update(task: IndexTask): void };
  /** Stores events for the operator's receiver. Never rejects. Left out: nobody is told. */
  announce?(events: readonly Announcement[]): Promise<void>;
  /** Sends a stored event. */
  send?(job: ClaimedJob & { task: NotifyTask }, signal: AbortSignal): Promise<JobOutcome>;
  /** Left out if the process only reviews. */
  upkeep?: Upkeep;
  /** For each installation. */
  dailyBudget: SpendingLimits;
  usage: UsageLimits;
  /** A secret of a pull request, the same in each process. It keys the memory of what was read. */
  contentKey(repository: RepositoryRef, pull: number): string;
  /** Called with the duration of each successful phase of a review. For metrics. */
  onPhase?: (phase: Phase, milliseconds: number) => void;
  /** Milliseconds since 1970. */
  now(): number;
  /** Root of GitHub's pages, without a slash at the end. */
  webUrl: string;
  /** Version of Hunkwise. */
  version: string;
  log: JobLog;
}
