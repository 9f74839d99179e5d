import { errorLine } from "../errors.ts";
import type { Finding } from "../finding.ts";
import type { CheckRunUpdate, InlineComment, PullRequestApi } from "../github/pull-request-api.ts";
import { formatMarker } from "../ledger/marker.ts";
import { countBySeverity } from "../reporters/outcome.ts";
import type { CheckRun } from "./check-run.ts";
import { hasFinding, hasReview, readAnnotated } from "./existing.ts";
import { isInvalid, postOnce, refusalNotice, requireHead, type Sleep } from "./post-once.ts";
import { publicText } from "./public-text.ts";
import { listed, type Outcome, type Place, type Routed, type Settled, type Waiting } from "./publication.ts";
import { renderAnnotation } from "./render-annotation.ts";
import { type CommentContext, renderComment } from "./render-comment.ts";

export interface PostContext extends CommentContext {
  api: PullRequestApi;
  /** Of its check run; that of its comments is another one where the check run was asked for again. */
  checkTrigger: string;
  sleep?: Sleep | undefined;
}

/** On a line that GitHub took, in the summary, or left for an annotation. */
type ReviewPlace = Extract<Place, { kind: "posted" | "listed" | "annotation" }>;

type OnFile = Extract<Waiting, { kind: "file" }>;

/** Questions to GitHub about which comment of a refused review is wrong; each is two writes at most. */
const mostQuestions = 30;

/** Posts one review with all these comments. What GitHub refuses comes back with the reason; nothing else is lost to it. */
export async function postReview(
  waiting: readonly Routed[],
  context: PostContext,
): Promise<Outcome<ReviewPlace>> {
  const findings = waiting.map(({ finding }) => finding);
  try {
    await createReview(findings, context);
    return { placeOf: () => ({ kind: "posted" }) };
  } catch (error) {
    if (isInvalid(error)) return postWithoutRefused(findings, context, errorLine(error));
    return closedToLines(error);
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
): Promise<Outcome<ReviewPlace>> {
  await requireHead(context);
  const refused = listed(`GitHub refused its place (${why})`);
  try {
    const good = await acceptable(findings, context);
    if (good.length > 0) await createReview(good, context);
    return { placeOf: ({ finding }) => (good.includes(finding) ? { kind: "posted" } : refused) };
  } catch (error) {
    if (isInvalid(error)) return { placeOf: () => refused };
    return closedToLines(error);
  }
}

/** An annotation is the next best place for lines of the head. It knows no other ones. */
function closedToLines(error: unknown): Outcome<ReviewPlace> {
  const removed = listed(
    "comments on lines are not possible here, and no annotation can stand on a removed line",
  );
  return {
    notice: refusalNotice(error, "comments on lines"),
    placeOf: ({ finding }) => (finding.side === "RIGHT" ? { kind: "annotation" } : removed),
  };
}

/** Those of the findings that GitHub takes, in their order; beyond the bound a group in doubt counts as refused. */
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
  const { api, headSha, trigger, sleep } = context;
  const key = { head: headSha, trigger };
  const marker = formatMarker({ kind: "review", ...key });
  const body = publicText(`Hunkwise: ${countBySeverity(findings)}.\n\n${marker}`);
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
    body: renderComment(finding, { kind: "line" }, context),
  };
}

/** Posts each finding on its file. A refusal of one says nothing of the others, a missing permission does. */
export async function postFileComments(
  waiting: readonly Routed<OnFile>[],
  context: PostContext,
): Promise<Outcome<Settled, OnFile>> {
  const { api, headSha, trigger, sleep } = context;
  const settled = new Map<Finding, Settled>();
  const placeOf = ({ finding, place }: Routed<OnFile>) =>
    settled.get(finding) ?? listed(`${place.reason}; comments on files are not possible here`);
  for (const { finding, place } of waiting) {
    try {
      await postOnce(
        () => api.createFileComment(headSha, finding.path, renderComment(finding, place, context)),
        async () => hasFinding(await api.ownReviewComments(), finding.id, { head: headSha, trigger }),
        sleep,
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

/** GitHub takes no more in one request. */
const mostAtOnce = 50;

/**
 * Puts findings on lines of the head as annotations of the check run, where comments on lines are closed to us. GitHub adds
 * to the annotations that stand and takes none away, so those that stand are looked up first and never sent again.
 */
export async function postAnnotations(
  waiting: readonly Routed[],
  context: PostContext,
  check: CheckRun,
): Promise<Outcome<Settled>> {
  const settled = new Map<Finding, Settled>();
  const placeOf = ({ finding }: Routed): Settled =>
    settled.get(finding) ?? listed("neither comments on lines nor annotations are possible here");
  // Why there is no check run is told by the check run itself.
  if (check.id === undefined) return { placeOf };
  try {
    const standing = await readAnnotated(context.api, keyOf(context));
    for (const { finding } of waiting) {
      if (standing.mine.has(finding.id)) settled.set(finding, { kind: "annotated" });
      else if (standing.earlier.has(finding.id)) settled.set(finding, { kind: "standing", entry: null });
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
): Promise<Settled> {
  const { api, sleep } = context;
  let missing = batch;
  try {
    await postOnce(
      () => api.updateCheckRun(checkId, { ...goingOn, annotations: missing.map(renderAnnotation) }),
      async () => {
        const { mine } = await readAnnotated(api, keyOf(context));
        missing = batch.filter(({ id }) => !mine.has(id));
        return missing.length === 0;
      },
      sleep,
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
