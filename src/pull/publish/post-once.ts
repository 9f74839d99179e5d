import { AppError, errorLine } from "../../core/errors.ts";
import type { PullRequestApi, RepositoryApi } from "../github/pull-request-api.ts";

/** Waits before each check, because GitHub shows what it has stored with a delay. */
const looksAfterMs = [1_000, 4_000];
const mostTries = 3;

type PausingApi = Pick<RepositoryApi, "pause">;

/** Whether it is unknown if GitHub carried out the request: a timeout, a lost connection, a fault of GitHub. */
export function isAmbiguous(error: unknown): boolean {
  return error instanceof AppError && error.code === "github_failed" && error.retryable;
}

/** Creates something that must not exist twice: after an ambiguous failure, only if it does not exist. Rejects with the last failure. */
export async function postOnce(
  api: PausingApi,
  create: () => Promise<unknown>,
  exists: () => Promise<boolean>,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await create();
      return;
    } catch (error) {
      if (!isAmbiguous(error)) throw error;
      if (await existsSoon(api, exists)) return;
      if (tries === mostTries) throw error;
    }
  }
}

async function existsSoon(api: PausingApi, exists: () => Promise<boolean>): Promise<boolean> {
  for (const pause of looksAfterMs) {
    await api.pause(pause);
    if (await exists()) return true;
  }
  return false;
}

/** Repeats something until GitHub answers, because a second time has no further effect. */
export const repeat = (api: PausingApi, action: () => Promise<unknown>): Promise<void> =>
  postOnce(api, action, async () => false);

/** "No comments on lines: ...". Rethrows errors that are not refusals, and a refusal that concerns all channels. */
export function refusalNotice(error: unknown, channel: string): string {
  const isFinal = error instanceof AppError && error.code.startsWith("github_") && !error.retryable;
  if (!isFinal || error.code === "github_unauthorized") throw error;
  return `No ${channel}: ${errorLine(error)}`;
}

/** Whether GitHub refused the content of a request. */
export const isInvalid = (error: unknown) => error instanceof AppError && error.code === "github_invalid";

/**
 * Rejects with `stale_head` if the pull request has another head now. GitHub is asked again before posting, after it refused a review (a
 * new head is one reason for that), and before fixed findings are answered.
 */
export async function requireHead(of: { api: Pick<PullRequestApi, "pull">; headSha: string }): Promise<void> {
  const pull = await of.api.pull();
  if (pull.headSha !== of.headSha) throw new AppError("stale_head", `The head is now ${pull.headSha}`);
}
