import type { Pause } from "../../ledger/state.ts";
import type { Outcome } from "../../queue/job.ts";
import { untrustedCode } from "../../reporters/safe-markdown.ts";
import { updateState } from "../../publish/sticky-comment.ts";
import { type Asked, answered, isAnswered, requireOurs, reviewAfter, say } from "./command-context.ts";

/** Stops reviews that events start. Done before it is said; a comment that was answered changes nothing any more. */
export async function pause(asked: Asked): Promise<Outcome> {
  const { api, by, deps } = asked;
  if (await isAnswered(asked)) return { kind: "done", reason: "it was paused already" };
  await requireOurs(asked);
  let standing: Pause | null = null;
  await updateState(api, (state) => {
    standing = state.paused;
    return { ...state, paused: state.paused ?? { by, at: new Date(deps.now()).toISOString() } };
  });
  const before = standing as Pause | null;
  const line =
    before === null || before.by === by
      ? "Paused: pushes are not reviewed until someone writes `/resume`. Commands work as before."
      : `It is paused already, by ${untrustedCode(before.by)}. \`/resume\` goes on.`;
  return answered(asked, line, `paused by ${by}`);
}

/** Lets events start reviews again, and makes up for those that were left out. */
export async function resume(asked: Asked): Promise<Outcome> {
  if (!(await isAnswered(asked))) {
    await requireOurs(asked);
    await updateState(asked.api, (state) => ({ ...state, paused: null }));
    await say(asked, "Resumed: what came meanwhile is reviewed now, and pushes are reviewed again.");
  }
  return reviewAfter(asked);
}
