import { parseCheckRunEvent, parseCheckSuiteEvent, type RerunEvent } from "../github/payload.ts";
import { askedReview, type DecideOptions, type Decision, ignore, start, unusable } from "./decision.ts";

/**
 * "Re-run" of one check run: the review is made again that it speaks of. GitHub sends this to the App alone whose check run it
 * is, and leaves the check run as it was.
 * https://docs.github.com/en/webhooks/webhook-events-and-payloads#check_run
 */
export function decideOnCheckRun(payload: unknown, { appId }: DecideOptions): Decision {
  const parsed = parseCheckRunEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { event } = parsed;
  const refusal = refusalOf(event, appId);
  if (refusal) return ignore(refusal);
  const review = reviewOf(event);
  if (!review) return ignore("a check run that is about no review");
  const [another] = event.pulls.slice(1);
  const pull = review.pull ?? (another === undefined ? event.pulls[0] : undefined);
  if (pull === undefined) return ignore("a check run that does not tell its pull request");
  const { repository, sender } = event;
  return start(askedReview({ repository, pull, trigger: review.trigger, again: true, requestedBy: sender }));
}

/** "Re-run all checks" of a commit: its pull requests are reviewed again as their events would have it. */
export function decideOnCheckSuite(payload: unknown, { appId }: DecideOptions): Decision {
  const parsed = parseCheckSuiteEvent(payload);
  if ("lacks" in parsed) return unusable(parsed.lacks);
  const { event } = parsed;
  const refusal = refusalOf(event, appId);
  if (refusal) return ignore(refusal);
  const { repository, sender, pulls } = event;
  const [first, ...others] = pulls.map((pull) =>
    askedReview({ repository, pull, trigger: `event#${pull}`, again: true, requestedBy: sender }),
  );
  return first ? { jobs: [first, ...others] } : ignore("a check suite that names no pull request");
}

function refusalOf({ app, byPerson }: RerunEvent, appId: number | null): string | undefined {
  if (appId !== null && app !== appId) return "a check of another App";
  return byPerson ? undefined : "a re-run that no person asked for";
}

const nameOfReview = /^([0-9a-f]+):(event#([1-9]\d{0,8})@.{1,255}|(?:review-)?comment:[1-9]\d{0,15})$/;

/** What a check run of ours says of its review: why there was one, and of which pull request where that says so. */
function reviewOf({
  externalId,
  headSha,
}: RerunEvent): { trigger: string; pull: number | undefined } | undefined {
  const [, head, trigger, pull] = nameOfReview.exec(externalId ?? "") ?? [];
  if (trigger === undefined || head !== headSha) return undefined;
  return { trigger, pull: pull === undefined ? undefined : Number(pull) };
}
