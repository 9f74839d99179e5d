import { AppError } from "../../core/errors.ts";
import type { PostedFinding } from "../../core/ledger/entry.ts";
import { fitState } from "../../core/ledger/state.ts";
import { count } from "../../core/text/count.ts";
import type { ReviewResult } from "../../tasks/shapes/review-result.ts";
import type { PullRequestApi } from "../github/pull-request-api.ts";
import { answerFixed, type PostContext, postAnnotations, postFileComments, postReview } from "./channels.ts";
import type { CheckRun } from "./check-run.ts";
import { type CheckPolicy, cancelledConclusion, reviewConclusion } from "./conclusions.ts";
import { type Existing, readAnnotated, readExisting } from "./existing.ts";
import { refusalNotice, requireHead } from "./post-once.ts";
import {
  byState,
  type FindingsByState,
  type PublishedFinding,
  planPublication,
  through,
} from "./publication.ts";
import { nextState, type PullStatus, pullStatus, withoutDismissedReports } from "./pull-status.ts";
import { mostStateBytes, postSummary } from "./sticky-comment.ts";
import {
  dismissedByNumber,
  heldFindings,
  renderSummary,
  renderSummaryComment,
  type SummaryInput,
} from "./summary.ts";

export interface PublishOptions {
  result: ReviewResult;
  api: PullRequestApi;
  /** Why the review was made: "event#<pull>@<base branch>", "comment:<id>" or "review-comment:<id>". There is one review for each head and trigger. */
  trigger: string;
  /** Set if a person asked for the check run again: tells this review from the one before. Else null. */
  again?: string | null;
  /** Name of the target branch of the reviewed change. */
  baseRef: string;
  /** The repository's page, without a slash at the end, for links. */
  repositoryUrl: string;
  version: string;
  /** Most comments on lines. */
  maxComments: number | null;
  /** Whether comments have a fold for coding agents. */
  agentPrompt?: boolean;
  checkPolicy: CheckPolicy;
  /** Opened when the review began; concluded here unless this rejects. */
  check: CheckRun;
}

/** The outcome of publishing. `stale_head`, `other_base` and `closed` posted nothing. */
export type PublishOutcome =
  | { kind: "stale_head" | "other_base" | "closed"; reason: string }
  | {
      kind: "published";
      /** Findings on their lines or files, also those of an earlier attempt. */
      posted: number;
      /** Findings in annotations of the check run, because comments on lines are closed to us. */
      annotated: number;
      listed: number;
      postedBefore: number;
      /** Findings that an earlier review had posted and people dismissed: they are not repeated. */
      dismissed: number;
      /** Findings of earlier reviews that this one found to be fixed. */
      fixed: number;
      /** Notices for the maintainer, such as a missing permission. */
      notices: string[];
      /** What became of each finding; `entries` are those of earlier reviews, as they were before. */
      findings: PublishedFindings;
    };

export interface PublishedFindings
  extends Pick<FindingsByState, "posted" | "annotated" | "listed" | "postedBefore"> {
  entries: readonly PostedFinding[];
  /** Answered in their threads. */
  fixed: PullStatus["fixed"];
  /** Fixed ones without a comment. */
  settled: PullStatus["settled"];
}

/**
 * Publishes a result on its pull request. May be called again after a crash or a rejection: it posts only what is missing.
 *
 * Rejects with a `retryable` AppError when GitHub is not available, and with `github_forbidden` when every channel is closed to us.
 */
export async function publishReview(options: PublishOptions): Promise<PublishOutcome> {
  const { api, check, result, baseRef } = options;
  const pull = await api.pull();
  if (pull.state === "closed") return callOff(check, "closed", "the pull request was closed");
  if (pull.headSha !== result.head_sha)
    return callOff(check, "stale_head", `the head is now ${pull.headSha}`);
  if (pull.baseRef !== baseRef) return callOff(check, "other_base", `its base branch is now ${pull.baseRef}`);
  try {
    return await publish(options);
  } catch (error) {
    if (!(error instanceof AppError && error.code === "stale_head")) throw error;
    return callOff(check, "stale_head", error.message);
  }
}

async function publish(given: PublishOptions): Promise<PublishOutcome> {
  const context = contextOf(given);
  const { routes, existing } = await plan(given, context);
  const options = { ...given, result: withoutDismissedReports(given.result, existing.ledger.state) };
  const { api, result, trigger } = options;
  await requireHead(context);
  const found = await postFindings(routes, context, options);
  const account = pullStatus(result, found, existing.ledger, new Set(existing.mine.values()));
  const answered = await answerFixed(account.fixed, context);
  const notices = noticesOf(found.notices, answered.notices, existing.ledger.notice ?? undefined);
  // A number of what the state has no room for would mean nothing.
  const state = fitState(nextState(result, found, existing.ledger, answered.answered), mostStateBytes);
  const input: SummaryInput = { ...found, ...account, notices, remembered: result.ledger && state };
  const summarize = async (notices: readonly string[]) =>
    tryChannel("summary comment", () =>
      postSummary(api, renderSummaryComment({ ...input, notices }, context, { trigger, state })),
    );
  const closing = await conclude(input, context, options, summarize);
  const { posted, annotated, listed, postedBefore } = found;
  return {
    kind: "published",
    posted: posted.length,
    annotated: annotated.length,
    listed: listed.length,
    postedBefore: postedBefore.length,
    dismissed: found.silent.length,
    fixed: account.fixed.length + account.settled.length,
    notices: closing,
    findings: {
      posted,
      annotated,
      listed,
      postedBefore,
      entries: existing.ledger.entries,
      fixed: account.fixed.filter(({ entry }) => entry.state === "fixed" || answered.answered.has(entry)),
      settled: account.settled,
    },
  };
}

function contextOf(options: PublishOptions): PostContext {
  const { api, result, trigger, again, repositoryUrl, agentPrompt = false } = options;
  return {
    api,
    repositoryUrl,
    agentPrompt,
    headSha: result.head_sha,
    mergeBaseSha: result.merge_base_sha,
    trigger: again ? `${trigger}!${again}` : trigger,
    checkTrigger: trigger,
  };
}

/** Writes the summary and the check run; each shows what the other cannot. Resolves to notices about what was not possible. */
async function conclude(
  input: SummaryInput,
  context: PostContext,
  { result, check, checkPolicy }: PublishOptions,
  summarize: (notices: readonly string[]) => Promise<string | undefined>,
): Promise<string[]> {
  const before = check.problem;
  const closed = await summarize(noticesOf(input.notices, before));
  // The check run shows the text that the summary would have had. Nothing remembers its numbers.
  const notPosted = () => ({ ...input, remembered: null, notices: noticesOf(input.notices, closed) });
  const text = closed === undefined ? "" : renderSummary(notPosted(), context);
  const { open, fixedCount } = input;
  const dismissed = input.dismissed.length + dismissedByNumber(input).length;
  const counts = { found: withEarlierRules(input), open, fixed: fixedCount, dismissed };
  await check.conclude(reviewConclusion(result, checkPolicy, { text, ...counts }));
  const notices = noticesOf(input.notices, closed, check.problem);
  if (check.problem !== undefined) {
    if (closed !== undefined) throw nowhere(input, closed, check.problem);
    // The check run was refused only now, after the summary was written without mentioning it.
    if (check.problem !== before) await summarize(notices);
  }
  return notices;
}

/** The findings that count. One that repeats a comment on a breach of a rule is of that rule. */
function withEarlierRules(input: SummaryInput) {
  const ofComments = new Map(input.postedBefore.map(({ finding, entry }) => [finding, entry?.rule]));
  return heldFindings(input).map((finding) => ({
    ...finding,
    rule: finding.rule ?? ofComments.get(finding),
  }));
}

const noticesOf = (...parts: (string | readonly string[] | undefined)[]) =>
  [...new Set(parts.flat())].filter((notice) => notice !== undefined);

function nowhere({ posted, annotated }: SummaryInput, ...refusals: string[]): AppError {
  const made = posted.length + annotated.length;
  const what =
    made === 0
      ? "Nothing could be posted"
      : `The summary and the check run could not be posted; only ${count(made, "finding")} could be posted`;
  return new AppError("github_forbidden", [what, ...refusals].join(". "));
}

/** Divides the findings among the channels. First removes a pending review that an interrupted attempt left. */
async function plan(
  { api, check, result, maxComments, checkPolicy: { blocking } }: PublishOptions,
  { headSha: head, trigger, checkTrigger }: PostContext,
): Promise<{ routes: PublishedFinding[]; existing: Existing }> {
  const existing = onlyFound(await readExisting(api, { head, trigger }), result);
  if (existing.pending) await tryChannel("comments", () => api.discardPendingReviews());
  const annotated = new Set<string>();
  if (check.takenUp) {
    await tryChannel("annotations", async () => {
      for (const id of (await readAnnotated(api, { head, trigger: checkTrigger })).mine) annotated.add(id);
    });
  }
  return { routes: planPublication({ result, existing, annotated, maxComments, blocking }), existing };
}

/** A finding that an earlier attempt posted and this result lacks counts as an earlier comment, and keeps the check red while it is open. */
function onlyFound(existing: Existing, { findings }: ReviewResult): Existing {
  const found = new Set(findings.map(({ finding }) => finding.id));
  return { ...existing, mine: new Map([...existing.mine].filter(([id]) => found.has(id))) };
}

/** Tries the channels in turn: lines and files, then annotations. The summary lists the rest. */
async function postFindings(
  planned: readonly PublishedFinding[],
  context: PostContext,
  { result, version, check, repositoryUrl }: PublishOptions,
): Promise<Omit<SummaryInput, keyof PullStatus | "remembered">> {
  const lines = await through(planned, "line", (waiting) => postReview(waiting, context));
  const files = await through(lines.routes, "file", (waiting) => postFileComments(waiting, context));
  const notes = await through(files.routes, "annotation", (waiting) =>
    postAnnotations(waiting, context, check),
  );
  return {
    result,
    version,
    checkUrl: check.id === undefined ? undefined : `${repositoryUrl}/runs/${check.id}`,
    ...byState(notes.routes),
    notices: noticesOf(lines.notice, files.notice, notes.notice),
  };
}

async function tryChannel(name: string, post: () => Promise<void>): Promise<string | undefined> {
  try {
    await post();
    return undefined;
  } catch (error) {
    return refusalNotice(error, name);
  }
}

async function callOff(
  check: CheckRun,
  kind: "stale_head" | "other_base" | "closed",
  reason: string,
): Promise<PublishOutcome> {
  await check.conclude(cancelledConclusion(`Not published: ${reason}.`));
  return { kind, reason };
}
