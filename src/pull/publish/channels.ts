import { AppError, errorLine } from "../../core/errors.ts";
import type { Finding } from "../../core/finding.ts";
import type { PostedFinding } from "../../core/ledger/entry.ts";
import { formatMarker, markerIn } from "../../core/ledger/marker.ts";
import { countBySeverity } from "../../report/outcome.ts";
import { untrustedLine } from "../../report/safe-markdown.ts";
import type { CheckRunUpdate, InlineComment, PullRequestApi } from "../github/pull-request-api.ts";
import type { CheckRun } from "./check-run.ts";
import { hasFinding, hasReview, readAnnotated } from "./existing.ts";
import { isInvalid, postOnce, refusalNotice, requireHead } from "./post-once.ts";
import { publicText } from "./public-text.ts";
import {
  type ChannelResult,
  type FinalState,
  type FindingState,
  listed,
  type PendingState,
  type PublishedFinding,
} from "./publication.ts";
import type { ResolvedFinding } from "./pull-status.ts";
import { renderAnnotation } from "./render-annotation.ts";
import { type CommentContext, renderComment } from "./render-comment.ts";

export interface PostContext extends CommentContext {
  api: PullRequestApi;
  /** Of its check run. Its comments have another one if a person asked for the check run again. */
  checkTrigger: string;
}

/** On a line that GitHub accepted, in the summary, or waiting for an annotation. */
type ReviewPlace = Extract<FindingState, { kind: "posted" | "listed" | "annotation" }>;

type OnFile = Extract<PendingState, { kind: "file" }>;

/** Most attempts to find the bad comment of a refused review. Each takes two writes at most. */
const mostQuestions = 30;

/** Posts one review with all these comments. Lists the comments that GitHub refuses, with the reason, and posts the others. */
export async function postReview(
  waiting: readonly PublishedFinding[],
  context: PostContext,
): Promise<ChannelResult<ReviewPlace>> {
  const findings = waiting.map(({ finding }) => finding);
  try {
    await createReview(findings, context);
    return { placeOf: () => ({ kind: "posted" }) };
  } catch (error) {
    if (isInvalid(error)) return postWithoutRefused(findings, context, errorLine(error));
    return closedToLines(error);
  }
}

/** GitHub refuses a review as a whole and does not name the comment. Bisection finds the bad ones; the rest is posted as one review. */
async function postWithoutRefused(
  findings: readonly Finding[],
  context: PostContext,
  why: string,
): Promise<ChannelResult<ReviewPlace>> {
  await requireHead(context);
  const refused = listed(`GitHub refused its line (${why})`);
  try {
    const good = await acceptable(findings, context);
    if (good.length > 0) await createReview(good, context);
    return { placeOf: ({ finding }) => (good.includes(finding) ? { kind: "posted" } : refused) };
  } catch (error) {
    if (isInvalid(error)) return { placeOf: () => refused };
    return closedToLines(error);
  }
}

/** The next best channel for lines of the head is an annotation. Annotations cannot be on removed lines. */
function closedToLines(error: unknown): ChannelResult<ReviewPlace> {
  const removed = listed(
    "comments on lines are not possible here, and an annotation cannot be on a removed line",
  );
  return {
    notice: refusalNotice(error, "comments on lines"),
    placeOf: ({ finding }) => (finding.side === "RIGHT" ? { kind: "annotation" } : removed),
  };
}

/** The findings that GitHub accepts, in their order. Beyond the limit, an untested group counts as refused. */
async function acceptable(findings: readonly Finding[], context: PostContext): Promise<Finding[]> {
  let questions = 0;
  const groups = [findings];
  const good = new Set<Finding>();
  for (let group = groups.shift(); group !== undefined && questions < mostQuestions; group = groups.shift()) {
    questions++;
    const comments = group.map((finding) => inlineComment(finding, context));
    if (await context.api.acceptsReview(context.headSha, comments)) {
      for (const finding of group) good.add(finding);
    } else if (group.length > 1) {
      const middle = Math.ceil(group.length / 2);
      groups.push(group.slice(0, middle), group.slice(middle));
    }
  }
  return findings.filter((finding) => good.has(finding));
}

async function createReview(findings: readonly Finding[], context: PostContext): Promise<void> {
  const { api, headSha, trigger } = context;
  const key = { head: headSha, trigger };
  const marker = formatMarker({ kind: "review", ...key });
  const body = publicText(`Hunkwise: ${countBySeverity(findings)}.\n\n${marker}`);
  const comments = findings.map((finding) => inlineComment(finding, context));
  await postOnce(
    api,
    () => api.createReview(headSha, body, comments),
    async () => hasReview(await api.ownReviews(), key),
  );
}

function inlineComment(finding: Finding, context: CommentContext): InlineComment {
  return {
    path: finding.path,
    side: finding.side,
    line: finding.line,
    startLine: finding.start_line,
    body: renderComment(finding, { kind: "line" }, context),
  };
}

/** Posts each finding on its file. If GitHub refuses one, the others are still tried; a missing permission ends the attempts. */
export async function postFileComments(
  waiting: readonly PublishedFinding<OnFile>[],
  context: PostContext,
): Promise<ChannelResult<FinalState, OnFile>> {
  const { api, headSha, trigger } = context;
  const settled = new Map<Finding, FinalState>();
  const placeOf = ({ finding, place }: PublishedFinding<OnFile>) =>
    settled.get(finding) ?? listed(`${place.reason}; comments on files are not possible here`);
  for (const { finding, place } of waiting) {
    try {
      await postOnce(
        api,
        () => api.createFileComment(headSha, finding.path, renderComment(finding, place, context)),
        async () => hasFinding(await api.ownReviewComments(), finding.id, { head: headSha, trigger }),
      );
      settled.set(finding, { kind: "posted" });
    } catch (error) {
      if (!isInvalid(error)) return { placeOf, notice: refusalNotice(error, "comments on files") };
      settled.set(
        finding,
        listed(`${place.reason}; GitHub refused a comment on its file (${errorLine(error)})`),
      );
    }
  }
  return { placeOf };
}

/** GitHub's limit for one request. */
const mostAtOnce = 50;

/**
 * Posts findings on lines of the head as annotations, if comments on lines are not allowed. GitHub never removes one, so existing ones are
 * not sent again.
 */
export async function postAnnotations(
  waiting: readonly PublishedFinding[],
  context: PostContext,
  check: CheckRun,
): Promise<ChannelResult<FinalState>> {
  const settled = new Map<Finding, FinalState>();
  const placeOf = ({ finding }: PublishedFinding): FinalState =>
    settled.get(finding) ?? listed("neither comments on lines nor annotations are possible here");
  // The check run's own notice says why it is missing.
  if (check.id === undefined) return { placeOf };
  try {
    const annotated = await readAnnotated(context.api, keyOf(context));
    for (const { finding } of waiting) {
      if (annotated.mine.has(finding.id)) settled.set(finding, { kind: "annotated" });
      else if (annotated.earlier.has(finding.id))
        settled.set(finding, { kind: "posted_before", entry: null });
    }
    const fresh = waiting.map(({ finding }) => finding).filter((finding) => !settled.has(finding));
    for (let at = 0; at < fresh.length; at += mostAtOnce) {
      const batch = fresh.slice(at, at + mostAtOnce);
      const place = await annotate(batch, context, check.id, check.goingOn);
      for (const finding of batch) settled.set(finding, place);
    }
    return { placeOf };
  } catch (error) {
    return { placeOf, notice: refusalNotice(error, "annotations") };
  }
}

async function annotate(
  batch: readonly Finding[],
  context: PostContext,
  checkId: number,
  goingOn: CheckRunUpdate,
): Promise<FinalState> {
  const { api } = context;
  let missing = batch;
  try {
    await postOnce(
      api,
      () => api.updateCheckRun(checkId, { ...goingOn, annotations: missing.map(renderAnnotation) }),
      async () => {
        const { mine } = await readAnnotated(api, keyOf(context));
        missing = batch.filter(({ id }) => !mine.has(id));
        return missing.length === 0;
      },
    );
    return { kind: "annotated" };
  } catch (error) {
    if (!isInvalid(error)) throw error;
    return listed(
      `comments on lines are not possible here, and GitHub refused its annotation (${errorLine(error)})`,
    );
  }
}

const keyOf = ({ headSha, checkTrigger }: PostContext) => ({ head: headSha, trigger: checkTrigger });

/** The reason is one sentence. */
const mostReasonBytes = 600;

type FixedIn = Pick<PostContext, "api" | "headSha">;

/**
 * Answers in the threads of fixed findings, and resolves those without a participating person. Rejects with `stale_head` if the pull
 * request has moved on: the fault may be back. The notices for the maintainer are for all threads together: GitHub lets an App resolve
 * threads only if it may write contents.
 */
export async function answerFixed(
  fixed: readonly ResolvedFinding[],
  context: FixedIn,
): Promise<{ notices: string[]; answered: ReadonlySet<PostedFinding> }> {
  const waiting = fixed.filter(
    ({ entry }) => entry.state !== "fixed" || !(entry.resolved || entry.is_theirs),
  );
  const answered = new Set<PostedFinding>();
  if (waiting.length === 0) return { notices: [], answered };
  await requireHead(context);
  const closed = new Map<string, string>();
  for (const one of waiting) {
    const isAnswered =
      one.entry.state === "fixed" || (await attempt("answers in", () => answer(one, context), closed));
    if (isAnswered) answered.add(one.entry);
    const { thread } = one.entry;
    if (isAnswered && thread !== null && !one.entry.is_theirs) {
      await attempt("resolving", () => context.api.resolveThread(thread), closed);
    }
  }
  return { notices: [...closed.values()], answered };
}

/** Whether it was done. A channel that GitHub refuses is tried once; a missing thread does not close it. */
async function attempt(
  what: "answers in" | "resolving",
  action: () => Promise<void>,
  closed: Map<string, string>,
): Promise<boolean> {
  if (closed.has(what)) return false;
  try {
    await action();
    return true;
  } catch (error) {
    const notice = refusalNotice(error, `${what} the threads of fixed findings`);
    const isOfThisThread =
      isInvalid(error) || (error instanceof AppError && error.code === "github_not_found");
    if (!isOfThisThread) closed.set(what, notice);
    return false;
  }
}

async function answer({ entry, state, reason }: ResolvedFinding, { api, headSha }: FixedIn): Promise<void> {
  const { comment } = entry;
  if (comment === null) return;
  const why = untrustedLine(reason, mostReasonBytes);
  const what = state === "fixed" ? "Fixed in" : "No longer reported as of";
  const words = `${what} ${headSha.slice(0, 12)}${why === "" ? "." : `: ${why}`}`;
  const marker = formatMarker({ kind: "fixed", comment, head: headSha });
  const exists = async () => {
    const thread = (await api.ownThreads()).find((one) => one.comment === comment);
    const ours = thread?.replies.filter(({ author }) => author.kind === "us") ?? [];
    return ours.some(({ body }) => markerIn(body, "fixed")?.head === headSha);
  };
  await postOnce(api, () => api.reply(comment, publicText(`${words}\n\n${marker}`)), exists);
}
