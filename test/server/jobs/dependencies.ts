import type { PullRequestApi } from "../../../src/pull/github/pull-request-api.ts";
import {
  type GitHubAccess,
  noRecord,
  type OpenJob,
  type UnopenedDependencies,
} from "../../../src/server/jobs/job-dependencies.ts";
import type { ClaimedJob, Task } from "../../../src/server/queue/job.ts";
import type { JobTools } from "../../../src/server/queue/run-job.ts";

export const silent = { info() {}, warn() {}, error() {} };

const unused = async () => {
  throw new Error("Nothing is to be written");
};

/** GitHub for a job whose every API is the same one, and which writes no file and pushes nothing. */
export const accessTo = (
  api: () => Promise<PullRequestApi>,
  over: Partial<GitHubAccess> = {},
): ReturnType<OpenJob> => ({
  repository: api,
  pull: api,
  writer: unused,
  pushing: unused,
  artifacts: () => null,
  organization: async () => async () => undefined,
  end: async () => {},
  ...over,
});

/** Jobs without a model, a limit or a memory. */
export const jobDependencies = (
  over: Partial<UnopenedDependencies> & Pick<UnopenedDependencies, "openJob">,
): UnopenedDependencies => ({
  disk: { checkout: unused, push: async () => ({ kind: "moved" }), indexes: null },
  models: { all: null, ready: async () => {} },
  processes: {
    start: () => undefined,
    commandSandbox: async () => null,
    findTestPlace: async () => ({ why: "this machine has no sandbox" }),
  },
  settings: { requiresPolicy: false, narrow: (config) => config, results: async () => [] },
  limits: {
    spending: { charge: async () => {}, spentOn: async () => ({ tokens: 0, costUsd: 0 }) },
    dailyBudget: { tokens: null, costUsd: null },
    usage: { mayAsk: async () => true, requireReview: async () => {} },
  },
  record: noRecord,
  app: { webUrl: "https://github.example", version: "0", contentKey: () => "key", upkeep: null },
  log: silent,
  now: Date.now,
  ...over,
});

/** The first attempt at a job. */
export const claimed = <T extends Task>(
  task: T,
  over: Partial<ClaimedJob> = {},
): ClaimedJob & { task: T } => ({
  id: "job",
  attempt: 1,
  fence: 1,
  deliveryId: null,
  createdAt: 0,
  startedAt: 0,
  ...over,
  task,
});

/** The tools of a worker that holds its job. */
export const jobTools = (over: Partial<JobTools> = {}): JobTools => ({
  signal: new AbortController().signal,
  record: async () => {},
  recorded: async () => [],
  mayPublish: async () => true,
  hasLease: async () => true,
  ...over,
});
