import type { Pause } from "../../ledger/state.ts";
import { updateState } from "../../publish/sticky-comment.ts";
import { requireLease } from "../../queue/run-job.ts";
import { untrustedCode } from "../../reporters/safe-markdown.ts";
import type { AskedContext } from "./command-context.ts";

/*
 * The state changes before the answer is posted, and may change again after a crash. Both resolve to the answer, in Markdown.
 */

/** Stops reviews that events start. */
export async function pause({ api, by, job, tools, deps }: AskedContext): Promise<string> {
  await requireLease(tools);
  const at = new Date(deps.now()).toISOString();
  const now: Pause = { by, at, ...(job.task.kind === "act" && { on: "page" }) };
  let standing: Pause | null = null;
  await updateState(api, (state) => {
    standing = state.paused;
    return { ...state, paused: state.paused ?? now };
  });
  const before = standing as Pause | null;
  return before === null || before.by === by
    ? "Paused: pushes are not reviewed until someone writes `/resume`. Commands still work."
    : `Reviews of pushes are already paused, by ${untrustedCode(before.by)}. \`/resume\` starts them again.`;
}

/** Lets events start reviews again. A review must follow, to make up for the omitted ones. */
export async function resume({ api, tools }: AskedContext): Promise<string> {
  await requireLease(tools);
  await updateState(api, (state) => ({ ...state, paused: null }));
  return "Resumed: I now review what was pushed meanwhile, and pushes are reviewed again.";
}
