import { WITHHELD } from "../diff/filter.ts";
import { atLeast, type Finding, type Severity } from "../finding.ts";
import { unescapeInvisible } from "../text/escape-invisible.ts";
import { showPath } from "../tools/show.ts";
import type { ReportedFinding, ReportPort } from "../tools/tool.ts";
import { type AnchorFile, resolveAnchor } from "./anchor.ts";
import { createIdentities } from "./fingerprint.ts";

/** How many reviewable hunks of a file no model has been shown. */
export interface Unread {
  path: string;
  hunks: number;
}

export interface CollectorOptions {
  /** The file as both sides show it; undefined when there is no such file on either side. */
  anchorFile(path: string): Promise<AnchorFile | undefined>;
  /** Reviewable hunks that were never served. */
  unread(): Unread[];
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

/** How many unread files a refusal names; the rest is counted. */
const NAMED_FILES = 20;

/** Anchors, checks and keeps what the model reports; nothing it accepts is ever dropped later without a reason. */
export function createFindingCollector(options: CollectorOptions): FindingCollector {
  const findings: Finding[] = [];
  const identify = createIdentities();
  let summary: string | null = null;

  async function report(reported: ReportedFinding): ReturnType<ReportPort["report"]> {
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
        ok: false,
        reason: `not kept: this repository wants findings of severity ${options.minimumSeverity} and above only. Do not report it again`,
      };
    }
    const resolved = resolveAnchor(file, reported);
    if (!resolved.ok) return resolved;
    const { note, ...anchor } = resolved.anchor;
    // What is shown escaped comes back escaped; the code that is posted is the code itself.
    const suggestion = reported.suggestion === null ? null : unescapeInvisible(reported.suggestion);
    const anchored = { ...reported, path: file.path, ...anchor, suggestion };
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
    return { ok: true, finding, note: placeNote(note, file, finding) };
  }

  async function finish(text: string): ReturnType<ReportPort["finish"]> {
    const unread = options.unread();
    if (unread.length > 0) return { ok: false, reason: refusal(unread) };
    summary = text;
    return { ok: true };
  }

  return { report, finish, findings: () => findings, summary: () => summary };
}

function placeNote(note: string | null, file: AnchorFile, finding: Finding): string | null {
  const outside = file.hunkAt(finding.side, finding.line) === undefined;
  const place = outside
    ? "the line is outside the diff, so it is posted on the file or in the summary"
    : null;
  return [note, place].filter((part) => part !== null).join("; ") || null;
}

function refusal(unread: Unread[]): string {
  const hunks = unread.reduce((sum, one) => sum + one.hunks, 0);
  const named = unread.slice(0, NAMED_FILES).map((one) => `${showPath(one.path)} (${one.hunks} unread)`);
  const more = unread.length > NAMED_FILES ? `\nand ${unread.length - NAMED_FILES} more files` : "";
  return `${hunks} hunks were never read. Read them with diff_file, then finish:\n${named.join("\n")}${more}`;
}
