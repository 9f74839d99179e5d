import type { Finding } from "../../finding.ts";
import type { Message, ModelFacts } from "../../llm/model.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { mergingTools } from "../../tools/index.ts";
import { showPath } from "../../tools/show.ts";
import type { ReportPort } from "../../tools/tool.ts";
import { mergePrompt } from "../prompts/prompts.ts";
import type { ReviewRun } from "../review-run.ts";
import { runLoop } from "../run-loop.ts";
import { roomFor } from "../window.ts";
import { asOne, createJoiner, type Group } from "./join.ts";

/** What one part of the review says of itself. */
export interface PartSummary {
  /** "2", or the name of a lens. */
  name: string;
  paths: readonly string[];
  summary: string;
}

export interface Merged {
  groups: readonly Group[];
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
  groups: readonly Group[],
  parts: readonly PartSummary[],
  report: ReportPort["report"],
): Promise<Merged> {
  const joiner = createJoiner(groups);
  let summary: string | null = null;
  await runLoop(run, {
    loop: "merge",
    role: "summarize",
    messages: messagesFor(run.models.summarize, groups.map(asOne), parts),
    outlets: mergingTools,
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
    account: run.account,
    turns: Math.min(TURNS, run.input.limits.turns),
    tokens: Math.min(TOKENS, Math.ceil(run.account.tokensLeft() * SHARE)),
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
