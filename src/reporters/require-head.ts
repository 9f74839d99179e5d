import { AppError } from "../errors.ts";
import type { PullRequestApi } from "../github/pull-request-api.ts";

/** What was reviewed, and where it is to be said. */
interface Reviewed {
  api: Pick<PullRequestApi, "pull">;
  headSha: string;
}

/** Rejects with `stale_head` when the pull request has moved on. */
export async function requireHead({ api, headSha }: Reviewed): Promise<void> {
  const pull = await api.pull();
  if (pull.headSha !== headSha) throw new AppError("stale_head", `The head moved on to ${pull.headSha}`);
}
