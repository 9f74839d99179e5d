import { choosingTools } from "../../../agent/tools/index.ts";
import { atLeast, bySeverity, type Finding, isUndisputed } from "../../../core/finding.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import { showPath } from "../../../repo/show.ts";
import { isBlocking, isWanted, UNCHOSEN } from "../../anchor/placement.ts";
import type { ReviewRun } from "../../loop/review-run.ts";
import { cutText, openingMessages, runLoop } from "../../loop/run-loop.ts";
import { choosePrompt } from "../../prompts/prompts.ts";
import type { Choice } from "../../shapes/review-result.ts";

const MAX_FINDINGS = 40;
const MAX_BODY_BYTES = 1_500;
const TURNS = 3;
const TOKENS = 60_000;
const TIME_SHARE = 0.3;

/**
 * Asks a model once, over all new findings side by side, which of them become comments. It sees no word of the change itself: who writes a
 * persuasive description must not choose. Null if the maintainers set `comment_severity`, if there is nothing to choose, or without an answer.
 *
 * @param agreed ids of findings that two readers found
 */
export async function chooseComments(
  run: ReviewRun,
  fresh: readonly Finding[],
  agreed: ReadonlySet<string>,
): Promise<Choice | null> {
  const { config } = run.input;
  if (config.comment_severity !== "auto" || config.effort === "low") return null;
  const open = bySeverity(fresh.filter((one) => isOpen(one, run)).map((finding) => ({ finding })))
    .slice(0, MAX_FINDINGS)
    .map(({ finding }) => finding);
  // One that is a comment anyhow has nothing beside it.
  if (open.length === 0 || (open.length === 1 && open.every(({ severity }) => atLeast(severity, UNCHOSEN))))
    return null;
  let chosen: readonly number[] | null = null;
  await runLoop(run, {
    loop: "choose",
    role: "verify",
    messages: openingMessages(choosePrompt, [
      `# Findings (${open.length})`,
      ...open.map((finding, at) => section(finding, at + 1, agreed.has(finding.id))),
    ]),
    outputTools: choosingTools,
    readingTools: [],
    ports: {
      choose: {
        choose(comments) {
          const unknown = comments.find((number) => number > open.length);
          if (unknown !== undefined)
            return { ok: false, reason: `there is no finding ${unknown}; the last one is ${open.length}` };
          chosen = comments;
          return { ok: true };
        },
      },
    },
    turns: TURNS,
    tokens: TOKENS,
    milliseconds: run.limits.timeLeft() * TIME_SHARE,
  });
  if (chosen === null) return null;
  const numbers = new Set<number>(chosen);
  return {
    asked: open.map(({ id }) => id),
    comments: open.flatMap(({ id }, at) => (numbers.has(at + 1) ? [id] : [])),
  };
}

/** Certain findings, breaches of blocking rules and confirmed critical findings are comments whatever a model chooses. */
function isOpen(finding: Finding, { input: { config } }: ReviewRun): boolean {
  const isGrave = finding.severity === "critical" && finding.verification === "confirmed";
  return !isUndisputed(finding) && !isGrave && !isBlocking(finding, config) && isWanted(finding, config);
}

function section(finding: Finding, number: number, isAgreed: boolean): string {
  const { path, line, quote, severity, category, title, body, verification, verification_note } = finding;
  const look = verification === "unverified" ? "There was no second look." : `Second look: ${verification}.`;
  const facts = [
    `Severity ${severity}, ${category}.`,
    finding.reached ? "" : "Nothing reaches it yet.",
    look,
    isAgreed ? "Two readers found it independently." : "",
  ];
  const text = [
    `${showPath(path)}:${line} ${title}`,
    cutText(quote, MAX_BODY_BYTES / 3),
    cutText(body, MAX_BODY_BYTES),
    ...(verification_note === null
      ? []
      : [
          `The second look says when it goes wrong, and what it read: ${cutText(verification_note, MAX_BODY_BYTES / 2)}`,
        ]),
  ];
  return `## Finding ${number}\n${facts.filter((fact) => fact !== "").join(" ")}\n${wrapUntrusted("finding", text.join("\n\n"))}`;
}
