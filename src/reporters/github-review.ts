import { AppError } from "../errors.ts";
import type { PullRequestApi } from "../github/pull-request-api.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { type CheckPolicy, type CheckRun, cancelledConclusion, reviewConclusion } from "./check-run.ts";
import type { Sleep } from "./post-once.ts";
import { type PostContext, postFileComments, postReview, refusalNotice } from "./post-review.ts";
import { postSummary } from "./post-summary.ts";
import { type Publication, planPublication, readStanding } from "./publication.ts";
import { renderSummary, renderSummaryComment, type SummaryInput } from "./render-summary.ts";

export interface PublishOptions {
  result: ReviewResult;
  api: PullRequestApi;
  /** Why the review was made: "event", or "comment:<id>". One review a head and trigger. */
  trigger: string;
  /** The repository's page, without a slash at the end; what links lead to. */
  repositoryUrl: string;
  /** Version of Hunkwise. */
  version: string;
  /** Most comments on lines. */
  maxComments: number;
  checkPolicy: CheckPolicy;
  /** Opened when the review began; concluded here in every case but a rejection. */
  check: CheckRun;
  sleep?: Sleep;
}

/** What was made of a result. `stale_head` and `closed` posted nothing. */
export type PublishOutcome =
  | { kind: "stale_head" | "closed"; reason: string }
  | {
      kind: "published";
      /** Findings on their lines or files, also those of an earlier attempt at the same review. */
      posted: number;
      /** Findings in the summary alone. */
      listed: number;
      /** Findings that an earlier review had posted. */
      standing: number;
      /** What the maintainer should know, such as a permission that is missing. */
      notices: string[];
    };

/**
 * Puts a result onto its pull request: one review with the comments on lines, comments on files, the summary comment, the
 * check run. May be called again after a crash or a rejection: what stands is recognised, only the rest is posted.
 *
 * Rejects with an AppError that is `retryable` when GitHub is not available or its limits are used up, and with
 * `github_forbidden` when every channel is closed to us.
 */
export async function publishReview(options: PublishOptions): Promise<PublishOutcome> {
  const { api, check, result } = options;
  const pull = await api.pull();
  if (pull.state === "closed") return callOff(check, "closed", "the pull request was closed");
  if (pull.headSha !== result.head_sha) return callOff(check, "stale_head", movedTo(pull.headSha));
  try {
    return await publish(options);
  } catch (error) {
    if (!(error instanceof AppError && error.code === "stale_head")) throw error;
    return callOff(check, "stale_head", error.message);
  }
}

async function publish(options: PublishOptions): Promise<PublishOutcome> {
  const { api, check, result, trigger, sleep } = options;
  const key = { head: result.head_sha, trigger };
  const plan = planPublication(result.findings, await readStanding(api, key), options.maxComments);
  const context: PostContext = {
    api,
    trigger,
    sleep,
    repositoryUrl: options.repositoryUrl,
    headSha: result.head_sha,
    mergeBaseSha: result.merge_base_sha,
  };
  const input = await postFindings(plan, context, options);

  const closed = await tryChannel("summary comment", () =>
    postSummary(api, renderSummaryComment(input, context), sleep),
  );
  // The last channel takes what the summary would have said.
  const text =
    closed === undefined ? "" : renderSummary({ ...input, notices: [...input.notices, closed] }, context);
  await check.conclude(reviewConclusion(result, options.checkPolicy, text));
  if (closed !== undefined && check.problem !== undefined) {
    throw new AppError("github_forbidden", `Nothing could be posted. ${closed}. ${check.problem}`);
  }
  return {
    kind: "published",
    posted: input.posted.length,
    listed: input.listed.length,
    standing: input.standing.length,
    notices: [...new Set([...input.notices, closed, check.problem].filter((notice) => notice !== undefined))],
  };
}

/** Posts the comments; what no channel took is listed for the summary. */
async function postFindings(
  plan: Publication,
  context: PostContext,
  { result, version, check }: PublishOptions,
): Promise<SummaryInput> {
  const inline = await postReview(plan.inline, context);
  const file = await postFileComments(plan.file, context);
  const notices = [inline.notice, file.notice, check.problem].filter((notice) => notice !== undefined);
  return {
    result,
    version,
    posted: [...plan.posted, ...inline.posted, ...file.posted],
    listed: [...inline.refused, ...file.refused, ...plan.listed],
    standing: plan.standing,
    notices,
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
  kind: "stale_head" | "closed",
  reason: string,
): Promise<PublishOutcome> {
  await check.conclude(cancelledConclusion(`Not published: ${reason}.`));
  return { kind, reason };
}

const movedTo = (sha: string) => `the head moved on to ${sha}`;
