import { parseFilePatch } from "../../diff/parse.ts";
import { AppError, publicLine } from "../../errors.ts";
import { severities } from "../../finding.ts";
import type { CheckoutPlace } from "../../git/checkout-place.ts";
import { openWorkspace } from "../../git/object-workspace.ts";
import type { PullRequest, SourceBranch } from "../../github/pull-request-api.ts";
import { isStanding, type Ledger, type LedgerEntry } from "../../ledger/entry.ts";
import { parseMarker } from "../../ledger/marker.ts";
import type { Models } from "../../llm/model.ts";
import { answerFixed } from "../../publish/answer-fixed.ts";
import { currentLedger } from "../../publish/existing.ts";
import { renderFix, suggestionComments, suggestionsBody, type ToldFix } from "../../publish/fix-texts.ts";
import { postOnce } from "../../publish/post-once.ts";
import type { Outcome } from "../../queue/job.ts";
import { untrustedLine } from "../../reporters/safe-markdown.ts";
import type { FixResult } from "../../review/fix/fix-input.ts";
import { suggestionsFor } from "../../review/fix/suggestions.ts";
import { splitLines } from "../../text/cut.ts";
import { isRefusal } from "../attempts.ts";
import {
  type Asked,
  answered,
  isAnswered,
  mayWrite,
  requireOurs,
  reviewAfter,
  say,
  whySilent,
} from "./command-context.ts";
import { type CommittedFix, changesTo, commitFix, patchTo } from "./commit-fix.ts";
import { type MadeFix, makeFix, recordedFix } from "./make-fix.ts";

/** Commits of a pull request among which ours is looked for; it is one of the newest. */
const MOST_COMMITS = 1_000;

/** What is clear of a repair before it is pushed. */
type Clear =
  | { kind: "pushed"; commit: string }
  /** Its findings were settled meanwhile. */
  | { kind: "settled" }
  /** The pull request was. */
  | { kind: "closed" };

interface BeforePush {
  asked: Asked;
  /** What was to be repaired. */
  entries: readonly LedgerEntry[];
  made: MadeFix;
}

/**
 * What of a repair is clear before it is pushed; null where nothing stands against it. A repair takes minutes, in which people settle
 * its findings or close the pull request. And an attempt that ended between push and answer has pushed it, whoever pushed since.
 */
async function lookBeforePush({ asked, entries, made }: BeforePush, commit: string): Promise<Clear | null> {
  const now = await asked.api.pull();
  if (made.isRecorded && (await isIn(asked, now, commit))) return { kind: "pushed", commit };
  if (now.state === "closed") return { kind: "closed" };
  const ledger = await currentLedger(asked.api);
  const standing = new Set(ledger.entries.filter(isStanding).map(({ id }) => id));
  const repaired = entries.filter(({ id }) => made.fix.repairs.some((one) => one.repaired && one.id === id));
  return repaired.some(({ id }) => standing.has(id)) ? null : { kind: "settled" };
}

async function isIn({ job, deps, tools }: Asked, pull: PullRequest, commit: string): Promise<boolean> {
  const { number, headSha: head, baseSha: base, baseRef } = pull;
  if (head === commit) return true;
  const { repository } = job.task;
  const checkout = await deps.checkout({
    ...{ repository, pull: number, head, base, baseRef, signal: tools.signal },
  });
  try {
    await using workspace = openWorkspace(checkout.place);
    return (await workspace.commits(MOST_COMMITS)).some(({ sha }) => sha === commit);
  } finally {
    await checkout.release();
  }
}

/** What became of a repair. */
type Landing =
  | Exclude<CommittedFix, { kind: "committed" }>
  /** The branch has moved on meanwhile. */
  | { kind: "moved" }
  | Clear
  /** It is right as far as we can tell, and we may not push it; in words why. */
  | { kind: "offered"; commit: string; why: string };

interface Landed {
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
async function landFix(landed: Landed): Promise<Landing> {
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

/** Findings of one fix. A larger commit is none that anybody reads. */
const MOST = 10;

/**
 * Repairs the finding in whose thread it was asked for, or all that stand, and pushes the repair to the pull request's branch. Then an
 * ordinary review looks at what was pushed: what it finds fixed is answered and resolved.
 */
export async function fix(asked: Asked, all: boolean): Promise<Outcome> {
  const { api, deps, tools, comment } = asked;
  if (await isAnswered(asked)) return reviewAfter(asked);
  const silent = await whySilent(asked);
  if (silent !== null) return { kind: "done", reason: silent };
  if (!all && comment.thread === null) return answered(asked, WHERE, "it names no finding");
  if (deps.models === null) return answered(asked, NO_MODEL, "there is no model to ask");
  const recorded = await tools.recorded();
  const known = recordedFix(recorded);
  // What was made of an earlier head is landed there, or not at all.
  const pull = atHead(await api.pull(), known?.head);
  if (pull.state === "closed" && !known) return { kind: "skipped", reason: "the pull request is closed" };
  const ledger = await currentLedger(api);
  const entries = known ? repairedBy(known.fix, ledger) : wanted(ledger, all ? null : comment.thread);
  if (entries.length === 0) return answered(asked, nothingToDo(all, ledger), "there is nothing to repair");
  try {
    return await repair({ asked, pull, entries, models: deps.models, recorded });
  } catch (error) {
    const isTold =
      error instanceof AppError && (error.code === "budget_spent" || error.code === "config_invalid");
    if (!isTold) throw error;
    return answered(asked, `I cannot repair this: ${untrustedLine(publicLine(error), 600)}.`, error.message);
  }
}

const WHERE = "Which one? Write `/fix` in the thread of a finding, or `/fix all` for all that are open.";
const NO_MODEL = "I cannot repair this: no model is configured here, only the built-in analyzers.";

const atHead = (pull: PullRequest, head: string | undefined): PullRequest =>
  head === undefined ? pull : { ...pull, headSha: head };

/** The worst first. */
function wanted({ entries }: Ledger, thread: number | null): LedgerEntry[] {
  const standing = entries.filter(
    (one) => one.comment !== null && isStanding(one) && (thread === null || one.comment === thread),
  );
  return standing
    .toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity))
    .slice(0, MOST);
}

/** What a repair on record is about, whatever became of it since: it may have been pushed. */
const repairedBy = ({ repairs }: FixResult, { entries }: Ledger) =>
  entries.filter((entry) => repairs.some(({ id }) => id === entry.id));

function nothingToDo(all: boolean, { state }: Ledger): string {
  if (!all) return "No open finding of mine began this thread.";
  return state.carried.length > 0
    ? "No finding with a thread of its own is open; those in the summary are left to people."
    : "No finding is open.";
}

interface Repairing {
  asked: Asked;
  pull: PullRequest;
  entries: readonly LedgerEntry[];
  models: Models;
  recorded: Awaited<ReturnType<Asked["tools"]["recorded"]>>;
}

async function repair({ asked, pull, entries, models, recorded }: Repairing): Promise<Outcome> {
  const { deps, tools, job } = asked;
  const { number, headSha: head, baseSha: base, baseRef } = pull;
  const { repository } = job.task;
  const checkout = await deps.checkout({
    ...{ repository, pull: number, head, base, baseRef, signal: tools.signal },
  });
  const place: CheckoutPlace = checkout.place;
  try {
    const made = await makeFix({ asked, pull, entries, place, models, recorded });
    const landed: Landed = { asked, pull, place, entries, made };
    const landing = await landFix(landed);
    const titles = new Map(entries.map(({ id, title }) => [id, title]));
    await say(asked, renderFix({ fix: made.fix, titles, head, end: await endOf(landed, landing) }));
    if (landing.kind !== "pushed") return { kind: "done", reason: landing.kind };
    await settle(landed, landing.commit);
  } finally {
    await checkout.release();
  }
  return reviewAfter(asked);
}

/** Whoever asks for a repair lets us resolve its thread, also if people wrote in it. */
async function settle({ asked, entries, made }: Landed, headSha: string): Promise<void> {
  const fixed = entries.flatMap((entry) => {
    const check = made.fix.repairs.find(({ id }) => id === entry.id)?.check;
    if (check?.state !== "fixed") return [];
    return [{ entry: { ...entry, isTheirs: false }, state: "fixed" as const, reason: check.reason }];
  });
  try {
    await answerFixed(fixed, { api: asked.api, headSha });
  } catch (error) {
    // GitHub does not show what was pushed yet, or somebody pushed since: the next review looks.
    if (!(error instanceof AppError) || error.code !== "stale_head") throw error;
  }
}

/** What may not be pushed stands as suggestions where all of it can, and else as a patch. */
async function endOf(landed: Landed, landing: Landing): Promise<ToldFix["end"]> {
  if (landing.kind === "moved") return { ...landing, mayHaveStood: landed.made.isRecorded };
  if (landing.kind !== "offered") return landing;
  const { why, commit } = landing;
  if (await suggest(landed, commit)) return { kind: "suggested", why };
  const { place, asked } = landed;
  return { kind: "patch", why, patch: await patchTo(commit, { place, signal: asked.tools.signal }) };
}

async function suggest(landed: Landed, commit: string): Promise<boolean> {
  const { asked, place } = landed;
  const changes = await changesTo(commit, { place, signal: asked.tools.signal });
  const files = changes.map(({ path, fix: fixed, change, text }) => ({
    path,
    fix: parseFilePatch(fixed, path, null),
    change: change === "" ? undefined : parseFilePatch(change, path, null),
    lines: splitLines(text),
  }));
  const suggestions = suggestionsFor(files);
  const comments = suggestions && suggestionComments(suggestions, asked.comment.id);
  if (!comments) return false;
  await requireOurs(asked);
  const { api, comment } = asked;
  const isOurs = ({ body }: { body: string }) => {
    const marker = parseMarker(body);
    return marker?.kind === "suggested" && marker.comment === comment.id;
  };
  const stands = async () => (await api.ownReviews()).some(isOurs);
  try {
    if (await stands()) return true;
    await postOnce(() => api.createReview(place.shas.head, suggestionsBody(comment.id), comments), stands);
    return true;
  } catch (error) {
    // GitHub takes no comment on one of these lines, or none at all.
    if (!isRefusal(error)) throw error;
    return false;
  }
}
