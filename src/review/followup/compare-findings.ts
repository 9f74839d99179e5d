import { type Finding, isUndisputed, type Side, worstFirst } from "../../finding.ts";
import { codeHash } from "../../ledger/code-hash.ts";
import { textBelowTitle } from "../../ledger/comment-title.ts";
import type { Message, ModelFacts } from "../../llm/model.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { comparingTools } from "../../tools/index.ts";
import { showPath } from "../../tools/show.ts";
import type { DuplicateSink } from "../../tools/tool.ts";
import type { AnchorFile } from "../find/anchor.ts";
import { titlesAlike } from "../find/fingerprint.ts";
import type { LineRange } from "../find/quote.ts";
import { definitionNamed } from "../find/symbols.ts";
import { comparePrompt } from "../prompts/prompts.ts";
import type { PriorFinding } from "../review-input.ts";
import type { ChangeUnderReview, ReviewRun } from "../review-run.ts";
import { roomFor, runLoop } from "../run-loop.ts";
import {
  certainPairs,
  isBare,
  isNearOldLines,
  isSameFile,
  overlaps,
  type PriorLocations,
} from "./certain-pairs.ts";

/** Two that may tell of one problem: who knows both texts can say. */
interface NearCollision<Earlier extends PriorFinding = PriorFinding> {
  finding: Finding;
  earlier: Earlier;
  /** Both stand on the same lines. */
  isSamePlace: boolean;
}

/** What a person dismissed is not told again in other words of the lines beside. */
const DISMISSED_LINES = 10;

/**
 * Findings and earlier ones that no rule makes a pair of and that may be one all the same. An open one that has its pair is
 * left out, a dismissed one is not: whoever said that it stays as it is meant all ways to put it.
 */
export function nearCollisions<Earlier extends PriorFinding>(
  findings: readonly Finding[],
  earlier: readonly Earlier[],
  facts: PriorLocations,
  paired: ReadonlyMap<Finding, PriorFinding>,
): NearCollision<Earlier>[] {
  const taken = new Set(paired.values());
  const left = earlier.filter(
    (one) => one.state !== "fixed" && !isBare(one) && (one.state === "dismissed" || !taken.has(one)),
  );
  const about = (one: Earlier, path: string) => [one.path, ...one.files].map(facts.firstName).includes(path);
  return findings
    .filter((finding) => !paired.has(finding))
    .flatMap((finding) => {
      const path = facts.firstName(finding.path);
      return left.filter((one) => about(one, path)).flatMap((one) => collision(finding, one, facts) ?? []);
    });
}

function collision<Earlier extends PriorFinding>(
  finding: Finding,
  earlier: Earlier,
  facts: PriorLocations,
): NearCollision<Earlier> | null {
  if (facts.firstName(finding.path) !== facts.firstName(earlier.path)) {
    return isOtherEnd(finding, earlier, facts) ? { finding, earlier, isSamePlace: false } : null;
  }
  const place = facts.locationOf(earlier);
  const isSamePlace = place !== null && isSameFile(finding, earlier, facts) && overlaps(finding, place);
  const isNear =
    isSamePlace ||
    (place === null && (isOfThatCode(finding, earlier, facts) || isSaidNear(finding, earlier, facts))) ||
    (earlier.state === "outdated" && hasSymbolOf(finding, earlier)) ||
    (earlier.state === "dismissed" && isBeside(finding, earlier, place?.end ?? null));
  return isNear ? { finding, earlier, isSamePlace } : null;
}

/** Two files that go wrong together: each of both names the other one as evidence, or both say the same. */
const isOtherEnd = (finding: Finding, earlier: PriorFinding, { firstName }: PriorLocations) =>
  finding.evidence.some(({ path }) => firstName(path) === firstName(earlier.path)) ||
  titlesAlike(finding.title, earlier.title);

/** The same code under another category. */
const isOfThatCode = (finding: Finding, earlier: PriorFinding, facts: PriorLocations) =>
  earlier.code !== null && isSameFile(finding, earlier, facts) && codeHash(finding.quote) === earlier.code;

/** In a definition of another name, which may be the old one renamed. */
const isSaidNear = (finding: Finding, earlier: PriorFinding, facts: PriorLocations) =>
  isSameFile(finding, earlier, facts) &&
  isNearOldLines(finding, earlier) &&
  titlesAlike(finding.title, earlier.title);

const hasSymbolOf = ({ symbol }: Finding, earlier: PriorFinding) =>
  symbol !== null && symbol === earlier.symbol;

function isBeside(finding: Finding, earlier: PriorFinding, now: number | null): boolean {
  const line = now ?? earlier.line ?? earlier.original_line;
  return hasSymbolOf(finding, earlier) || (line !== null && Math.abs(line - finding.line) <= DISMISSED_LINES);
}

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
async function askSame<Collision extends NearCollision>(
  run: ReviewRun,
  collisions: readonly Collision[],
): Promise<readonly Collision[] | null> {
  const question = putQuestion(collisions, run.models.summarize);
  let same: readonly Collision[] | null = null;
  const compare: DuplicateSink = {
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
    outputTools: comparingTools,
    hasNoReadingTools: true,
    ports: {
      report: {
        report: async () => ({ ok: false, reason: "nothing is reported here; name the pairs" }),
        finish: async () => ({ ok: false, reason: "nothing is finished here; name the pairs" }),
      },
      compare,
    },
    coverage: { serve: () => {} },
    budget: run.budget,
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
const nameOf = ({ comment, id }: PriorFinding) => (comment === null ? id : String(comment));

/** Each has its part of the room, so that a long one leaves some to the others. */
function list(source: string, texts: readonly string[], room: number): string {
  const each = Math.floor(room / texts.length);
  return wrapUntrusted(source, texts.map((text) => cutAtLine(text, each).text).join("\n\n"));
}

function findingText({ id, path, side, line, symbol, severity, category, title, body }: Finding): string {
  const where = `${showPath(path)}:${line}${removed(side)}${inside(symbol)}`;
  return `${id} ${where} [${severity}, ${category}] ${oneLine(title)}\n  ${indented(body, MAX_SAID)}`;
}

function earlierText(earlier: PriorFinding): string {
  const { path, symbol, state, severity, category, title, text, replies } = earlier;
  const where = `${showPath(path)}${lineOf(earlier)}${inside(symbol)}`;
  const kind = [severity, category, state].filter((one) => one !== null).join(", ");
  const answers = replies
    .slice(-MAX_REPLIES)
    .map((reply) => `\n  A person replied: ${indented(reply, MAX_REPLY)}`);
  return `${nameOf(earlier)} ${where} [${kind}] ${oneLine(title)}\n  ${indented(textBelowTitle(text), MAX_SAID)}${answers.join("")}`;
}

/** The number that a line had when its comment was made says nothing of where it would be now. */
function lineOf({ side, line, original_line }: PriorFinding): string {
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

/** Reads where the code of earlier findings stands now; renamed files go by the name that they had at the merge base. */
export async function readFacts(
  { files, anchorFile }: Pick<ChangeUnderReview, "files" | "anchorFile">,
  earlier: readonly PriorFinding[],
): Promise<PriorLocations> {
  const firstNames = new Map(files.map(({ change }) => [change.path, change.oldPath ?? change.path]));
  const places = new Map<PriorFinding, LineRange | null>();
  for (const one of earlier) {
    const isGone = one.state === "fixed" || one.path === "";
    places.set(one, isGone ? null : await locate(await anchorFile(one.path), one));
  }
  return {
    firstName: (path) => firstNames.get(path) ?? path,
    locationOf: (one) => places.get(one) ?? null,
  };
}

/** Which of this run's findings an earlier one tells of already, each with that one. */
type Repeats<Earlier extends PriorFinding = PriorFinding> = ReadonlyMap<Finding, Earlier>;

/** The worst are asked about first. */
const MOST_QUESTIONS = 60;

/**
 * Compares the findings of a run with those of earlier ones: what is certain by rules, what stands close together by one
 * question to a model. What no model decides about is compared by rules alone: it would be silenced by whoever says that it was told.
 *
 * @param run null where no model can be asked
 */
export async function compareFindings<Earlier extends PriorFinding>(
  run: ReviewRun | null,
  findings: readonly Finding[],
  earlier: readonly Earlier[],
  facts: PriorLocations,
): Promise<Repeats<Earlier>> {
  const repeats = certainPairs(findings, earlier, facts);
  const disputed = findings.filter((one) => !isUndisputed(one));
  const collisions = nearCollisions(disputed, earlier, facts, repeats).toSorted((a, b) =>
    worstFirst(a.finding, b.finding),
  );
  const asked = run ? collisions.slice(0, MOST_QUESTIONS) : [];
  const same = run && asked.length > 0 ? await askSame(run, asked) : null;
  const unanswered = same === null ? collisions : collisions.slice(asked.length);
  // Whoever dismissed something mild has not spoken of anything worse.
  const assumed = unanswered.filter(
    ({ isSamePlace, earlier: one, finding }) =>
      isSamePlace && one.state === "dismissed" && worstFirst(finding, one) >= 0,
  );
  const taken = new Set<Earlier>(repeats.values());
  for (const { finding, earlier: one } of [...(same ?? []), ...assumed]) {
    // A dismissed one stands for all restatements of it, an open one for a single finding.
    if (repeats.has(finding) || (one.state !== "dismissed" && taken.has(one))) continue;
    repeats.set(finding, one);
    taken.add(one);
  }
  return repeats;
}

/** Lines around the old place in which moved code is looked for, where the definition that it stood in is not known. */
const AROUND = 150;
/** Of a file whose place was never known, or of a long definition, the first lines alone are looked at. */
const MOST_LINES = 1_000;
/** A finding of more lines is not looked for elsewhere. */
const WINDOW = 8;
const MAX_LINE_LENGTH = 1_000;

type Told = Pick<PriorFinding, "side" | "line" | "start_line" | "original_line" | "symbol" | "code">;

/**
 * Where the code of an earlier finding stands now: where GitHub says, if it is still that code; else the nearest place in its
 * definition, or around the old lines, that has it. Null where it is gone, and where nobody can tell.
 */
export async function locate(file: AnchorFile | undefined, told: Told): Promise<LineRange | null> {
  const { side, line, start_line, code } = told;
  const lines = file?.lines[side] ?? null;
  if (!file || lines === null) return null;
  if (line !== null && line <= lines.length) {
    const place = { start: start_line ?? line, end: line };
    if (code === null || codeHash(lines.slice(place.start - 1, place.end).join("\n")) === code) return place;
  }
  if (code === null) return null;
  return nearest(lines, code, await searched(file, lines, told), line ?? told.original_line);
}

async function searched(
  { path }: AnchorFile,
  lines: readonly string[],
  { symbol, line, original_line }: Told,
): Promise<LineRange> {
  const near = line ?? original_line;
  const definition = symbol === null ? null : await definitionNamed(path, lines, symbol, near);
  const around =
    near === null ? { start: 1, end: lines.length } : { start: near - AROUND, end: near + AROUND };
  const { start, end } = definition ?? around;
  const first = Math.max(1, start);
  return { start: first, end: Math.min(end, lines.length, first + MOST_LINES) };
}

/** Of all places that have the code the one nearest to a line. */
function nearest(
  lines: readonly string[],
  code: string,
  { start: from, end: to }: LineRange,
  near: number | null,
): LineRange | null {
  const distance = ({ end }: LineRange) => (near === null ? 0 : Math.abs(end - near));
  let best: LineRange | null = null;
  for (let start = from; start <= to; start++) {
    for (let end = start; end <= Math.min(to, start + WINDOW - 1); end++) {
      if ((lines[end - 1] ?? "").length > MAX_LINE_LENGTH) break;
      if (isBlank(lines[start - 1]) || isBlank(lines[end - 1])) continue;
      const place = { start, end };
      if (best && distance(place) >= distance(best)) continue;
      if (codeHash(lines.slice(start - 1, end).join("\n")) === code) best = place;
    }
  }
  return best;
}

const isBlank = (line: string | undefined) => line === undefined || line.trim() === "";
