import type { Models } from "../../agent/llm/model.ts";
import type { LogseqVault } from "../../agent/record/journal.ts";
import type { IndexTask } from "../../border/index-messages.ts";
import type { StartedProcess } from "../../border/start-process.ts";
import type { FindCommandSandbox, FindTestPlace } from "../../border/test-place.ts";
import type { EffectiveConfig } from "../../config/repo-config.ts";
import type { AppApi, InstallationApi } from "../../pull/github/app-client.ts";
import type { ArtifactApi } from "../../pull/github/artifact-client.ts";
import type { BeforeWrite } from "../../pull/github/client.ts";
import type {
  PullRequest,
  PullRequestApi,
  ReadFile,
  RepositoryApi,
  RepositoryWriter,
} from "../../pull/github/pull-request-api.ts";
import type { Checkout } from "../../repo/git/checkout.ts";
import type { PushEnd, PushRequest } from "../../repo/git/remote.ts";
import type { RevisionPlace } from "../../repo/git/workspace.ts";
import type { EventJson } from "../../report/event.ts";
import type { ToolResult } from "../../tasks/shapes/tool-result.ts";
import type { Figures } from "../queue/figures.ts";
import type { ClaimedJob, JobOutcome, NewJob, NotifyTask, RepositoryRef } from "../queue/job.ts";
import type { Queue } from "../queue/queue.ts";
import type { JobLog } from "../queue/run-job.ts";
import type { Notes } from "../queue/stores.ts";
import type { Spending } from "../queue/usage.ts";
import type { SpendingLimits, UsageLimits } from "./budgets.ts";

/** What the process that runs jobs composes once. */
export interface UnopenedDependencies extends Omit<JobDependencies, "github"> {
  openJob: OpenJob;
}

/** Opens GitHub for one job. `beforeWrite` is called right before each change; `end` ends the tokens that were minted for this job. */
export type OpenJob = (beforeWrite?: BeforeWrite) => GitHubAccess & { end(): Promise<void> };

export interface JobDependencies {
  github: GitHubAccess;
  disk: DiskPort;
  models: ModelPort;
  processes: ProcessPort;
  settings: Settings;
  limits: LimitPort;
  record: RecordPort;
  app: AppPort;
  log: JobLog;
  now(): number;
}

/** GitHub for one job. Its calls reject with `github_forbidden` where a permission was not granted. */
export interface GitHubAccess {
  repository(repository: RepositoryRef, signal: AbortSignal): Promise<RepositoryApi>;
  pull(repository: RepositoryRef, number: number, signal: AbortSignal): Promise<PullRequestApi>;
  writer(repository: RepositoryRef, signal: AbortSignal): Promise<RepositoryWriter>;
  pushing(repository: RepositoryRef): Promise<Pushing>;
  /** Reads the results of workflows. Null where they are not read. */
  artifacts(repository: RepositoryRef, signal: AbortSignal): ArtifactApi | null;
  /** Reads the repository `.github` of the repository's owner. */
  organization(repository: RepositoryRef, signal: AbortSignal): Promise<ReadFile>;
}

export interface Pushing {
  /** Author of the pushed commits: us. */
  author: { name: string; email: string };
  /** Value of the Authorization header, with a token for this job only; requested right before the push. */
  authorization(): Promise<string>;
}

export interface DiskPort {
  checkout(request: CheckoutRequest): Promise<Checkout>;
  /** Moves a branch on GitHub from one commit to another, or does nothing. */
  push(request: BranchPush): Promise<PushEnd>;
  /** Null: no indexes, and no review reads one. */
  indexes: { update(task: IndexTask): void } | null;
}

export interface CheckoutRequest {
  repository: RepositoryRef;
  /** Its head and base are fetched, and the head is checked out. */
  pull: Pick<PullRequest, "number" | "headSha" | "baseSha" | "baseRef">;
  signal: AbortSignal;
}

export interface BranchPush extends Pick<PushRequest, "branch" | "from" | "to" | "authorization" | "signal"> {
  place: RevisionPlace;
  /** The repository of the branch, which may be a fork. */
  owner: string;
  name: string;
}

export interface ModelPort {
  /** Null: only the analyzers review. */
  all: Models | null;
  /** Resolves when the models' facts are valid. Rejects only when aborted. */
  ready(signal: AbortSignal): Promise<void>;
}

/** The processes that read, and run, what a pull request contains. */
interface ProcessPort {
  /** Undefined: a separate process, which is started when it is needed. */
  start(checkout: string): StartedProcess | undefined;
  commandSandbox: FindCommandSandbox;
  findTestPlace: FindTestPlace;
}

/** What decides about reviews besides the configuration of the base branch. */
export interface Settings {
  /** Whether no model reads anything without a policy of the organization. */
  requiresPolicy: boolean;
  /** Narrows the configuration of the base branch, which then decides nothing that goes further. */
  narrow(config: EffectiveConfig): EffectiveConfig;
  /** Reads the results of other tools, once a review begins. */
  results(): Promise<readonly ToolResult[]>;
}

interface LimitPort {
  spending: Spending;
  /** For each installation. */
  dailyBudget: SpendingLimits;
  usage: UsageLimits;
}

interface RecordPort {
  figures: Pick<Figures, "knows" | "write">;
  /** A Logseq graph that takes notes of reviews. */
  vault: LogseqVault | null;
  /** For the operator's receiver. */
  events: EventPort | null;
  /** Called with the duration of each successful phase of a review. */
  phase(phase: Phase, milliseconds: number): void;
}

export interface EventPort {
  announce(events: readonly Announcement[]): Promise<void>;
  send(job: ClaimedJob & { task: NotifyTask }, signal: AbortSignal): Promise<JobOutcome>;
}

export interface Announcement {
  repository: RepositoryRef;
  /** Names what happened: the same is announced once, however often it is noticed. */
  key: string;
  event: EventJson;
}

/** The measured phases of a review: fetching and checking out, reading and finding, publishing. */
export type Phase = "fetch" | "review" | "publish";

interface AppPort {
  /** Root of GitHub's pages, without a slash at the end. */
  webUrl: string;
  version: string;
  /** A secret of a pull request, the same in each process, which keys the memory of what was read. */
  contentKey(repository: RepositoryRef, pull: number): string;
  /** Null if the process only reviews. */
  upkeep: Upkeep | null;
}

/** Dependencies of jobs that are not about a pull request: looking for missed events, and deleting stored data. */
export interface Upkeep {
  access: AppAccess;
  queue: Pick<Queue, "accept" | "enqueue" | "knows" | "forget">;
  notes: Notes;
  /** Whether a webhook may start a job at all. */
  handles(event: string, action: string | null): boolean;
  jobsOf(event: string, payload: unknown): Promise<readonly NewJob[]>;
  /** Deletes mirror and checkouts of a repository; false if one of them is in use. */
  removeRepository(place: { id: number }): Promise<boolean>;
}

/** GitHub as the App itself, and as an installation for everything that it reaches. */
export interface AppAccess {
  app(signal: AbortSignal): AppApi;
  installation(id: number, signal: AbortSignal): Promise<InstallationApi>;
}

/** For a process that only reviews, and tells nobody but the pull request. */
export const noRecord: RecordPort = {
  figures: { knows: async () => false, write: async () => {} },
  vault: null,
  events: null,
  phase() {},
};
