import { type PushEnd, type PushRequest, pushCommit } from "../git/remote.ts";
import type { Network } from "../git/run-git.ts";
import type { CheckoutPlace } from "../git/workspace.ts";

/** A commit that a branch on GitHub is to go to. */
export interface BranchPush extends Pick<PushRequest, "branch" | "from" | "to" | "authorization" | "signal"> {
  /** Where the commit is. */
  place: CheckoutPlace;
  /** The repository of the branch, which may be a fork. */
  owner: string;
  name: string;
}

/** @param webUrl root of GitHub's pages and repositories, without a slash at the end */
export function createPushBranch({ webUrl, network }: { webUrl: string; network: Network }) {
  return ({ place, owner, name, ...push }: BranchPush): Promise<PushEnd> =>
    pushCommit({ ...push, git: place, gitDir: place.gitDir, network, url: `${webUrl}/${owner}/${name}.git` });
}
