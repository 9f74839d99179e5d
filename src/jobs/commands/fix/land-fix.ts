import { AppError } from "../../../errors.ts";
import type { CheckoutPlace } from "../../../git/workspace.ts";
import type { PullRequest, SourceBranch } from "../../../github/pull-request-api.ts";
import type { LedgerEntry } from "../../../ledger/entry.ts";
import { type Asked, mayWrite, requireOurs } from "../asked.ts";
import { type Clear, lookBeforePush } from "./before-push.ts";
import { type CommittedFix, commitFix } from "./commit-fix.ts";
import type { MadeFix } from "./make-fix.ts";

/** What became of a repair. */
export type Landing =
  | Exclude<CommittedFix, { kind: "committed" }>
  /** The branch has moved on meanwhile. */
  | { kind: "moved" }
  | Clear
  /** It is right as far as we can tell, and we may not push it; in words why. */
  | { kind: "offered"; commit: string; why: string };

export interface Landed {
  asked: Asked;
  pull: PullRequest;
  /** Of the head that was repaired. */
  place: CheckoutPlace;
  entries: readonly LedgerEntry[];
  made: MadeFix;
}

/**
 * Pushes a repair to the pull request's branch, if the branch still is what was repaired. Done again it makes the same commit, and
 * finds it pushed.
 */
export async function landFix(landed: Landed): Promise<Landing> {
  const { asked, pull, place, entries, made } = landed;
  const { deps, job, tools } = asked;
  const github = await deps.github.pushing(job.task.repository, tools.signal);
  const committed = await commitFix({
    ...{ ...made, place, author: github.author, at: job.createdAt, signal: tools.signal },
    named: entries.flatMap(({ path, files }) => [path, ...files]),
  });
  if (committed.kind !== "committed") return committed;
  const { commit } = committed;
  const clear = await lookBeforePush(landed, commit);
  if (clear) return clear;
  const target = targetOf(pull.source);
  if ("why" in target) return { kind: "offered", commit, why: target.why };
  if (!(await mayWrite(asked))) return { kind: "offered", commit, why: NO_LONGER };
  await requireOurs(asked);
  try {
    const { owner, repo: name, branch } = target;
    const end = await deps.push({
      ...{ place, owner, name, branch, from: place.shas.head, to: commit, signal: tools.signal },
      authorization: await github.authorization(),
    });
    if (end.kind === "pushed") return { kind: "pushed", commit };
    return end.kind === "moved"
      ? end
      : { kind: "offered", commit, why: `GitHub did not take it: ${end.reason}` };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "github_forbidden") throw error;
    return { kind: "offered", commit, why: "this installation has not granted `Contents: Read and write`" };
  }
}

const NO_LONGER = "the person who asked for it may no longer write here";

/** The branch to push to, or in words why there is none. */
function targetOf(source: SourceBranch | null): SourceBranch | { why: string } {
  if (source === null) return { why: "the repository that it comes from is not there any more" };
  if (source.isDefault)
    return { why: `\`${source.branch}\` is the default branch, to which only people push` };
  if (source.isFork && !source.maintainersMayPush)
    return { why: "its fork does not let maintainers push to the branch" };
  return source;
}
