import { existsSync } from "node:fs";
import type { TrajectoryEntry } from "../agent/trajectory.ts";
import { graphIndex } from "../git/places.ts";
import type { CheckoutPlace } from "../git/workspace.ts";
import type { IndexTask } from "../process/index-messages.ts";

/**
 * The index that a review reads; null where its repository has none yet. Whoever goes along a record has one only if that review
 * had: it would begin with other words, and all its turns be paid once more.
 */
export function reviewIndex(
  { gitDir, shas }: CheckoutPlace,
  recorded: readonly TrajectoryEntry[],
  isResumed: boolean,
): string | null {
  const file = graphIndex(gitDir);
  if (!existsSync(file)) return null;
  const begun = recorded.findLast((entry) => entry.kind === "run" && entry.shas.head === shas.head);
  const had = begun?.kind === "run" && hasGraph(begun.input);
  return isResumed && !had ? null : file;
}

const hasGraph = (input: unknown) => (input as { graph?: unknown } | null)?.graph === true;

/** Brings a repository's index up to the tip of the base branch: nothing of a pull request that nobody has accepted. */
export function indexTask(
  { gitPath, gitDir, emptyHome, shas }: CheckoutPlace,
  privatePaths: readonly string[],
): IndexTask {
  const file = graphIndex(gitDir);
  return { gitPath, gitDir, emptyHome, sha: shas.base, file, privatePaths: [...privatePaths] };
}
