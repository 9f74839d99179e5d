import { AppError, errorLine } from "../errors.ts";
import type { Finding } from "../finding.ts";
import type { InlineComment, PullRequestApi } from "../github/pull-request-api.ts";
import { formatMarker } from "./markers.ts";
import { countBySeverity } from "./outcome.ts";
import { postOnce, type Sleep } from "./post-once.ts";
import { hasFinding, hasReview } from "./publication.ts";
import { type CommentContext, renderComment } from "./render-comment.ts";
import type { ListedFinding } from "./render-summary.ts";

export interface PostContext extends CommentContext {
  api: PullRequestApi;
  sleep?: Sleep | undefined;
}

/** What became of findings that were meant for a channel. */
export interface Posted {
  posted: Finding[];
  refused: ListedFinding[];
  /** A sentence for the maintainer when the channel as a whole is closed to us. */
  notice?: string;
}

/** Questions to GitHub about which comment of a refused review is wrong; each is two writes at most. */
const mostQuestions = 30;

/** Posts one review with all these comments. What GitHub refuses comes back with the reason; nothing else is lost to it. */
export async function postReview(findings: readonly Finding[], context: PostContext): Promise<Posted> {
  if (findings.length === 0) return { posted: [], refused: [] };
  try {
    await createReview(findings, context);
    return { posted: [...findings], refused: [] };
  } catch (error) {
    if (isInvalid(error)) return postWithoutRefused(findings, context, errorLine(error));
    return closedChannel(findings, error, "comments on lines");
  }
}

/**
 * GitHub refuses a review as a whole and does not say for which comment. Halving finds the culprits; the rest is posted
 * as one review.
 */
async function postWithoutRefused(
  findings: readonly Finding[],
  context: PostContext,
  why: string,
): Promise<Posted> {
  const { headSha } = await context.api.pull();
  if (headSha !== context.headSha) throw new AppError("stale_head", `The head moved on to ${headSha}`);
  const reason = `GitHub refused its place (${why})`;
  const refusedAll = { posted: [], refused: findings.map((finding) => ({ finding, reason })) };
  try {
    const good = await acceptable(findings, context);
    if (good.length === 0) return refusedAll;
    await createReview(good, context);
    const refused = findings.filter((finding) => !good.includes(finding));
    return { posted: good, refused: refused.map((finding) => ({ finding, reason })) };
  } catch (error) {
    if (isInvalid(error)) return refusedAll;
    return closedChannel(findings, error, "comments on lines");
  }
}

/** Those of the findings that GitHub takes, in their order; beyond the bound a group in doubt counts as refused. */
async function acceptable(findings: readonly Finding[], context: PostContext): Promise<Finding[]> {
  let questions = 0;
  const groups = [findings];
  const good = new Set<Finding>();
  for (let group = groups.shift(); group !== undefined && questions < mostQuestions; group = groups.shift()) {
    questions++;
    if (
      await context.api.acceptsReview(
        context.headSha,
        group.map((finding) => inlineComment(finding, context)),
      )
    ) {
      for (const finding of group) good.add(finding);
    } else if (group.length > 1) {
      const middle = Math.ceil(group.length / 2);
      groups.push(group.slice(0, middle), group.slice(middle));
    }
  }
  return findings.filter((finding) => good.has(finding));
}

async function createReview(findings: readonly Finding[], context: PostContext): Promise<void> {
  const { api, headSha, trigger, sleep } = context;
  const key = { head: headSha, trigger };
  const body = `Hunkwise: ${countBySeverity(findings)}.\n\n${formatMarker({ kind: "review", ...key })}`;
  const comments = findings.map((finding) => inlineComment(finding, context));
  await postOnce(
    () => api.createReview(headSha, body, comments),
    async () => hasReview(await api.ownReviews(), key),
    sleep,
  );
}

function inlineComment(finding: Finding, context: CommentContext): InlineComment {
  return {
    path: finding.path,
    side: finding.side,
    line: finding.line,
    startLine: finding.start_line,
    body: renderComment(finding, "line", context),
  };
}

/** Posts each finding on its file. A refusal of one says nothing of the others, a missing permission does. */
export async function postFileComments(findings: readonly Finding[], context: PostContext): Promise<Posted> {
  const { api, headSha, trigger, sleep } = context;
  const outcome: Posted = { posted: [], refused: [] };
  for (const [index, finding] of findings.entries()) {
    try {
      await postOnce(
        () => api.createFileComment(headSha, finding.path, renderComment(finding, "file", context)),
        async () => hasFinding(await api.ownReviewComments(), finding.id, { head: headSha, trigger }),
        sleep,
      );
      outcome.posted.push(finding);
    } catch (error) {
      if (!isInvalid(error)) {
        const closed = closedChannel(findings.slice(index), error, "comments on files");
        return { ...closed, posted: outcome.posted, refused: [...outcome.refused, ...closed.refused] };
      }
      outcome.refused.push({ finding, reason: `GitHub refused a comment on its file (${errorLine(error)})` });
    }
  }
  return outcome;
}

/** A refusal that will stay one closes a channel, and the next one takes over; other failures end this attempt. */
function closedChannel(findings: readonly Finding[], error: unknown, channel: string): Posted {
  const notice = refusalNotice(error, channel);
  const reason = `${channel} are not possible here`;
  return { posted: [], refused: findings.map((finding) => ({ finding, reason })), notice };
}

/** "No comments on lines: ..."; throws what is no refusal, or one that concerns all channels alike. */
export function refusalNotice(error: unknown, channel: string): string {
  const isFinal = error instanceof AppError && error.code.startsWith("github_") && !error.retryable;
  if (!isFinal || error.code === "github_unauthorized") throw error;
  return `No ${channel}: ${errorLine(error)}`;
}

const isInvalid = (error: unknown) => error instanceof AppError && error.code === "github_invalid";
