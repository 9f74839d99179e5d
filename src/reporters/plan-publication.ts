import { isCertain } from "../finding.ts";
import type { LedgerEntry } from "../ledger/entry.ts";
import type { Placement, ReviewResult } from "../review/review-result.ts";
import { bySeverity } from "./order.ts";
import { listed, type Place, type Routed, type Settled } from "./publication.ts";
import { entriesSaying } from "./said-before.ts";
import type { Standing } from "./standing.ts";

/** File comments are requests of their own, and each notifies people. */
const mostFileComments = 5;

export interface PlanInput {
  result: Pick<ReviewResult, "findings" | "ledger">;
  standing: Standing;
  /** Ids of findings that an earlier attempt at this review annotated. */
  annotated: ReadonlySet<string>;
  /** Most comments on lines. */
  maxComments: number;
}

/**
 * Divides findings among the channels: certain ones first, which no model may crowd out by calling other things worse, then the
 * most severe.
 */
export function planPublication({ result, standing, annotated, maxComments }: PlanInput): Routed[] {
  const seen = new Set<string>();
  const used = { line: 0, file: 0 };
  const said = entriesSaying(result, standing);
  const carried = new Map(result.ledger?.carried.map((one) => [one.finding, one]));
  const certainFirst = bySeverity(result.findings).toSorted(
    (a, b) => Number(isCertain(b.finding)) - Number(isCertain(a.finding)),
  );
  return certainFirst.map(({ finding, placement }) => {
    const { id } = finding;
    const isRepeated = seen.has(id);
    seen.add(id);
    const mine = isRepeated ? undefined : standing.mine.get(id);
    if (mine !== undefined) {
      used[placement.kind === "file" ? "file" : "line"]++;
      return { finding, place: ownPlace(mine, standing) };
    }
    if (annotated.has(id) && !isRepeated) return { finding, place: { kind: "annotated" } };
    const entry = said.get(finding);
    if (entry) return { finding, place: placeIn(entry) };
    if (isRepeated) return { finding, place: againPlace(placement) };
    const before = carried.get(id);
    if (before?.standing === "listed") return { finding, place: listed(before.reason) };
    return { finding, place: placeOf(placement, used, standing, maxComments) };
  });
}

/** Of what a model says twice, the second is no comment. */
function againPlace(placement: Placement): Settled {
  const isListed = placement.kind === "summary";
  return listed(isListed ? placement.reason : "the same problem has a comment at another place");
}

/** A comment of this review was posted before a crash, and a person may have been quick. */
function ownPlace(comment: number, { ledger }: Standing): Settled {
  const entry = ledger.entries.find((one) => one.comment === comment);
  return entry?.state === "dismissed" ? placeIn(entry) : { kind: "posted" };
}

const placeIn = (entry: LedgerEntry): Settled => ({
  kind: entry.state === "dismissed" ? "dismissed" : "standing",
  entry,
});

/** The channel of a finding that stands nowhere yet, and has not come before. Counts what it hands out. */
function placeOf(
  placement: Placement,
  used: { line: number; file: number },
  standing: Standing,
  maxComments: number,
): Place {
  if (placement.kind === "summary") return listed(placement.reason);
  if (placement.kind === "file") {
    const isFull = used.file >= Math.min(mostFileComments, maxComments);
    if (isFull) return listed(`${placement.reason}; no more comments on files in one review`);
    used.file++;
    return { kind: "file", reason: placement.reason };
  }
  // Asked first, so that an attempt after an interrupted one says what that one would have said.
  if (used.line >= maxComments) return listed(`a review has at most ${maxComments} comments on lines`);
  if (standing.review) return listed("the review of this commit was posted without it");
  used.line++;
  return { kind: "line" };
}
