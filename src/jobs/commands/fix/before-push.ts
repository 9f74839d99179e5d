import { openWorkspace } from "../../../git/object-workspace.ts";
import type { PullRequest } from "../../../github/pull-request-api.ts";
import { isStanding, type LedgerEntry } from "../../../ledger/entry.ts";
import { currentLedger } from "../../../publish/existing.ts";
import type { Asked } from "../command-context.ts";
import type { MadeFix } from "./make-fix.ts";

/** Commits of a pull request among which ours is looked for; it is one of the newest. */
const MOST_COMMITS = 1_000;

/** What is clear of a repair before it is pushed. */
export type Clear =
  | { kind: "pushed"; commit: string }
  /** Its findings were settled meanwhile. */
  | { kind: "settled" }
  /** The pull request was. */
  | { kind: "closed" };

export interface BeforePush {
  asked: Asked;
  /** What was to be repaired. */
  entries: readonly LedgerEntry[];
  made: MadeFix;
}

/**
 * What of a repair is clear before it is pushed; null where nothing stands against it. A repair takes minutes, in which people settle
 * its findings or close the pull request. And an attempt that ended between push and answer has pushed it, whoever pushed since.
 */
export async function lookBeforePush(
  { asked, entries, made }: BeforePush,
  commit: string,
): Promise<Clear | null> {
  const now = await asked.api.pull();
  if (made.isRecorded && (await isIn(asked, now, commit))) return { kind: "pushed", commit };
  if (now.state === "closed") return { kind: "closed" };
  const ledger = await currentLedger(asked.api);
  const standing = new Set(ledger.entries.filter(isStanding).map(({ id }) => id));
  const repaired = entries.filter(({ id }) => made.fix.repairs.some((one) => one.repaired && one.id === id));
  return repaired.some(({ id }) => standing.has(id)) ? null : { kind: "settled" };
}

async function isIn({ job, deps, tools }: Asked, pull: PullRequest, commit: string): Promise<boolean> {
  const { number, headSha: head, baseSha: base, baseRef } = pull;
  if (head === commit) return true;
  const { repository } = job.task;
  const checkout = await deps.checkout({
    ...{ repository, pull: number, head, base, baseRef, signal: tools.signal },
  });
  try {
    await using workspace = openWorkspace(checkout.place);
    return (await workspace.commits(MOST_COMMITS)).some(({ sha }) => sha === commit);
  } finally {
    await checkout.release();
  }
}
