import type { StopReason } from "../../agent/events.ts";
import { AppError, publicLine } from "../../errors.ts";
import type { Finding, Place } from "../../finding.ts";
import { judgingTools } from "../../tools/index.ts";
import { showPath } from "../../tools/show.ts";
import type { Verdict } from "../../tools/tool.ts";
import { resolveAnchor } from "../anchor.ts";
import { publicFault } from "../model-fault.ts";
import type { ReviewRun } from "../review-run.ts";
import { runLoop } from "../run-loop.ts";
import { claimMessages } from "./claim.ts";
import type { SiblingSearch } from "./siblings.ts";

/** What became of one second look: a verdict, with its places found in the code, or why there is none. */
export type Outcome = { verdict: Verdict } | { verdict: null; reason: string };

const TURNS = 12;
/** Of one second look; a check that reads more than this has lost its way. */
const TOKENS = 400_000;
/** Of the time left. */
const TIME_SHARE = 0.6;

/**
 * Lets a fresh loop try to refute a finding. It is told what is claimed and where, never what made the reviewer think so. Its
 * turns are recorded under the finding's id.
 */
export async function lookAgain(run: ReviewRun, finding: Finding, siblings: SiblingSearch): Promise<Outcome> {
  const messages = await firstMessages(run, finding, siblings);
  if (messages instanceof AppError) return { verdict: null, reason: publicLine(messages) };
  let verdict: Verdict | null = null;
  const loop = await runLoop(run, {
    loop: `verify:${finding.id}`,
    role: "verify",
    messages,
    outlets: judgingTools,
    ports: {
      report: {
        report: async () => ({ ok: false, reason: "nothing is reported here; give a verdict" }),
        finish: async () => ({ ok: false, reason: "nothing is finished here; give a verdict" }),
      },
      judge: {
        async judge(given) {
          const { places, lost } = await anchored(run, given.places);
          verdict = { ...given, places };
          return lost.length === 0 ? null : `Not found in the code, and left out: ${lost.join(", ")}.`;
        },
      },
    },
    coverage: { serve: () => {} },
    account: run.account,
    turns: Math.min(TURNS, run.input.limits.turns),
    tokens: TOKENS,
    milliseconds: run.timeLeft() * TIME_SHARE,
  });
  if (verdict) return { verdict };
  return { verdict: null, reason: loop.modelError ? publicFault(loop.modelError) : whyNone(loop.stopReason) };
}

/** What cannot be read keeps nobody from being told of the finding: the fault is a value. */
async function firstMessages(run: ReviewRun, finding: Finding, siblings: SiblingSearch) {
  try {
    return await claimMessages(run, finding, await siblings.of(finding));
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

const limits: Partial<Record<StopReason, string>> = {
  turn_limit: "the limit of its turns was reached",
  token_limit: "the limit of tokens was reached",
  cost_limit: "the limit of costs was reached",
  time_limit: "the time was up",
  aborted: "it was aborted",
};

const whyNone = (reason: StopReason) => limits[reason] ?? "the model gave no verdict";

/** The places that stand in the change as they were quoted, and where the others were said to be. */
async function anchored(
  { anchorFile, deps: { isPrivate } }: ReviewRun,
  places: readonly Place[],
): Promise<{ places: Place[]; lost: string[] }> {
  const found: Place[] = [];
  const lost: string[] = [];
  for (const place of places) {
    const file = await anchorFile(place.path);
    // Either path of a renamed file withholds the lines of both.
    const isWithheld = [place.path, ...(file?.paths ?? [])].some(isPrivate);
    const resolved = file?.inChange && !isWithheld ? resolveAnchor(file, place) : undefined;
    if (!file || !resolved?.ok) {
      lost.push(`${showPath(place.path)}:${place.line}`);
      continue;
    }
    const { side, line, start_line, quote } = resolved.anchor;
    found.push({ path: file.path, side, line, start_line, quote });
  }
  return { places: found, lost };
}
