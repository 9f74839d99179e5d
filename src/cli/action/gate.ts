import type { ActionEnv } from "../../config/action-env.ts";
import type { PullRequest, PullRequestApi } from "../../github/pull-request-api.ts";
import { hasWriteAccess } from "../../ledger/authority.ts";
import type { ActionEvent } from "./event.ts";

/** Whether a model may be paid for this pull request, by the inputs of the workflow alone. */
export type Admission =
  /** `head`: only this head may be reviewed; null: any. */
  | { admitted: true; head: string | null }
  /** `because` is a sentence for people. */
  | { admitted: false; because: string };

/**
 * Asks GitHub whether the event may start a review: strangers can open pull requests at any time, and each review costs money. It admits
 * people with write access; everyone who pushes to a branch of the repository has it. For others, someone with write access adds a label,
 * which counts only for the head at that time. `author_association` says nothing about access.
 */
export async function admission(
  event: Pick<ActionEvent, "name" | "labelled">,
  { reviewsOf, reviewLabel }: ActionEnv["inputs"],
  pull: Pick<PullRequest, "author" | "source" | "headSha">,
  api: Pick<PullRequestApi, "permissionOf">,
): Promise<Admission> {
  const all: Admission = { admitted: true, head: null };
  if (reviewsOf === "everyone") return all;
  // GitHub lets only people with write access start a workflow by hand.
  if (event.name === "workflow_dispatch") return all;
  if (pull.source !== null && !pull.source.isFork) return all;
  if (await hasWriteAccess(api, pull.author)) return all;
  const { labelled } = event;
  const isMeant =
    labelled?.label.toLowerCase() === reviewLabel.toLowerCase() && labelled.head === pull.headSha;
  if (labelled && isMeant && (await hasWriteAccess(api, labelled.by)))
    return { admitted: true, head: pull.headSha };
  return {
    admitted: false,
    because:
      `${pull.author} cannot write to this repository. After reading the change, someone with write access can add the label ` +
      `"${reviewLabel}" or comment /review`,
  };
}
