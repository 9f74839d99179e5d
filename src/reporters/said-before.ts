import { type Finding, isCertain } from "../finding.ts";
import type { LedgerEntry } from "../ledger/entry.ts";
import { fingerprintIn } from "../review/find/fingerprint.ts";
import type { ReviewResult } from "../review/review-result.ts";
import { bySeverity } from "./order.ts";
import type { Standing } from "./standing.ts";

/**
 * Which findings an earlier comment says already, by the ledger as it is now. The review has compared them with what stood when
 * it began; what another review has said since then is told by its very place. A comment whose fault was fixed says nothing any
 * more: the problem has returned.
 */
export function entriesSaying(
  { findings, ledger: update }: Pick<ReviewResult, "findings" | "ledger">,
  { mine, ledger }: Pick<Standing, "mine" | "ledger">,
): ReadonlyMap<Finding, LedgerEntry> {
  const own = new Set(mine.values());
  const free = new Set(
    ledger.entries.filter(
      ({ comment, state }) => state !== "fixed" && (comment === null || !own.has(comment)),
    ),
  );
  const said = new Map<Finding, LedgerEntry>();
  const take = (says: (finding: Finding, entry: LedgerEntry) => boolean) => {
    for (const { finding } of bySeverity(findings)) {
      if (said.has(finding) || mine.has(finding.id)) continue;
      const entry = [...free].find((one) => says(finding, one));
      if (entry === undefined) continue;
      free.delete(entry);
      said.set(finding, entry);
    }
  };
  const repeats = new Map(update?.repeats.map(({ finding, comment }) => [finding, comment]));
  take(({ id }, { comment }) => comment !== null && repeats.get(id) === comment);
  // A comment may have been deleted since the review was told of it, or since an attempt before this one posted it.
  take(({ id }, { comment, id: deleted }) => comment === null && id === deleted);
  take(({ id }, entry) => repeats.has(id) && isDeletedOf(id, entry));
  take(standsAt);
  return said;
}

const isDeletedOf = (id: string, entry: LedgerEntry) =>
  entry.comment === null && fingerprintIn(entry.id) === fingerprintIn(id);

function standsAt({ id, path, side, line, source }: Finding, entry: LedgerEntry): boolean {
  const isSame = entry.comment !== null && fingerprintIn(entry.id) === fingerprintIn(id);
  // A comment that a model was talked into must not stand for what is certain.
  const isOther = isCertain({ source }) && entry.source !== null && entry.source !== source;
  if (!isSame || isOther || entry.path !== path) return false;
  const isOnFile = entry.line === null && entry.originalLine === null;
  return isOnFile ? entry.id === id : entry.line === line && entry.side === side;
}
