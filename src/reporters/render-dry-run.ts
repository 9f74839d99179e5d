import type { ReviewResult } from "../review/review-result.ts";
import { byteLength, cutAtLine } from "../text/cut.ts";
import { fence } from "../text/fence.ts";
import { renderMarkdown } from "./markdown.ts";
import { bySeverity } from "./order.ts";
import { plural } from "./outcome.ts";

const intro =
  "A dry run: this is what a review of the whole change would post. Nothing of it was posted or is remembered.";

/** What a review would post, as one text of at most `maxBytes`: where not all fits, the worst findings, and how many are left out. */
export function renderDryRun(result: ReviewResult, maxBytes: number): string {
  const said = new Set(result.ledger?.repeats.map(({ finding }) => finding));
  const findings = bySeverity(result.findings.filter(({ finding }) => !said.has(finding.id)));
  const repeated = result.findings.length - findings.length;
  const again =
    repeated > 0
      ? [
          `${plural(repeated, "more finding")} ${repeated === 1 ? "has" : "have"} a comment already, and would not be posted again.`,
        ]
      : [];
  for (let count = findings.length; ; count = Math.floor(count * 0.7)) {
    const report = renderMarkdown({ ...result, findings: findings.slice(0, count) }, () => null).trim();
    const left = findings.length - count;
    const rest =
      left > 0
        ? [
            `${plural(left, "more finding")} would be posted, and ${left === 1 ? "is" : "are"} not shown here.`,
          ]
        : [];
    const text = [intro, report, ...rest, ...again].join("\n\n");
    if (byteLength(text) <= maxBytes) return text;
    // Lists of files without end: as code, for nothing may stay open where it is cut.
    if (count === 0) return `${intro}\n\n${fence(cutAtLine(report, maxBytes / 2).text)}`;
  }
}
