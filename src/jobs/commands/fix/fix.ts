import { parseFilePatch } from "../../../diff/file-diff.ts";
import { AppError, publicLine } from "../../../errors.ts";
import { severities } from "../../../finding.ts";
import type { CheckoutPlace } from "../../../git/workspace.ts";
import type { PullRequest } from "../../../github/pull-request-api.ts";
import { isStanding, type Ledger, type LedgerEntry } from "../../../ledger/entry.ts";
import { parseMarker } from "../../../ledger/marker.ts";
import type { Models } from "../../../llm/model.ts";
import type { Outcome } from "../../../queue/job.ts";
import { answerFixed } from "../../../reporters/answer-fixed.ts";
import { currentLedger } from "../../../reporters/current-ledger.ts";
import { postOnce } from "../../../reporters/post-once.ts";
import {
  renderFix,
  suggestionComments,
  suggestionsBody,
  type ToldFix,
} from "../../../reporters/render-fix.ts";
import { untrustedLine } from "../../../reporters/render-untrusted.ts";
import type { FixResult } from "../../../review/fix/fix-input.ts";
import { suggestionsFor } from "../../../review/fix/suggestions.ts";
import { splitLines } from "../../../text/cut.ts";
import { isRefusal } from "../../attempts.ts";
import { type Asked, answered, isAnswered, requireOurs, reviewAfter, say, whySilent } from "../asked.ts";
import { changesTo, patchTo } from "./commit-fix.ts";
import { type Landed, type Landing, landFix } from "./land-fix.ts";
import { makeFix, recordedFix } from "./make-fix.ts";

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
