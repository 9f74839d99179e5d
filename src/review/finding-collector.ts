import { WITHHELD } from "../diff/filter.ts";
import { atLeast, type Finding, type Severity } from "../finding.ts";
import { unescapeAsIn } from "../text/escape-invisible.ts";
import { showPath } from "../tools/show.ts";
import type { ReportAnswer, ReportedFinding, ReportPort } from "../tools/tool.ts";
import { type Anchor, type AnchorFile, resolveAnchor } from "./anchor.ts";
import { createIdentities } from "./fingerprint.ts";
import { withoutSuggestion } from "./suggestion.ts";

export interface CollectorOptions {
  /** The file as both sides show it; undefined when there is no such file on either side. */
  anchorFile(path: string): Promise<AnchorFile | undefined>;
  /** Why the review may not end yet, for the model; null when it may. */
  refuseToFinish(): string | null;
  minimumSeverity: Severity;
  isPrivate(path: string): boolean;
  onFinding(finding: Finding): void;
}

/** The report port of a review, and what it has collected. */
export interface FindingCollector extends ReportPort {
  findings(): readonly Finding[];
  /** The model's summary once it finished the review, else null. */
  summary(): string | null;
}

/** Anchors, checks and keeps what the model reports; nothing it accepts is ever dropped later without a reason. */
export function createFindingCollector(options: CollectorOptions): FindingCollector {
  const findings: Finding[] = [];
  const identify = createIdentities();
  let summary: string | null = null;

  async function report(reported: ReportedFinding): Promise<ReportAnswer> {
    const given = showPath(reported.path);
    const file = await options.anchorFile(reported.path);
    // An answer quotes lines of both sides: either path of a renamed file withholds them.
    if ([reported.path, ...(file?.paths ?? [])].some(options.isPrivate))
      return { ok: false, reason: `'${given}' is ${WITHHELD}` };
    if (!file)
      return {
        ok: false,
        reason: `no such file '${given}' on either side of the change; use a path as changed_files gives it`,
      };
    if (!atLeast(reported.severity, options.minimumSeverity)) {
      return {
        ok: true,
        finding: null,
        note: `this repository wants findings of severity ${options.minimumSeverity} and above only. Do not report it again`,
      };
    }
    const resolved = resolveAnchor(file, reported);
    return resolved.ok ? keep(reported, file, resolved.anchor) : resolved;
  }

  function keep(reported: ReportedFinding, file: AnchorFile, anchor: Anchor): ReportAnswer {
    const anchored = anchoredAt(anchor, { ...reported, path: file.path });
    const finding: Finding = {
      ...anchored,
      id: identify(anchored),
      source: "model",
      verification: "unverified",
    };
    const same = findings.find((one) => one.id === finding.id);
    if (same) return { ok: true, finding: same, note: "already reported; kept once" };
    findings.push(finding);
    options.onFinding(finding);
    const becameProse = reported.suggestion !== null && finding.suggestion === null;
    const outside = file.hunkAt(finding.side, finding.line) === undefined;
    return { ok: true, finding, note: joined(anchor.note, becameProse && PROSE, outside && OUTSIDE) };
  }

  async function finish(text: string): ReturnType<ReportPort["finish"]> {
    const reason = options.refuseToFinish();
    if (reason !== null) return { ok: false, reason };
    summary = text;
    return { ok: true };
  }

  return { report, finish, findings: () => findings, summary: () => summary };
}

const PROSE = "the suggestion is posted as prose, because it may be meant for other lines";
const OUTSIDE = "the line is outside the diff, so it is posted on the file or in the summary";

const joined = (...notes: (string | null | false)[]) =>
  notes.filter((note) => typeof note === "string").join("; ") || null;

/** The finding on its lines; what was written for other lines must not replace these. */
function anchoredAt({ note: _, asStated, ...lines }: Anchor, reported: ReportedFinding): ReportedFinding {
  const { suggestion } = reported;
  const finding = {
    ...reported,
    ...lines,
    // What is shown escaped comes back escaped; the code that is posted is the code itself.
    suggestion: suggestion === null ? null : unescapeAsIn(suggestion, lines.quote),
  };
  return asStated ? finding : withoutSuggestion(finding);
}
