import type { Finding, Side } from "../../finding.ts";
import { textBelowTitle } from "../../ledger/entry.ts";
import type { Message, ModelFacts } from "../../llm/model.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { comparingTools } from "../../tools/index.ts";
import { showPath } from "../../tools/show.ts";
import type { ComparePort } from "../../tools/tool.ts";
import { comparePrompt } from "../prompts/prompts.ts";
import type { EarlierFinding } from "../review-input.ts";
import type { ReviewRun } from "../review-run.ts";
import { runLoop } from "../run-loop.ts";
import { roomFor } from "../window.ts";
import type { NearCollision } from "./near-collisions.ts";

const TURNS = 2;
const TOKENS = 100_000;
const TIME_SHARE = 0.2;
const MAX_LIST_BYTES = 40_000;
const MAX_SAID = 500;
const MAX_REPLY = 300;
const MAX_REPLIES = 3;

/**
 * Asks a model, once for all of them, which near-collisions tell of one problem. Null where there is no answer: the model
 * failed, or there is nothing left to ask it with.
 */
export async function askSame<Collision extends NearCollision>(
  run: ReviewRun,
  collisions: readonly Collision[],
): Promise<readonly Collision[] | null> {
  const question = putQuestion(collisions, run.models.summarize);
  let same: readonly Collision[] | null = null;
  const compare: ComparePort = {
    same(pairs) {
      const found = pairs.map((pair) => question.collisionOf(pair.finding, pair.earlier));
      const unknown = pairs[found.indexOf(undefined)];
      if (unknown) {
        const name = `${unknown.finding.slice(0, 20)} and ${unknown.earlier.slice(0, 20)}`;
        return { ok: false, reason: `${name} are no listed pair; take pairs as the list has them` };
      }
      same = found.filter((one) => one !== undefined);
      return { ok: true };
    },
  };
  await runLoop(run, {
    loop: "compare",
    role: "summarize",
    messages: question.messages,
    outlets: comparingTools,
    isTold: true,
    ports: {
      report: {
        report: async () => ({ ok: false, reason: "nothing is reported here; name the pairs" }),
        finish: async () => ({ ok: false, reason: "nothing is finished here; name the pairs" }),
      },
      compare,
    },
    coverage: { serve: () => {} },
    account: run.account,
    turns: Math.min(TURNS, run.input.limits.turns),
    tokens: TOKENS,
    milliseconds: run.timeLeft() * TIME_SHARE,
  });
  return same;
}

interface Question<Collision> {
  messages: Message[];
  /** The collision of two names; undefined where they were not asked for together. */
  collisionOf(finding: string, earlier: string): Collision | undefined;
}

function putQuestion<Collision extends NearCollision>(
  collisions: readonly Collision[],
  model: ModelFacts,
): Question<Collision> {
  const findings = [...new Set(collisions.map(({ finding }) => finding))];
  const earlier = [...new Set(collisions.map((one) => one.earlier))];
  const room = roomFor(model, MAX_LIST_BYTES, 0.2);
  const sections = [
    `# New findings\n${list("new findings", findings.map(findingText), room)}`,
    `# Earlier comments\n${list("earlier comments and their replies", earlier.map(earlierText), room)}`,
    `# Pairs to decide\n${collisions.map((one) => `${one.finding.id} and ${nameOf(one.earlier)}`).join("\n")}`,
  ];
  return {
    messages: [
      { role: "system", content: comparePrompt },
      { role: "user", content: sections.join("\n\n") },
    ],
    collisionOf: (finding, other) =>
      collisions.find((one) => one.finding.id === finding && nameOf(one.earlier) === other),
  };
}

/** The same whatever else is asked: an answer that was recorded is understood by it. */
const nameOf = ({ comment, id }: EarlierFinding) => (comment === null ? id : String(comment));

/** Each has its part of the room, so that a long one leaves some to the others. */
function list(source: string, texts: readonly string[], room: number): string {
  const each = Math.floor(room / texts.length);
  return wrapUntrusted(source, texts.map((text) => cutAtLine(text, each).text).join("\n\n"));
}

function findingText({ id, path, side, line, symbol, severity, category, title, body }: Finding): string {
  const where = `${showPath(path)}:${line}${removed(side)}${inside(symbol)}`;
  return `${id} ${where} [${severity}, ${category}] ${oneLine(title)}\n  ${indented(body, MAX_SAID)}`;
}

function earlierText(earlier: EarlierFinding): string {
  const { path, symbol, state, severity, category, title, text, replies } = earlier;
  const where = `${showPath(path)}${lineOf(earlier)}${inside(symbol)}`;
  const kind = [severity, category, state].filter((one) => one !== null).join(", ");
  const answers = replies
    .slice(-MAX_REPLIES)
    .map((reply) => `\n  A person replied: ${indented(reply, MAX_REPLY)}`);
  return `${nameOf(earlier)} ${where} [${kind}] ${oneLine(title)}\n  ${indented(textBelowTitle(text), MAX_SAID)}${answers.join("")}`;
}

/** The number that a line had when its comment was made says nothing of where it would be now. */
function lineOf({ side, line, original_line }: EarlierFinding): string {
  if (line !== null) return `:${line}${removed(side)}`;
  return original_line === null ? "" : ` (line ${original_line}${removed(side)} when it was posted)`;
}

const removed = (side: Side) => (side === "LEFT" ? " (removed)" : "");
const inside = (symbol: string | null) => (symbol === null ? "" : ` in ${oneLine(symbol)}`);

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim().slice(0, MAX_SAID);

/** Only what begins a line is an entry, whatever its text quotes. */
const indented = (text: string, most: number) =>
  text
    .slice(0, most)
    .toWellFormed()
    .trim()
    .replaceAll(/\s*[\n\r\u2028\u2029]\s*/g, "\n  ");
