import { parseMarker } from "../../core/ledger/marker.ts";
import type { PublicText } from "../../core/text/inert-text.ts";
import type {
  CheckRunUpdate,
  OwnCheckRun,
  PullRequestApi,
  RepositoryApi,
} from "../github/pull-request-api.ts";
import { type Seal, withoutMarkers } from "../ledger/seal.ts";
import { publicPlain, sealedText } from "./public-text.ts";

/*
 * GitHub for a token whose bot other programs use too. What we wrote is recognized by the seal of its marker, never by its author alone.
 */

export function sealedRepository<Api extends RepositoryApi>(api: Api, seal: Seal, repository: number): Api {
  /** External ids of the check runs that this process has seen. */
  const externalIds = new Map<number, string>();
  /** Commits with a check run of another key that holds the check, or is going on: a run that cannot read it must not cover it. */
  const held = new Set<string>();
  const headOf = (externalId: string) => externalId.split(":")[0] ?? "";
  const uncovered = (update: CheckRunUpdate, externalId: string): CheckRunUpdate =>
    held.has(headOf(externalId)) && ["success", "skipped"].includes(update.conclusion ?? "")
      ? { ...update, conclusion: "neutral", title: publicPlain(`${update.title}. ${NOT_READABLE}`) }
      : update;
  const placeOf = (externalId: string) => `check run ${externalId} of ${repository}`;
  const own: RepositoryApi = {
    ...api,
    async checkRuns(headSha) {
      const runs = await api.checkRuns(headSha);
      held.delete(headSha);
      return runs.flatMap((run) => {
        const summary = seal.open(run.summary ?? "", placeOf(run.externalId));
        // All of ours have a marker. One that another program wrote, or we with another key, is none of ours.
        if (parseMarker(summary)?.kind !== "check") {
          if (headOf(run.externalId) === headSha && holds(run)) held.add(headSha);
          return [];
        }
        externalIds.set(run.id, run.externalId);
        return [{ ...run, summary }];
      });
    },
    async createCheckRun(headSha, externalId, update) {
      const summary = sealedText(seal, update.summary, placeOf(externalId));
      const id = await api.createCheckRun(headSha, externalId, { ...uncovered(update, externalId), summary });
      externalIds.set(id, externalId);
      return id;
    },
    updateCheckRun(id, update) {
      const externalId = externalIds.get(id) ?? "";
      const summary = sealedText(seal, update.summary, placeOf(externalId));
      return api.updateCheckRun(id, { ...uncovered(update, externalId), summary });
    },
    // An annotation has no marker, and another program may write the same text. At worst, ours is there twice.
    ownAnnotations: async () => [],
  };
  return { ...api, ...own };
}

const NOT_READABLE = "An earlier check of this commit has another key and cannot be read";

const holds = ({ completed, conclusion }: OwnCheckRun) =>
  !completed || (conclusion !== "success" && conclusion !== "skipped");

/** @param onOther called for a summary that was sealed with another key, or that another program wrote */
export function sealedPull(
  given: PullRequestApi,
  seal: Seal,
  { repository, pull }: { repository: number; pull: number },
  onOther: () => void = () => {},
): PullRequestApi {
  const api = sealedRepository(given, seal, repository);
  const place = `pull request ${pull} of ${repository}`;
  const close = (text: PublicText) => sealedText(seal, text, place);
  const opened = <Text extends { body: string }>(text: Text): Text => ({
    ...text,
    body: seal.open(text.body, place),
  });
  return {
    ...api,
    // Another program's thread is of the same bot, and none of ours.
    async isOwnReviewComment(id) {
      const isOwn = await api.isOwnReviewComment(id);
      if (isOwn !== true) return isOwn;
      const body = (await api.ownReviewComments()).find((one) => one.id === id)?.body ?? "";
      return parseMarker(seal.open(body, place))?.kind === "finding";
    },
    ownReviews: async () => (await api.ownReviews()).map(opened),
    ownReviewComments: async () => (await api.ownReviewComments()).map(opened),
    async ownComments() {
      const all = await api.ownComments();
      const isSummary = (text: { body: string }) => parseMarker(opened(text).body)?.kind === "summary";
      const times = all.filter(isSummary).map(({ body }) => seal.closedAt(body, place) ?? 0);
      if (times.length > 0 && times.every((time) => time === 0)) onOther();
      const newest = Math.max(0, ...times);
      // Another program may repeat an older summary of ours, in an older comment of its own.
      const isOld = ({ body }: { body: string }) => newest > 0 && seal.closedAt(body, place) !== newest;
      return all.map((one) =>
        isSummary(one) && isOld(one) ? { ...one, body: withoutMarkers(one.body) } : opened(one),
      );
    },
    async ownThreads() {
      const threads = await api.ownThreads();
      return threads.map((thread) => ({
        ...opened(thread),
        replies: thread.replies.map((reply) => (reply.author.kind === "us" ? opened(reply) : reply)),
      }));
    },
    reply: (comment, body) => api.reply(comment, close(body)),
    createReview: (headSha, body, comments) =>
      api.createReview(
        headSha,
        close(body),
        comments.map((one) => ({ ...one, body: close(one.body) })),
      ),
    createFileComment: (headSha, path, body) => api.createFileComment(headSha, path, close(body)),
    createComment: (body) => api.createComment(close(body)),
    updateComment: (id, body) => api.updateComment(id, close(body)),
    editReview: (id, body) => api.editReview(id, close(body)),
  };
}
