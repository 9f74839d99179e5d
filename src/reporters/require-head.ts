import { AppError } from "../errors.ts";
import type { PostContext } from "./post-review.ts";

/** Rejects with `stale_head` when the pull request has moved on. */
export async function requireHead({ api, headSha }: Pick<PostContext, "api" | "headSha">): Promise<void> {
  const pull = await api.pull();
  if (pull.headSha !== headSha) throw new AppError("stale_head", `The head moved on to ${pull.headSha}`);
}
