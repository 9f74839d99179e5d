import type { Dismissal, LedgerEntry } from "../ledger/entry.ts";
import type { ReviewResult } from "../review/review-result.ts";
import type { Account } from "./account.ts";
import type { Places } from "./publication.ts";
import { section } from "./render-parts.ts";
import { findingLine, type LinkBase, linked, placeLabel, severityBadge } from "./render-places.ts";
import { untrustedCode, untrustedLine } from "./render-untrusted.ts";

/*
 * What the summary says of findings that earlier reviews posted, and of the configuration. Titles, paths and reasons are text of
 * a model or of a pull request.
 */

const mostReasonBytes = 300;

/** Earlier findings that hold: those that this review met again, and those that nobody has settled. Each list has `maxBytes`. */
export function standingSections(
  { standing, open }: Pick<Places, "standing"> & Pick<Account, "open">,
  base: LinkBase,
  maxBytes: number,
): string[] {
  return [
    ...section(
      "**Already reported, and still there**",
      standing,
      ({ finding, entry }) => findingLine(finding, base, entry?.url),
      maxBytes,
    ),
    ...section("**Already reported, and not settled**", open, openLine, maxBytes),
  ];
}

/** What was settled, and how. Each list has `maxBytes`. */
export function settledSections(
  { fixed, settled, dismissed }: Pick<Account, "fixed" | "settled" | "dismissed">,
  maxBytes: number,
): string[] {
  const fixedLines = [
    ...fixed.map((one) => () => `- ${entryLink(one.entry)}${because(one.reason)}`),
    ...settled.map(
      (one) => () => `- ${untrustedLine(one.title)} in ${untrustedCode(one.path)}${because(one.reason)}`,
    ),
  ];
  return [
    ...section("**Fixed**", fixedLines, (line) => line(), maxBytes),
    ...section("**Dismissed**", dismissed, dismissedLine, maxBytes),
  ];
}

/** What the change would change in the configuration of reviews. */
export function configSection({ config_changes }: ReviewResult, maxBytes: number): string[] {
  return section(
    "⚠️ **This pull request changes the configuration of reviews.** Until it is merged, the base branch's counts. With it:",
    config_changes,
    (sentence) => `- ${untrustedLine(sentence, 600)}`,
    maxBytes,
  );
}

function openLine(entry: LedgerEntry): string {
  const changed = entry.state === "outdated" ? "; its code has changed since" : "";
  return `- ${severityBadge(entry.severity)}: ${entryLink(entry)}${changed}`;
}

/** Title as a link to its comment, and where that stands. */
function entryLink({ title, url, path, line, startLine }: LedgerEntry): string {
  const name = untrustedLine(title === "" ? "our comment" : title);
  const place = line === null ? untrustedCode(path) : placeLabel(path, startLine ?? line, line);
  return `${linked(name, url === "" ? undefined : url)} in ${place}`;
}

const because = (reason: string) => (reason === "" ? "" : `: ${untrustedLine(reason, mostReasonBytes)}`);

const dismissedBy: Record<Dismissal["how"], string> = {
  reaction: "by a thumbs down",
  reply: "in a reply",
  resolved: "by resolving its thread",
  command: "with a command",
  deleted: "by deleting its comment",
};

function dismissedLine(entry: LedgerEntry): string {
  const { by = null, at = null, how = "resolved" } = entry.dismissal ?? {};
  // Of a deleted comment, its id is all that is left.
  const what = entry.comment === null ? "A finding" : entryLink(entry);
  const who = by === null ? "" : ` by ${untrustedCode(by)}`;
  const when = at === null ? "" : ` on ${untrustedLine(at.slice(0, 10))}`;
  return `- ${what}: dismissed${who}${when}, ${dismissedBy[how]}`;
}
