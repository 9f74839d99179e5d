import { z } from "zod";
import { eachRole, factsOf } from "../../agent/llm/model.ts";
import { createJournal } from "../../agent/record/journal.ts";
import type { LoopEntry, TrajectoryEntry } from "../../agent/record/trajectory.ts";
import { type ProveReviewOptions, proveReview, withoutProofs } from "../../border/prove-review.ts";
import { readArtifact } from "../../border/read-artifact.ts";
import { runTask } from "../../border/run-task.ts";
import { checkPolicy } from "../../config/named-rules.ts";
import { AppError, type ErrorCode, errorLine, publicLine } from "../../core/errors.ts";
import { type Ledger, openFindings } from "../../core/ledger/entry.ts";
import type { PullRequest, PullRequestApi } from "../../pull/github/pull-request-api.ts";
import type { CheckRun } from "../../pull/publish/check-run.ts";
import { failedConclusion, limitConclusion, withheldConclusion } from "../../pull/publish/conclusions.ts";
import { type PublishOptions, publishReview } from "../../pull/publish/publish-review.ts";
import { openWorkspace } from "../../repo/git/object-workspace.ts";
import type { RevisionPlace } from "../../repo/git/workspace.ts";
import { reviewTask } from "../../tasks/review/review-task.ts";
import { Limits, limitsOf, PullText, type ReviewInput } from "../../tasks/shapes/review-input.ts";
import { isComplete, type ReviewResult } from "../../tasks/shapes/review-result.ts";
import { fairShare, onChangedFiles, ToolResult } from "../../tasks/shapes/tool-result.ts";
import { countFindings, figuresOfReview, pullKey } from "../figures/pull-figures.ts";
import {
  type ClaimedJob,
  type JobOutcome,
  maxAttempts,
  type RepositoryRef,
  type ReviewFigures,
  type ReviewTask,
} from "../queue/job.ts";
import { type JobTools, jobFields, nextTry, requireLease } from "../queue/run-job.ts";
import {
  pinPromptContext,
  publishedName,
  recordedResult,
  recordedTests,
  recordedTurns,
  recordPosted,
  recordStart,
  startProofs,
} from "./attempts.ts";
import { type Budget, budgetOf, withinBudget } from "./budgets.ts";
import { announceEnd, announceReview } from "./events.ts";
import { indexTask, reviewIndex } from "./graph-index.ts";
import type { JobDependencies, ModelPort, Phase } from "./job-dependencies.ts";
import { orRefused, type ReviewConfig, withFolders } from "./load-config.ts";
import { modelOutage, processOptions, watchModels } from "./model-run.ts";
import { earlierFindings, historyOf, pullTextOf } from "./prompt-context.ts";

export type ReviewJob = ClaimedJob & { task: ReviewTask };

export interface Subject {
  job: ReviewJob;
  api: PullRequestApi;
  pull: PullRequest;
  trigger: string;
  loaded: ReviewConfig;
  /** As it was when the job began. Publishing reads it again. */
  ledger: Ledger;
  recorded: readonly TrajectoryEntry[];
}

interface OpenSubject extends Subject {
  check: CheckRun;
}

/** Reviews, or takes over the recorded result, and publishes. If it rejects, the check run has failed or is left for the next attempt. */
export async function reviewAndPublish(
  subject: OpenSubject,
  tools: JobTools,
  deps: JobDependencies,
): Promise<JobOutcome> {
  try {
    const { result, tidy } = await recordedOrNew(subject, tools, deps);
    const outcome = await publish(subject, result, tools, deps);
    await tidy();
    return outcome;
  } catch (error) {
    if (error instanceof AppError && error.code === "budget_spent") return withhold(subject, error, deps);
    // A retry opens the check again; without a retry nothing else would close it.
    const isOpen = error instanceof AppError && leftOpen.has(error.code);
    if (!tools.signal.aborted && !isOpen) {
      const { check, ledger, loaded } = subject;
      const held = { open: openFindings(ledger), policy: checkPolicy(loaded.config) };
      const update = failedConclusion(error, held);
      await check.conclude(update).catch(() => {});
    }
    throw error;
  }
}

const leftOpen = new Set<ErrorCode>([
  "lease_lost",
  "superseded",
  "github_rate_limited",
  "model_unavailable",
  "results_pending",
]);

/** Reviews without publishing, for a dry run. The result is recorded. Rejects with `budget_spent` if nothing may be spent. */
export async function reviewUnseen(
  subject: Subject,
  tools: JobTools,
  deps: JobDependencies,
): Promise<ReviewResult> {
  const { result, tidy } = await recordedOrNew(subject, tools, deps);
  await tidy();
  return result;
}

/** `tidy` is called at the end and never rejects: cleaning the mirror must not fail a published review. */
async function recordedOrNew(subject: Subject, tools: JobTools, deps: JobDependencies) {
  const { job, pull, recorded, ledger } = subject;
  const known = recordedResult(recorded, subject);
  // A recorded result of a model is not concluded under the default policy if the configuration is refused now.
  const isOfNow = subject.loaded.refused === null || known?.refused !== null;
  if (known && isOfNow) return { result: known, tidy: async () => {} };
  const { headSha: head, baseSha: base } = pull;
  await tools.record({ kind: "began", head });
  const { result, tidy } = await checkOutAndReview(subject, tools, deps);
  // A dry run is shown even if something was published meanwhile.
  const after = job.task.mode === "dry_run" ? {} : { after: publishedName(ledger) };
  await tools.record({ kind: "result", head, base, result, ...after });
  const tidyOrWarn = () =>
    tidy(tools.signal).catch((err: unknown) => {
      deps.log.warn({ ...jobFields(job), err }, `The mirror was not cleaned up: ${errorLine(err)}`);
    });
  return { result, tidy: tidyOrWarn };
}

async function withhold(
  { job, pull, check, ledger, loaded }: OpenSubject,
  { message }: AppError,
  deps: JobDependencies,
) {
  const policy = checkPolicy(loaded.config);
  // An earlier review passed this head: do not block it.
  const isPassed = check.before !== null && check.before.conclusion !== "failure";
  const otherwise = isPassed ? "neutral" : limitConclusion(policy);
  await check.conclude(
    withheldConclusion(`Not reviewed: ${message}.`, openFindings(ledger), policy, otherwise),
  );
  if (check.problem) deps.log.warn(jobFields(job), check.problem);
  await announceEnd("review.skipped", { job, head: pull.headSha, reason: message }, deps);
  return { kind: "skipped", reason: message } as const;
}

async function checkOutAndReview(subject: Subject, tools: JobTools, deps: JobDependencies) {
  const { job, pull } = subject;
  // Recorded turns have their results already.
  if (recordedTurns(subject.recorded, pull.headSha).length === 0)
    await awaitWorkflows(subject, deps, tools.signal);
  const budget = budgetOf(job, subject.loaded.config, deps);
  await requireBudget(budget, subject, modelsOf(subject.loaded, deps));
  const { repository } = job.task;
  const { number, headSha: head, author } = pull;
  await deps.limits.usage.requireReview({ id: job.id, repository, pull: number, head, author });
  const checkout = await timed("fetch", deps, () =>
    deps.disk.checkout({ repository, pull, signal: tools.signal }),
  );
  try {
    const { place } = checkout;
    const { config, refused } = subject.loaded;
    const loaded =
      refused === null ? await orRefused(withFolders(config, place, deps), config) : subject.loaded;
    const allowed = { ...deps, models: modelsOf(loaded, deps) };
    const result = await reviewCheckout(place, { ...subject, loaded, budget }, tools, allowed);
    const tidy = async (signal: AbortSignal) => {
      await checkout.tidy(signal);
      if (allowed.models.all) deps.disk.indexes?.update(indexTask(place, loaded.config.paths.private));
    };
    return { result, tidy };
  } finally {
    await checkout.release();
  }
}

/** No models if the configuration is refused: it may have kept any file private. */
const modelsOf = ({ refused }: ReviewConfig, { models }: JobDependencies): ModelPort =>
  refused === null ? models : { ...models, all: null };

/** Never rejects. Issues and checks are only read if there is a model. */
async function pullText(
  { job, api, pull, loaded, ledger }: Subject,
  { models, app, log }: JobDependencies,
): Promise<PullText> {
  const { config } = loaded;
  const { number, title, body, author } = pull;
  const earlier = earlierFindings(ledger, config.paths.private);
  if (!models.all) return { number, title, body, author, issues: [], checks: [], earlier };
  const warn = (notice: string) => log.warn(jobFields(job), notice);
  const source = { api, pull, repository: job.task.repository, webUrl: app.webUrl, config, warn };
  return { ...(await pullTextOf(source)), earlier };
}

/** Rejects with `budget_spent` before anything is paid. Called before the checkout and after it, because other reviews spend meanwhile. */
async function requireBudget(budget: Budget, { pull, recorded }: Subject, models: ModelPort): Promise<void> {
  if (models.all && recordedTurns(recorded, pull.headSha).length === 0) await budget.require();
}

/** How long the queue may take to end the job after a review. */
const settlingMs = 30_000;

const PromptContext = z.strictObject({
  text: PullText,
  limits: Limits,
  others: z.strictObject({ results: z.array(ToolResult), warnings: z.array(z.string()) }),
});

/** `loaded` includes the private paths of the folders' configuration files. */
async function reviewCheckout(
  place: RevisionPlace,
  subject: Subject & { budget: Budget },
  tools: JobTools,
  deps: JobDependencies,
): Promise<ReviewResult> {
  const { job, pull, loaded, recorded, ledger, budget } = subject;
  const models = deps.models.all;
  const { headSha: head, baseSha: base } = pull;
  await requireBudget(budget, subject, deps.models);
  const turns = recordedTurns(recorded, head);
  if (models) await deps.models.ready(tools.signal);
  const watched = models && watchModels(eachRole(models, (model) => budget.meter(model)));
  const about = { head, base, after: publishedName(ledger), private: [...loaded.config.paths.private] };
  const read = async () => ({
    text: await pullText(subject, deps),
    limits: withinBudget(limitsOf(loaded.config), await budget.left(), turns),
    others: await workflowResults(place, subject, deps, tools.signal),
  });
  const pinned = { about, shape: PromptContext, recorded, turns };
  const { text, limits, others } = await (watched ? pinPromptContext(pinned, tools, read) : read());
  const results = [...(await resultsFor(place, deps)), ...others.results];
  const graphIndex = models && deps.disk.indexes ? reviewIndex(place, recorded, turns.length > 0) : null;
  const input: ReviewInput = {
    targetBranch: pull.baseRef,
    pull: text,
    history: historyOf({
      key: deps.app.contentKey(job.task.repository, pull.number),
      state: ledger.state,
      mode: job.task.mode,
      recorded,
      head,
      privatePaths: loaded.config.paths.private,
    }),
    config: loaded.config,
    ...(loaded.refused !== null && { refused: loaded.refused }),
    ...(graphIndex !== null && { graph: true }),
    limits,
    ...(results.length > 0 && { results }),
    models: models && eachRole(models, factsOf),
  };
  await recordStart({ kind: "run", shas: place.shas, input }, recorded, tools);
  const result = await timed("review", deps, () =>
    runTask(reviewTask, input, {
      ...processOptions({ job, place, recorded, turns }, tools, deps),
      started: deps.processes.start(place.root),
      models: watched?.models ?? null,
      graphIndex,
      journal: journalFor(subject, tools, deps),
    }),
  );
  // The queue decides a moment later: if it would not retry then, publish now.
  const clock = { now: () => deps.now() + settlingMs, random: () => 0 };
  const outage = modelOutage(watched?.lastFault(), (error) => nextTry(job, error, clock) !== undefined);
  if (outage) throw outage;
  const reviewed = { ...result, warnings: [...others.warnings, ...result.warnings] };
  if (!watched) return reviewed;
  const { number, title, body } = text;
  const shown = { models: watched.models, limits, pull: { number, title, body } };
  return proveFindings(reviewed, shown, { ...subject, place, turns }, tools, deps);
}

/** Faults of an attempt; all others belong to the proofs, and a review does not depend on them. */
const faultsOfAttempt = new Set<ErrorCode>(["aborted", "lease_lost", "superseded", "database_unreachable"]);

async function proveFindings(
  result: ReviewResult,
  shown: Pick<ProveReviewOptions, "models" | "limits" | "pull">,
  subject: Subject & { place: RevisionPlace; turns: readonly LoopEntry[] },
  tools: JobTools,
  deps: JobDependencies,
): Promise<ReviewResult> {
  const { place, job, pull, loaded, recorded } = subject;
  const { config } = loaded;
  const repository = `${job.task.repository.id}`;
  const { signal } = tools;
  try {
    return await proveReview(result, {
      ...processOptions(subject, tools, deps),
      ...shown,
      config,
      targetBranch: pull.baseRef,
      findTestPlace: () => deps.processes.findTestPlace({ place, config, repository }, signal),
      begin: (input) => startProofs(input, place, recorded, tools),
      tested: recordedTests(recorded),
      startProcess: () => deps.processes.start(place.root),
    });
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError) || faultsOfAttempt.has(error.code)) throw error;
    deps.log.warn({ ...jobFields(job), err: error }, `No finding was proved: ${errorLine(error)}`);
    return withoutProofs(result, publicLine(error).replace(/\.$/, ""));
  }
}

async function resultsFor(place: RevisionPlace, { settings }: JobDependencies): Promise<ToolResult[]> {
  const results = await settings.results();
  if (results.length === 0) return [];
  await using workspace = openWorkspace(place);
  return await onChangedFiles(results, workspace);
}

function journalFor({ job, recorded }: Subject, tools: JobTools, deps: JobDependencies) {
  const { vault } = deps.record;
  if (vault === null) return undefined;
  const { repository, pull } = job.task;
  return createJournal({
    about: `${repository.owner}/${repository.name}#${pull}`,
    vault,
    record: tools.record,
    earlier: recorded.filter((entry) => entry.kind === "note"),
    warn: (text) => deps.log.warn(jobFields(job), text),
  });
}

/** How long a job waits for a head on which GitHub's API and its events do not agree: each may lag behind the other by seconds. */
export const headLagMs = 5_000;

async function publish(
  subject: OpenSubject,
  result: ReviewResult,
  tools: JobTools,
  deps: JobDependencies,
): Promise<JobOutcome> {
  const { job, api, pull, trigger, loaded, check, recorded } = subject;
  const { app, log } = deps;
  await requireLease(tools);
  const { owner, name } = job.task.repository;
  const options: PublishOptions = {
    result,
    api,
    trigger,
    check,
    version: app.version,
    again: job.task.again ? job.id : null,
    baseRef: pull.baseRef,
    repositoryUrl: `${app.webUrl}/${owner}/${name}`,
    maxComments: loaded.config.max_comments,
    agentPrompt: loaded.config.comments.agent_prompt,
    checkPolicy: checkPolicy(loaded.config),
  };
  const outcome = await timed("publish", deps, () => publishReview(options));
  const { kind } = outcome;
  // The same job reviews the new head.
  if (kind === "stale_head" && job.attempt < maxAttempts)
    throw new AppError("superseded", outcome.reason, { retryable: true, retryAfterMs: headLagMs });
  if (kind !== "published") return { kind: "superseded", reason: outcome.reason };
  for (const notice of outcome.notices) log.warn(jobFields(job), notice);
  const { posted, annotated, listed, postedBefore, dismissed, fixed } = outcome;
  const comments =
    posted === 0
      ? []
      : await recordPosted(api, result, recorded, tools).catch((err: unknown) => {
          // The review is posted: the job must not fail because of the record.
          log.warn({ ...jobFields(job), err }, `Posted, but the places are not on record: ${errorLine(err)}`);
          return [];
        });
  await countFindings(figuresOfReview(pullKey(job.task), { ...outcome.findings, comments }), job, deps);
  await announceReview(subject, result, deps);
  const places = [`${posted} posted`, `${annotated} annotated`, `${listed} in the summary`];
  const others = [`${postedBefore} standing`, `${dismissed} dismissed`, `${fixed} fixed`];
  const reason = [...places, ...others].join(", ");
  return { kind: "done", reason, figures: reviewFigures(result) };
}

/** What is counted of a published review. */
export function reviewFigures(result: ReviewResult): ReviewFigures {
  const { coverage, findings, ledger } = result;
  const shown = [...(ledger?.carried ?? []), ...(ledger?.repeats ?? [])];
  const earlier = new Set(shown.map(({ finding }) => finding));
  return {
    head: result.head_sha,
    hunksTotal: coverage.hunks_total,
    hunksServed: coverage.hunks_served,
    isComplete: isComplete(result),
    findings: findings.length,
    posted: findings.filter(({ finding }) => !earlier.has(finding.id)).length,
  };
}

/** Runs a phase and reports its duration, unless it fails. */
async function timed<T>(
  phase: Phase,
  { now, record }: Pick<JobDependencies, "now" | "record">,
  work: () => Promise<T>,
): Promise<T> {
  const since = now();
  const result = await work();
  record.phase(phase, now() - since);
  return result;
}

/* Results of other tools that workflows of the repository upload as artifacts. Only the configuration of the base names workflows. */

interface Reviewed extends Pick<Subject, "job" | "loaded"> {
  pull: Pick<PullRequest, "headSha">;
}

/** Most results of one review, on changed files; they are part of its record. */
const MOST_RESULTS = 5_000;
/** How long a workflow may take to begin. */
const beginsWithinMs = 60_000;
/** A job looks again after half of the time that it has waited, so that it waits at most half as long again as the workflow takes. */
const [soonestMs, latestMs] = [10_000, 120_000];

/**
 * Rejects with `results_pending` if a named workflow has not ended and the review waits for it: no worker and no checkout waits. A review that
 * a person asked for does not wait.
 */
export async function awaitWorkflows(
  { job, pull, loaded }: Reviewed,
  { github, now }: Pick<JobDependencies, "github" | "now" | "log">,
  signal: AbortSignal,
): Promise<void> {
  const { workflows, wait_minutes } = loaded.config.findings;
  const waited = Math.max(0, now() - job.startedAt);
  const left = wait_minutes * 60_000 - waited;
  const isEvent = job.task.requestedBy === null;
  if (workflows.length === 0 || loaded.refused !== null || !isEvent || left <= 0) return;
  const api = github.artifacts(job.task.repository, signal);
  if (api === null) return;
  for (const workflow of new Set(workflows.map((one) => one.workflow))) {
    // A fault is reported when the results are read.
    const run = await api.latestRun(workflow, pull.headSha).catch((error: unknown) => {
      rethrowEnd(error, signal);
      return null;
    });
    const isPending = run === undefined ? waited < beginsWithinMs : run?.isCompleted === false;
    if (!isPending) continue;
    const retryAfterMs = Math.min(left, latestMs, Math.max(soonestMs, waited / 2));
    throw new AppError("results_pending", `the review waits for the workflow ${workflow}`, {
      retryable: true,
      retryAfterMs: Math.ceil(retryAfterMs),
    });
  }
}

/** The results of the named workflows for the head. Rejects only if the job ends, or has to wait for GitHub. */
async function workflowResults(
  place: RevisionPlace,
  { job, pull, loaded }: Reviewed,
  { github, log }: Pick<JobDependencies, "github" | "now" | "log">,
  signal: AbortSignal,
): Promise<{ results: ToolResult[]; warnings: string[] }> {
  const { workflows } = loaded.config.findings;
  const api =
    workflows.length > 0 && loaded.refused === null && github.artifacts(job.task.repository, signal);
  if (!api) return { results: [], warnings: [] };
  await using workspace = openWorkspace(place);
  const changed = (await workspace.changes()).map(({ path }) => path);
  const results: ToolResult[] = [];
  const warnings = new Set<string>();
  for (const [file, { workflow, artifact }] of workflows.entries()) {
    const name = `${workflow}: ${artifact}`;
    try {
      const run = await api.latestRun(workflow, pull.headSha);
      if (run === undefined) throw new AppError("usage", "it has not run for this commit");
      if (!run.isCompleted)
        throw new AppError("usage", "it has not ended yet. Comment /review full when it has");
      const bytes = await api.artifact(run.id, artifact);
      if (bytes === undefined)
        throw new AppError(
          "usage",
          `it ended (${run.conclusion ?? "unknown"}) without the artifact ${JSON.stringify(artifact)}`,
        );
      const task = { bytes, name, file, roots: rootsOf(job.task.repository), changed, most: MOST_RESULTS };
      results.push(...(await readArtifact(task, signal)));
    } catch (error) {
      rethrowEnd(error, signal);
      log.warn({ ...jobFields(job), err: error }, `No results of ${name}: ${errorLine(error)}`);
      warnings.add(`The review has no results of the workflow ${workflow}: ${publicLine(error)}.`);
    }
  }
  return { results: fairShare(results, MOST_RESULTS, (one) => one), warnings: [...warnings] };
}

/** GitHub's runners, then those in a container. A tool may write absolute paths. */
const rootsOf = ({ name }: RepositoryRef): string[] => [
  ...[`/home/runner/work/${name}/${name}`, `/Users/runner/work/${name}/${name}`, `/D:/a/${name}/${name}`],
  ...["/github/workspace", `/__w/${name}/${name}`],
];

/** The review goes on without results, unless its job ends. */
function rethrowEnd(error: unknown, signal: AbortSignal): void {
  const mustWait = error instanceof AppError && error.code === "github_rate_limited";
  if (signal.aborted || mustWait || !(error instanceof AppError)) throw error;
}
