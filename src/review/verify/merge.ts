import { type Evidence, type Finding, worstFirst } from "../../finding.ts";
import type { Message, ModelFacts } from "../../llm/model.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { mergingTools } from "../../tools/index.ts";
import { showPath } from "../../tools/show.ts";
import type { MergeSink, ReportPort } from "../../tools/tool.ts";
import {
  type createUniqueIds,
  isSameElsewhere,
  locationOf,
  locationsOverlap,
  normalizedTitle,
} from "../find/fingerprint.ts";
import { mergePrompt } from "../prompts/prompts.ts";
import type { ReviewRun } from "../review-run.ts";
import { roomFor, runLoop } from "../run-loop.ts";

/**
 * Findings with one cause. The first speaks for all of them; the others are kept as they are, for a second look that does not
 * believe the first has said nothing of the others.
 */
export type FindingGroup = readonly [Finding, ...Finding[]];

/** A group as people read it. */
export const mergedFinding = ([first, ...others]: FindingGroup): Finding => others.reduce(mergeTwo, first);

/** Places of one finding that are kept; a problem that stands in more is told by the first of them. */
export const MAX_PLACES = 50;

/**
 * One finding of two with the same cause: the lines of the second become a further place unless the first has them. The worse
 * severity and the higher confidence of both count, and a suggestion is kept only with the lines that it was written for.
 */
export function mergeTwo(kept: Finding, other: Finding): Finding {
  const places = [...kept.places];
  for (const place of [locationOf(other), ...other.places]) {
    const isKnown = [locationOf(kept), ...places].some((one) => locationsOverlap(one, place));
    if (!isKnown && places.length < MAX_PLACES) places.push(place);
  }
  return {
    ...kept,
    severity: worseSeverity(kept, other),
    confidence: Math.max(kept.confidence, other.confidence),
    suggestion: kept.suggestion ?? sameLines(kept, other)?.suggestion ?? null,
    evidence: [...kept.evidence, ...inOtherWords(kept, other), ...other.evidence],
    places,
  };
}

export const worseSeverity = (one: Pick<Finding, "severity">, other: Pick<Finding, "severity">) =>
  worstFirst(one, other) <= 0 ? one.severity : other.severity;

function sameLines(kept: Finding, other: Finding): Finding | null {
  const isSame = JSON.stringify(locationOf(kept)) === JSON.stringify(locationOf(other));
  return isSame ? other : null;
}

/** What the second says of its lines at head where it says something else; evidence knows no other lines. */
function inOtherWords(kept: Finding, { path, side, line, start_line, title }: Finding): Evidence[] {
  if (side === "LEFT" || normalizedTitle(kept.title) === normalizedTitle(title)) return [];
  return [{ path, start_line: start_line ?? line, end_line: line, note: title }];
}

/** Groups that hold findings which say the same become one; the first of them is kept, and their order. */
export function groupEqual(groups: readonly FindingGroup[]): FindingGroup[] {
  const kept: FindingGroup[] = [];
  for (const group of groups) {
    const at = kept.findIndex((known) => known.some((one) => isSameElsewhere(one, group[0])));
    const known = kept[at];
    if (known) kept[at] = [...known, ...group];
    else kept.push(group);
  }
  return kept;
}

/**
 * The findings of several loops as those of one review, in their order: what two loops found at one place is one group, and so
 * is what says the same of several places. Ids are given anew, for loops that ran beside each other gave them without knowing
 * of each other.
 *
 * @param identify gives ids that are unique within the review
 */
export function groupFindings(
  loops: readonly (readonly Finding[])[],
  identify: ReturnType<typeof createUniqueIds>,
): FindingGroup[] {
  return groupEqual(loops.flat().map((finding) => [{ ...finding, id: identify(finding) }]));
}

/** Lets a model join findings that say the same in other words. A group goes by the id of its first finding. */
interface Joiner extends MergeSink {
  groups(): readonly FindingGroup[];
}

export function createJoiner(groups: readonly FindingGroup[]): Joiner {
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
      left = left.flatMap((group) => (group === kept ? [all] : gone.includes(group) ? [] : [group]));
      const added = mergedFinding(all).places.length - mergedFinding(kept).places.length;
      return { ok: true, note: `${gone.length} joined, ${added} of them as further places` };
    },
  };
}

/** What one part of the review says of itself. */
interface PartSummary {
  /** "2", or the name of a lens. */
  name: string;
  paths: readonly string[];
  summary: string;
}

interface Merged {
  groups: readonly FindingGroup[];
  /** Null when the pass did not finish. */
  summary: string | null;
}

const TURNS = 12;
const TOKENS = 300_000;
const MAX_BODY = 600;
const MAX_FINDINGS_BYTES = 60_000;
const MAX_PARTS_BYTES = 30_000;
const NAMED_PATHS = 12;
/** Of the tokens and the time that are left: each finding is still to be looked at again. */
const SHARE = 0.4;

/**
 * Lets a model join findings with one cause and look at what crosses the parts that were reviewed apart. What it does not
 * get to stays as it is: a pass that fails loses nothing.
 *
 * @param report takes what the pass itself finds
 */
export async function mergePass(
  run: ReviewRun,
  groups: readonly FindingGroup[],
  parts: readonly PartSummary[],
  report: ReportPort["report"],
): Promise<Merged> {
  const joiner = createJoiner(groups);
  let summary: string | null = null;
  await runLoop(run, {
    loop: "merge",
    role: "summarize",
    messages: messagesFor(run.models.summarize, groups.map(mergedFinding), parts),
    outputTools: mergingTools,
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
    coverage: { serve: () => {} },
    budget: run.budget,
    turns: Math.min(TURNS, run.input.limits.turns),
    tokens: Math.min(TOKENS, Math.ceil(run.budget.tokensLeft() * SHARE)),
    milliseconds: run.timeLeft() * SHARE,
  });
  return { groups: joiner.groups(), summary };
}

function messagesFor(
  model: ModelFacts,
  findings: readonly Finding[],
  parts: readonly PartSummary[],
): Message[] {
  const sections = [
    partsSection(parts, roomFor(model, MAX_PARTS_BYTES, 0.15)),
    findingsSection(findings, roomFor(model, MAX_FINDINGS_BYTES, 0.3)),
  ];
  return [
    { role: "system", content: mergePrompt },
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}

function partsSection(parts: readonly PartSummary[], maxBytes: number): string {
  if (parts.length < 2) return "";
  const text = parts.map(({ name, paths, summary }) => {
    const more = paths.length > NAMED_PATHS ? ` and ${paths.length - NAMED_PATHS} more files` : "";
    return `## Part ${name}: ${paths.slice(0, NAMED_PATHS).map(showPath).join(", ")}${more}\n${summary}`;
  });
  return `# The parts of the change, and what their reviewers say of them\n${cutWrapped("summaries of the parts", text.join("\n"), maxBytes)}`;
}

function findingsSection(findings: readonly Finding[], maxBytes: number): string {
  if (findings.length === 0) return "# Findings\nNone so far.";
  const text = findings.map(({ id, path, line, side, severity, category, title, body, places }) => {
    const also = places.map((place) => `, ${showPath(place.path)}:${place.line}`).join("");
    const where = `${showPath(path)}:${line}${side === "LEFT" ? " (removed)" : ""}${also}`;
    // Only what begins a line is a finding, whatever its text quotes.
    const said = body.slice(0, MAX_BODY).replaceAll(/\s*[\n\r\u2028\u2029]\s*/g, "\n  ");
    return `${id} ${where} [${severity}, ${category}] ${title.replaceAll(/\s+/g, " ")}\n  ${said}`;
  });
  return `# Findings (${findings.length})\n${cutWrapped("findings", text.join("\n\n"), maxBytes)}`;
}

function cutWrapped(source: string, text: string, maxBytes: number): string {
  const { text: kept, omittedLines } = cutAtLine(text, maxBytes);
  const more = omittedLines > 0 ? `\n${omittedLines} more lines had no room.` : "";
  return `${wrapUntrusted(source, kept)}${more}`;
}
