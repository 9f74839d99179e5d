import { AppError, publicLine } from "../../errors.ts";
import { settlingTools } from "../../tools/index.ts";
import type { Settlement } from "../../tools/tool.ts";
import { publicFault } from "../model-fault.ts";
import { type PlaceRun, runLoop } from "../run-loop.ts";
import { type OldClaim, oldClaimMessages } from "./claim.ts";

const TURNS = 12;
/** Of one check; one that reads more than this has lost its way. */
const TOKENS = 300_000;
/** Of the time left. */
const TIME_SHARE = 0.6;

/** What a check came to. One that came to no end settles nothing, and is still to be made. */
export interface Checked extends Settlement {
  ended: boolean;
}

/** Lets a loop of its own find out whether an earlier finding is fixed. */
export async function checkClaim(run: PlaceRun, claim: OldClaim): Promise<Checked> {
  const messages = await firstMessages(run, claim);
  if (messages instanceof AppError) return unsure(publicLine(messages));
  let settlement: Settlement | null = null;
  const { modelError } = await runLoop(run, {
    loop: claim.loop,
    role: "verify",
    messages,
    outlets: settlingTools,
    ports: {
      report: {
        report: async () => ({
          ok: false,
          reason: "nothing is reported here; say what became of the comment",
        }),
        finish: async () => ({
          ok: false,
          reason: "nothing is finished here; say what became of the comment",
        }),
      },
      settle: {
        settle(given) {
          settlement = given;
        },
      },
    },
    coverage: { serve: () => {} },
    account: run.account,
    turns: Math.min(TURNS, run.input.limits.turns),
    tokens: TOKENS,
    milliseconds: run.timeLeft() * TIME_SHARE,
  });
  if (settlement) return { ...(settlement as Settlement), ended: true };
  return unsure(modelError ? publicFault(modelError) : "the check gave no answer");
}

const unsure = (reason: string): Checked => ({
  ended: false,
  state: "unsure",
  reason: `The check did not finish: ${reason.replace(/\.$/, "")}.`,
});

/** What cannot be read settles nothing: the fault is a value. */
async function firstMessages(run: PlaceRun, claim: OldClaim) {
  try {
    return await oldClaimMessages(run, claim);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}
