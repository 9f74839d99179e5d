import type { PostedComment } from "../../agent/record/trajectory.ts";
import { errorLine } from "../../core/errors.ts";
import type { Finding } from "../../core/finding.ts";
import type { Ledger, PostedFinding } from "../../core/ledger/entry.ts";
import type { PullRequest } from "../../pull/github/pull-request-api.ts";
import type { PublishedFindings } from "../../pull/publish/publish-review.ts";
import type { Figures, FindingFigure, PullFigures } from "../queue/figures.ts";
import type { ClaimedJob, RepositoryRef } from "../queue/job.ts";
import { type JobLog, jobFields } from "../queue/run-job.ts";
import type { Spender } from "../queue/usage.ts";

type Counted = PullFigures["findings"][number];

export const pullKey = ({ repository, pull }: { repository: RepositoryRef; pull: number }): Spender => ({
  installation: repository.installation,
  repository: repository.id,
  pull,
});

export async function countFindings(
  pull: PullFigures,
  job: ClaimedJob,
  { record: { figures }, log }: { record: { figures: Pick<Figures, "write"> }; log: Pick<JobLog, "warn"> },
): Promise<void> {
  await figures.write(pull).catch((err: unknown) => {
    log.warn({ ...jobFields(job), err }, `The figures of the findings were not stored: ${errorLine(err)}`);
  });
}

export function figuresOfLedger(
  key: Spender,
  pull: Pick<PullRequest, "state" | "closed">,
  { entries, state }: Pick<Ledger, "entries" | "state">,
): PullFigures {
  const carried = state.carried.flatMap(({ finding, standing, by = null }): Counted[] => {
    if (standing === "unpublished") return [];
    const { figure, words } = newFigure(finding, standing === "annotated" ? "annotation" : "summary");
    if (standing !== "dismissed") return [{ figure, words }];
    return [{ figure: { ...figure, state: "dismissed", dismissal: { by, how: "command" } }, words }];
  });
  const commented = entries.filter(({ comment }) => comment !== null);
  return {
    ...key,
    ...stateOf(pull),
    findings: [...commented.map((entry) => entryFigure(entry)), ...carried],
    deleted: entries.filter(({ comment }) => comment === null).map(({ id }) => id),
    // The ledger does not say why a finding without a comment is gone.
    settled: null,
  };
}

/** @param review with its comments, by the ids of their findings */
export function figuresOfReview(
  key: Spender,
  review: PublishedFindings & { comments: readonly PostedComment[] },
): PullFigures {
  const { entries } = review;
  const answered = new Map(review.fixed.map(({ entry, ...how }) => [entry, how]));
  const own = new Map(review.comments.map((one) => [one.finding, one]));
  const earlier = entries
    .filter(({ comment }) => comment !== null && !review.comments.some(({ id }) => id === comment))
    .map((entry) => entryFigure(entry, answered.get(entry)));
  const posted = review.posted.flatMap((finding) => {
    const comment = own.get(finding.id);
    return comment ? [newFigure(finding, "comment", comment)] : [];
  });
  const visible = review.postedBefore.flatMap(({ finding, entry }) => (entry === null ? [finding] : []));
  return {
    ...key,
    state: "open",
    closedAt: null,
    findings: [
      ...earlier,
      ...posted,
      ...[...review.annotated, ...visible].map((finding) => newFigure(finding, "annotation")),
      ...review.listed.map(({ finding }) => newFigure(finding, "summary")),
    ],
    deleted: entries.filter(({ comment }) => comment === null).map(({ id }) => id),
    settled: review.settled,
  };
}

function stateOf({ state, closed }: Pick<PullRequest, "state" | "closed">) {
  if (state === "open" || closed === null) return { state: "open", closedAt: null } as const;
  return { state: closed.isMerged ? "merged" : "closed", closedAt: closed.at } as const;
}

function entryFigure(
  entry: PostedFinding,
  answer?: { state: "fixed" | "withdrawn"; reason: string },
): Counted {
  const { id, comment, severity, category, source, rule, dismissal, thumbs, title, path, url } = entry;
  const figure: FindingFigure = {
    key: String(comment),
    id,
    comment,
    place: "comment" as const,
    severity,
    category,
    source,
    rule: rule ?? null,
    thumbs,
    state: answer?.state ?? entry.state,
    dismissal: answer ? null : dismissal && { by: dismissal.by, how: dismissal.how },
  };
  const line = entry.line ?? entry.original_line;
  const reason = (answer ? answer.reason : dismissal?.reason) ?? null;
  return { figure, words: { title, path, line, url, reason } };
}

/** A finding that people saw for the first time, in its comment if it has one. */
function newFigure(
  { id, severity, category, source, rule, title, path, line }: Finding,
  place: FindingFigure["place"],
  comment: { id: number; url: string } | null = null,
): Counted {
  const what = { id, severity, category, source, rule: rule ?? null, place } as const;
  const first = { state: "open", dismissal: null, thumbs: null } as const;
  const figure = { ...what, ...first, key: String(comment?.id ?? id), comment: comment?.id ?? null };
  return { figure, words: { title, path, line, url: comment?.url ?? null, reason: null } };
}
