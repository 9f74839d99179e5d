import { mergingTools } from "../../../agent/tools/index.ts";
import type { MergeSink, ReportPort } from "../../../agent/tools/tool.ts";
import { type CodeLocation, type Evidence, type Finding, worstFirst } from "../../../core/finding.ts";
import { byteLength, cutAtLine } from "../../../core/text/cut.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import { renderHunks } from "../../../repo/diff/file-diff.ts";
import { showPath } from "../../../repo/show.ts";
import {
  type createUniqueIds,
  haveOneRule,
  isSameElsewhere,
  locationOf,
  locationsOverlap,
  normalizedTitle,
} from "../../anchor/fingerprint.ts";
import { createReportWatch, type LostReport } from "../../loop/report-watch.ts";
import type { ReviewRun } from "../../loop/review-run.ts";
import { openingMessages, roomFor, runLoop } from "../../loop/run-loop.ts";
import { mergePrompt } from "../../prompts/prompts.ts";

/** Findings with one cause, the main one first. The others are kept: if verification refutes the first, the next takes its place. */
export type FindingGroup = readonly [Finding, ...Finding[]];

export const mergedFinding = ([first, ...others]: FindingGroup): Finding => others.reduce(mergeTwo, first);

export const MAX_PLACES = 50;

/** The second one's lines become a further location. A suggestion is kept only with the lines that it was written for. */
export function mergeTwo(kept: Finding, other: Finding): Finding {
  const rule = kept.rule ?? other.rule;
  return {
    ...kept,
    ...(rule !== undefined && { rule }),
    severity: worseSeverity(kept, other),
    confidence: Math.max(kept.confidence, other.confidence),
    suggestion: kept.suggestion ?? sameLines(kept, other)?.suggestion ?? null,
    evidence: [...kept.evidence, ...inOtherWords(kept, other), ...other.evidence],
    places: withPlaces(kept, [locationOf(other), ...other.places]),
  };
}

/** The further locations of a finding with those of `more` that do not overlap any of its own. */
export function withPlaces(finding: Finding, more: readonly CodeLocation[]): CodeLocation[] {
  const places = [...finding.places];
  for (const place of more) {
    const isKnown = [locationOf(finding), ...places].some((one) => locationsOverlap(one, place));
    if (!isKnown && places.length < MAX_PLACES) places.push(place);
  }
  return places;
}

export const worseSeverity = (one: Pick<Finding, "severity">, other: Pick<Finding, "severity">) =>
  worstFirst(one, other) <= 0 ? one.severity : other.severity;

function sameLines(kept: Finding, other: Finding): Finding | null {
  const isSame = JSON.stringify(locationOf(kept)) === JSON.stringify(locationOf(other));
  return isSame ? other : null;
}

/** The second title as evidence, if it differs. Evidence can only name lines at head. */
function inOtherWords(kept: Finding, { path, side, line, start_line, title }: Finding): Evidence[] {
  if (side === "LEFT" || normalizedTitle(kept.title) === normalizedTitle(title)) return [];
  return [{ path, start_line: start_line ?? line, end_line: line, note: title }];
}

/** Joins groups that report the same problem. Keeps their order. */
export function groupEqual(groups: readonly FindingGroup[]): FindingGroup[] {
  const kept: FindingGroup[] = [];
  for (const group of groups) {
    const at = kept.findIndex(
      (known) => haveOneRule([...known, ...group]) && known.some((one) => isSameElsewhere(one, group[0])),
    );
    const known = kept[at];
    if (known) kept[at] = [...known, ...group];
    else kept.push(group);
  }
  return kept;
}

/** Groups duplicates, and one problem at several locations. Ids are replaced, because each loop has numbered its own. */
export function groupFindings(
  loops: readonly (readonly Finding[])[],
  identify: ReturnType<typeof createUniqueIds>,
): FindingGroup[] {
  return groupEqual(loops.flat().map((finding) => [{ ...finding, id: identify(finding) }]));
}

/** Lets a model join groups. A group is named by the id of its first finding. */
export function createJoiner(
  groups: readonly FindingGroup[],
): MergeSink & { groups(): readonly FindingGroup[] } {
  let left = [...groups];
  const withId = (id: string) => left.find(([first]) => first.id === id);
  return {
    groups: () => left,
    join(keep, others) {
      const kept = withId(keep);
      const unknown = [keep, ...others].find((id) => !withId(id));
      if (!kept || unknown !== undefined) {
        const known = left.map(([{ id }]) => id).join(", ");
        return { ok: false, reason: `there is no finding '${unknown?.slice(0, 40)}'; the ids are ${known}` };
      }
      const gone = left.filter((group) => group !== kept && others.includes(group[0].id));
      const all: FindingGroup = [...kept, ...gone.flat()];
      if (!haveOneRule(all))
        return {
          ok: false,
          reason: "they break different rules of this repository; findings of two rules stay two",
        };
      left = left.flatMap((group) => (group === kept ? [all] : gone.includes(group) ? [] : [group]));
      const added = mergedFinding(all).places.length - mergedFinding(kept).places.length;
      return { ok: true, note: `${gone.length} joined, ${added} of them as further places` };
    },
  };
}

interface PartSummary {
  name: string;
  paths: readonly string[];
  summary: string;
}

/** One that answers, and those that correct it. */
const TURNS = 4;
const TOKENS = 200_000;
const MAX_BODY = 600;
const MAX_FINDINGS_BYTES = 60_000;
const MAX_PARTS_BYTES = 30_000;
const MAX_OUTLINE_BYTES = 80_000;
const LEAST_OUTLINE_BYTES = 400;
const NAMED_PATHS = 12;
/** Share of the remaining tokens and time: verification follows. */
const SHARE = 0.4;

/**
 * One turn over all that was found: joins findings with one cause and, if the parts of the change were read apart, sweeps over the outline of its
 * diff for what no part reported. If it fails, the findings stay as they are.
 */
export async function mergePass(
  run: ReviewRun,
  groups: readonly FindingGroup[],
  parts: readonly PartSummary[],
  report: ReportPort["report"],
): Promise<{ groups: readonly FindingGroup[]; summary: string | null; lost: readonly LostReport[] }> {
  const model = run.deps.models.review;
  const watch = createReportWatch();
  const joiner = createJoiner(groups);
  let summary: string | null = null;
  await runLoop(run, {
    loop: "merge",
    role: "review",
    messages: openingMessages(mergePrompt, [
      partsSection(parts, roomFor(model, MAX_PARTS_BYTES, 0.1)),
      parts.length < 2 ? "" : await outlineSection(run, roomFor(model, MAX_OUTLINE_BYTES, 0.3)),
      findingsSection(groups.map(mergedFinding), roomFor(model, MAX_FINDINGS_BYTES, 0.3)),
    ]),
    outputTools: mergingTools,
    readingTools: [],
    ports: {
      join: joiner,
      report: {
        report,
        async finish(text) {
          summary = text;
          return { ok: true };
        },
      },
    },
    turns: Math.min(TURNS, run.input.limits.turns),
    tokens: Math.min(TOKENS, Math.ceil(run.limits.budget.tokensLeft() * SHARE)),
    milliseconds: run.limits.timeLeft() * SHARE,
    onCall: watch.saw,
  });
  return { groups: joiner.groups(), summary, lost: watch.lost() };
}

function partsSection(parts: readonly PartSummary[], maxBytes: number): string {
  if (parts.length < 2) return "";
  const text = parts.map(({ name, paths, summary }) => {
    const more = paths.length > NAMED_PATHS ? ` and ${paths.length - NAMED_PATHS} more files` : "";
    return `## Part ${name}: ${paths.slice(0, NAMED_PATHS).map(showPath).join(", ")}${more}\n${summary}`;
  });
  return `# The parts of the change, and what their reviewers say about them\n${cutWrapped("summaries of the parts", text.join("\n"), maxBytes)}`;
}

/** The changed lines of each file that is new to this review, production code first; of a file with more than its share of the room, the first. */
async function outlineSection({ change, deps }: ReviewRun, maxBytes: number): Promise<string> {
  const files = change.files
    .filter(
      ({ change: { path }, reviewable, reading }) =>
        reviewable && reading === "hunks" && change.known.hasNew(path),
    )
    .toSorted((a, b) => Number(isTestFile(a.change.path)) - Number(isTestFile(b.change.path)));
  const texts: string[] = [];
  let room = maxBytes;
  for (const [at, { change: file }] of files.entries()) {
    const share = Math.max(LEAST_OUTLINE_BYTES, Math.floor(room / (files.length - at)));
    if (room < LEAST_OUTLINE_BYTES) break;
    const { hunks } = await deps.diffs.fileDiff(file, 0);
    const { text, omittedLines } = cutAtLine(`## ${showPath(file.path)}\n${renderHunks(hunks)}`, share);
    texts.push(omittedLines > 0 ? `${text}\n[${omittedLines} more lines]` : text);
    room -= byteLength(text);
  }
  const left = files.length - texts.length;
  return `# The changed lines\n${wrapUntrusted("diff", texts.join("\n"))}${left > 0 ? `\n${left} more files had no room.` : ""}`;
}

function findingsSection(findings: readonly Finding[], maxBytes: number): string {
  if (findings.length === 0) return "# Findings\nNone so far.";
  const text = findings.map(({ id, path, line, side, severity, category, rule, title, body, places }) => {
    const also = places.map((place) => `, ${showPath(place.path)}:${place.line}`).join("");
    const where = `${showPath(path)}:${line}${side === "LEFT" ? " (removed)" : ""}${also}`;
    // Indented, because only the start of a line begins a finding: a text cannot forge one.
    const said = body.slice(0, MAX_BODY).replaceAll(/\s*[\n\r\u2028\u2029]\s*/g, "\n  ");
    return `${id} ${where} [${severity}, ${category}${rule === undefined ? "" : `, rule ${rule}`}] ${title.replaceAll(/\s+/g, " ")}\n  ${said}`;
  });
  return `# Findings (${findings.length})\n${cutWrapped("findings", text.join("\n\n"), maxBytes)}`;
}

function cutWrapped(source: string, text: string, maxBytes: number): string {
  const { text: kept, omittedLines } = cutAtLine(text, maxBytes);
  const more = omittedLines > 0 ? `\n${omittedLines} more lines had no room.` : "";
  return `${wrapUntrusted(source, kept)}${more}`;
}
