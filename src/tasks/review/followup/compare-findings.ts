import { comparingTools } from "../../../agent/tools/index.ts";
import type { DuplicateSink } from "../../../agent/tools/tool.ts";
import {
  type CodeLocation,
  type Finding,
  isCertain,
  isUndisputed,
  type Side,
  worstFirst,
} from "../../../core/finding.ts";
import { codeHash, type PostedFinding, textBelowTitle } from "../../../core/ledger/entry.ts";
import { cutAtLine } from "../../../core/text/cut.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import { showPath } from "../../../repo/show.ts";
import type { AnchorFile } from "../../anchor/anchor.ts";
import { fingerprintIn, titlesAlike } from "../../anchor/fingerprint.ts";
import type { LineRange } from "../../anchor/quote.ts";
import { definitionNamed } from "../../anchor/symbols.ts";
import type { ChangeFiles, ReviewRun } from "../../loop/review-run.ts";
import { openingMessages, roomFor, runLoop } from "../../loop/run-loop.ts";
import { comparePrompt } from "../../prompts/prompts.ts";

/** Where the code of earlier findings is now. */
export interface PriorLocations {
  /** The name of a file at the merge base, for either of its names. */
  firstName(path: string): string;
  /** The current lines of an earlier finding's code; null if the code is gone. */
  locationOf(earlier: PostedFinding): LineRange | null;
}

/** Changed code is searched within this distance of the old line, if its definition is unknown. */
const NEAR_LINES = 30;

/** Kinds of evidence that both are one problem, the strongest first. */
const sureness = ["id", "place", "words", "moved"] as const;

interface Pair {
  finding: Finding;
  earlier: PostedFinding;
  by: (typeof sureness)[number];
  distance: number;
}

/**
 * Pairs new findings with earlier ones if rules can decide: by fingerprint; by the code of a further location; or by the same lines,
 * or lines that the old code has left, with similar titles. Each earlier finding gets one partner, the nearest of several. If its
 * code is still at another location, it is another problem, whatever the titles say. A fixed finding gets no partner: a problem
 * that returns is new.
 */
export function certainPairs(
  findings: readonly Finding[],
  earlier: readonly PostedFinding[],
  facts: PriorLocations,
): Map<Finding, PostedFinding> {
  const alive = earlier.filter(({ state }) => state !== "fixed");
  // Tools may report thousands of findings beside thousands of earlier ones.
  const byId = Map.groupBy(alive, ({ id }) => fingerprintIn(id));
  const byPath = Map.groupBy(alive, ({ path }) => facts.firstName(path));
  const pairs = findings.flatMap((finding) => {
    const paths = [finding, ...finding.places].flatMap(({ path }) => byPath.get(facts.firstName(path)) ?? []);
    return [...new Set([...(byId.get(fingerprintIn(finding.id)) ?? []), ...paths])].flatMap((one): Pair[] => {
      const by = howSure(finding, one, facts);
      return by === null ? [] : [{ finding, earlier: one, by, distance: distanceTo(finding, one, facts) }];
    });
  });
  const rank = ({ by }: Pair) => sureness.indexOf(by);
  const partners = new Map<Finding, PostedFinding>();
  const taken = new Set<PostedFinding>();
  for (const pair of pairs.toSorted((a, b) => rank(a) - rank(b) || a.distance - b.distance)) {
    if (partners.has(pair.finding) || taken.has(pair.earlier)) continue;
    partners.set(pair.finding, pair.earlier);
    taken.add(pair.earlier);
  }
  return partners;
}

/** True for a deleted comment, of which only the id is known. */
export const isBare = ({ comment, state, path }: PostedFinding) =>
  comment === null && state === "dismissed" && path === "";

const isSameCode = (finding: Finding, earlier: PostedFinding) =>
  fingerprintIn(finding.id) === fingerprintIn(earlier.id);

function howSure(finding: Finding, earlier: PostedFinding, facts: PriorLocations): Pair["by"] | null {
  if (!mayBeSame(finding, earlier) || !isCovered(finding, earlier, facts)) return null;
  const isEqual = isSameCode(finding, earlier);
  if (isBare(earlier)) return isEqual ? "id" : null;
  const place = facts.locationOf(earlier);
  const isAt = (one: CodeLocation | Finding) =>
    isSameFile(one, earlier, facts) && (place === null || overlaps(one, place));
  if (isEqual && (place === null || [finding, ...finding.places].some(isAt))) return "id";
  // A problem at several locations is listed at the first one, which may change from push to push.
  const isPlace = (one: CodeLocation) => isAt(one) && codeHash(one.quote) === earlier.code;
  if (earlier.category === finding.category && finding.places.some(isPlace)) return "place";
  const isThere = place === null ? isNearOld(finding, earlier) : isAt(finding);
  if (!isSameFile(finding, earlier, facts) || !isThere) return null;
  if (!titlesAlike(finding.title, earlier.title)) return null;
  return place === null ? "moved" : "words";
}

/**
 * Whether an earlier finding can match this one at all. A certain finding matches only the same rule: otherwise an injected text
 * could make a model post a comment that, once dismissed, suppresses it. For the same reason a dismissal of a certain finding holds
 * only for the same code.
 */
function mayBeSame(finding: Finding, earlier: PostedFinding): boolean {
  if (!mayRepeat(finding, earlier)) return false;
  if (!isCertain(finding)) return !isCertain(earlier);
  if (isBare(earlier)) return finding.id === earlier.id;
  return earlier.source === finding.source && (earlier.state !== "dismissed" || isSameCode(finding, earlier));
}

/**
 * Whether the earlier finding was not dismissed, or its dismissal covers this one: a person has seen that code under that severity, and
 * nothing worse, and no other code that took its place.
 */
function isCovered(finding: Finding, earlier: PostedFinding, { locationOf }: PriorLocations): boolean {
  if (earlier.state !== "dismissed" || isBare(earlier)) return true;
  if (worstFirst(finding, earlier) < 0) return false;
  return (
    isSameCode(finding, earlier) ||
    locationOf(earlier) !== null ||
    [finding, ...finding.places].some(({ quote }) => codeHash(quote) === earlier.code)
  );
}

/**
 * Whether the rules of two findings allow that they are one. A breach of a rule repeats only breaches of that rule: otherwise the dismissal
 * of a remark would unblock it. A finding without a rule may repeat a comment on a breach, and takes over its rule (`underRuleOf`).
 */
export function mayRepeat({ rule }: Pick<Finding, "rule">, earlier: PostedFinding): boolean {
  // Of a deleted comment the rule is not known.
  if (isBare(earlier) || rule === earlier.rule) return true;
  return rule === undefined && earlier.comment !== null;
}

/** The finding with the rule of the comment that it repeats, and at least its severity. */
export const underRuleOf = (finding: Finding, { rule, severity }: PostedFinding): Finding =>
  rule === undefined
    ? finding
    : { ...finding, rule, severity: worstFirst(finding, { severity }) <= 0 ? finding.severity : severity };

const isSameFile = (
  one: { path: string; side: Side },
  other: { path: string; side: Side },
  { firstName }: PriorLocations,
): boolean => one.side === other.side && firstName(one.path) === firstName(other.path);

function overlaps(
  { start_line, line }: { start_line: number | null; line: number },
  { start, end }: LineRange,
): boolean {
  return (start_line ?? line) <= end && start <= line;
}

/** Whether it is at the place of the old code, which is gone. */
const isNearOld = (finding: Finding, earlier: PostedFinding) =>
  finding.symbol !== null && earlier.symbol !== null
    ? finding.symbol === earlier.symbol
    : isWithin(NEAR_LINES, finding, oldLine(earlier));

const oldLine = ({ line, original_line }: PostedFinding) => line ?? original_line;

const isWithin = (lines: number, finding: Finding, line: number | null) =>
  line !== null && Math.abs(line - finding.line) <= lines;

const FAR = Number.MAX_SAFE_INTEGER;

function distanceTo(finding: Finding, earlier: PostedFinding, facts: PriorLocations): number {
  if (isBare(earlier) || !isSameFile(finding, earlier, facts)) return FAR;
  const place = facts.locationOf(earlier);
  if (place) return Math.abs(place.end - finding.line);
  const old = oldLine(earlier);
  return old === null ? FAR : FAR / 2 + Math.abs(old - finding.line);
}

/** A pair that may be one problem; a model must compare the texts. */
interface NearCollision {
  finding: Finding;
  earlier: PostedFinding;
}

/** A dismissed problem must not return in other words within this distance. */
const DISMISSED_LINES = 10;

/** An open earlier finding with a partner is left out; a dismissed one is not, because a dismissal covers all restatements. */
export function nearCollisions(
  findings: readonly Finding[],
  earlier: readonly PostedFinding[],
  facts: PriorLocations,
  paired: ReadonlyMap<Finding, PostedFinding>,
): NearCollision[] {
  const taken = new Set(paired.values());
  const left = earlier.filter(
    (one) => one.state !== "fixed" && !isBare(one) && (one.state === "dismissed" || !taken.has(one)),
  );
  const names = (one: PostedFinding) => [one.path, ...one.files].map(facts.firstName);
  return findings
    .filter((finding) => !paired.has(finding))
    .flatMap((finding) =>
      left
        .filter((one) => names(one).includes(facts.firstName(finding.path)))
        .filter((one) => mayRepeat(finding, one) && isCovered(finding, one, facts))
        .filter((one) => mayBeNear(finding, one, facts))
        .map((one) => ({ finding, earlier: one })),
    );
}

function mayBeNear(finding: Finding, earlier: PostedFinding, facts: PriorLocations): boolean {
  const { firstName } = facts;
  const isAlike = () => titlesAlike(finding.title, earlier.title);
  // A problem between two files: the finding names the other file as evidence, or the titles are similar.
  if (firstName(finding.path) !== firstName(earlier.path))
    return finding.evidence.some(({ path }) => firstName(path) === firstName(earlier.path)) || isAlike();
  const place = facts.locationOf(earlier);
  const hasSymbol = finding.symbol !== null && finding.symbol === earlier.symbol;
  if (hasSymbol && (earlier.state === "outdated" || earlier.state === "dismissed")) return true;
  if (earlier.state === "dismissed" && isWithin(DISMISSED_LINES, finding, place?.end ?? oldLine(earlier)))
    return true;
  if (!isSameFile(finding, earlier, facts)) return false;
  if (place) return overlaps(finding, place);
  // The same code under another category, or a definition of another name, which may be the old one renamed.
  return (
    codeHash(finding.quote) === earlier.code || (isWithin(NEAR_LINES, finding, oldLine(earlier)) && isAlike())
  );
}

const TURNS = 2;
const TOKENS = 100_000;
const TIME_SHARE = 0.2;
const MAX_LIST_BYTES = 40_000;
const MAX_SAID = 500;
const MAX_REPLY = 300;
const MAX_REPLIES = 3;

/** Asks a model, in one question, which near collisions are one problem. Null if it failed or the budget is spent. */
async function askSame(
  run: ReviewRun,
  collisions: readonly NearCollision[],
): Promise<readonly NearCollision[] | null> {
  const findings = [...new Set(collisions.map(({ finding }) => finding))];
  const earlier = [...new Set(collisions.map((one) => one.earlier))];
  const room = roomFor(run.deps.models.review, MAX_LIST_BYTES, 0.2);
  let same: readonly NearCollision[] | null = null;
  const compare: DuplicateSink = {
    same(pairs) {
      const found = pairs.map((pair) =>
        collisions.find((one) => one.finding.id === pair.finding && nameOf(one.earlier) === pair.earlier),
      );
      const unknown = pairs[found.indexOf(undefined)];
      if (unknown) {
        const name = `${unknown.finding.slice(0, 20)} and ${unknown.earlier.slice(0, 20)}`;
        return {
          ok: false,
          reason: `${name} are not a listed pair; give pairs exactly as the list has them`,
        };
      }
      same = found.filter((one) => one !== undefined);
      return { ok: true };
    },
  };
  await runLoop(run, {
    loop: "compare",
    role: "review",
    messages: openingMessages(comparePrompt, [
      `# New findings\n${list("new findings", findings.map(findingText), room)}`,
      `# Earlier comments\n${list("earlier comments and their replies", earlier.map(earlierText), room)}`,
      `# Pairs to decide\n${collisions.map((one) => `${one.finding.id} and ${nameOf(one.earlier)}`).join("\n")}`,
    ]),
    outputTools: comparingTools,
    readingTools: [],
    ports: { compare },
    turns: TURNS,
    tokens: TOKENS,
    milliseconds: run.limits.timeLeft() * TIME_SHARE,
  });
  return same;
}

/** A stable name, so that a recorded answer can be replayed. */
const nameOf = ({ comment, id }: PostedFinding) => (comment === null ? id : String(comment));

/** Each text gets an equal share of the bytes. */
function list(source: string, texts: readonly string[], room: number): string {
  const each = Math.floor(room / texts.length);
  return wrapUntrusted(source, texts.map((text) => cutAtLine(text, each).text).join("\n\n"));
}

function findingText({ id, path, side, line, symbol, severity, category, title, body }: Finding): string {
  const where = `${showPath(path)}:${line}${removed(side)}${inside(symbol)}`;
  return `${id} ${where} [${severity}, ${category}] ${oneLine(title)}\n  ${indented(body, MAX_SAID)}`;
}

function earlierText(earlier: PostedFinding): string {
  const { path, symbol, state, severity, category, title, text, replies } = earlier;
  const where = `${showPath(path)}${lineOf(earlier)}${inside(symbol)}`;
  const kind = [severity, category, state].filter((one) => one !== null).join(", ");
  const answers = replies
    .slice(-MAX_REPLIES)
    .map((reply) => `\n  A person replied: ${indented(reply, MAX_REPLY)}`);
  return `${nameOf(earlier)} ${where} [${kind}] ${oneLine(title)}\n  ${indented(textBelowTitle(text), MAX_SAID)}${answers.join("")}`;
}

/** An old line number says nothing about the current position, and is marked as old. */
function lineOf({ side, line, original_line }: PostedFinding): string {
  if (line !== null) return `:${line}${removed(side)}`;
  return original_line === null ? "" : ` (line ${original_line}${removed(side)} when it was posted)`;
}

const removed = (side: Side) => (side === "LEFT" ? " (removed)" : "");
const inside = (symbol: string | null) => (symbol === null ? "" : ` in ${oneLine(symbol)}`);

const oneLine = (text: string) => text.replaceAll(/\s+/g, " ").trim().slice(0, MAX_SAID);

/** Indented, because only the start of a line begins an entry: a text cannot forge one. */
const indented = (text: string, most: number) =>
  text
    .slice(0, most)
    .toWellFormed()
    .trim()
    .replaceAll(/\s*[\n\r\u2028\u2029]\s*/g, "\n  ");

/** Locates the code of earlier findings in the current files. */
export async function readFacts(
  { files, anchorFile }: ChangeFiles,
  earlier: readonly PostedFinding[],
): Promise<PriorLocations> {
  const firstNames = new Map(files.map(({ change }) => [change.path, change.oldPath ?? change.path]));
  const places = new Map<PostedFinding, LineRange | null>();
  for (const one of earlier) {
    const isGone = one.state === "fixed" || one.path === "";
    places.set(one, isGone ? null : await locate(await anchorFile(one.path), one));
  }
  return {
    firstName: (path) => firstNames.get(path) ?? path,
    locationOf: (one) => places.get(one) ?? null,
  };
}

/** This run's findings that repeat an earlier one, with the earlier one. */
type Repeats = ReadonlyMap<Finding, PostedFinding>;

const MOST_QUESTIONS = 60;

/**
 * Compares the findings of a run with earlier ones: by rules if they can decide, else with one question to a model. Certain
 * findings are matched only by rules; otherwise an injected text could suppress them as duplicates.
 *
 * @param run null if no model can be asked
 */
export async function compareFindings(
  run: ReviewRun | null,
  findings: readonly Finding[],
  earlier: readonly PostedFinding[],
  facts: PriorLocations,
): Promise<Repeats> {
  const repeats = certainPairs(findings, earlier, facts);
  const disputed = findings.filter((one) => !isUndisputed(one));
  const collisions = nearCollisions(disputed, earlier, facts, repeats).toSorted((a, b) =>
    worstFirst(a.finding, b.finding),
  );
  const asked = run ? collisions.slice(0, MOST_QUESTIONS) : [];
  const same = run && asked.length > 0 ? await askSame(run, asked) : null;
  const taken = new Set<PostedFinding>(repeats.values());
  for (const { finding, earlier: one } of same ?? []) {
    // A dismissed finding matches all restatements, an open one only one finding.
    if (repeats.has(finding) || (one.state !== "dismissed" && taken.has(one))) continue;
    repeats.set(finding, one);
    taken.add(one);
  }
  return repeats;
}

/** Moved code is searched within this distance of the old line, if its definition is unknown. */
const AROUND = 150;
const MOST_LINES = 1_000;
/** Findings of more lines are not searched elsewhere. */
const WINDOW = 8;
const MAX_LINE_LENGTH = 1_000;

/** GitHub's line if it still has that code, else the nearest match in its definition or around the old line. */
export async function locate(
  file: AnchorFile | undefined,
  earlier: PostedFinding,
): Promise<LineRange | null> {
  const { side, line, start_line, code, symbol } = earlier;
  const lines = file?.lines[side] ?? null;
  if (!file || lines === null) return null;
  if (line !== null && line <= lines.length) {
    const place = { start: start_line ?? line, end: line };
    if (code === null || codeHash(lines.slice(place.start - 1, place.end).join("\n")) === code) return place;
  }
  if (code === null) return null;
  const near = oldLine(earlier);
  const definition = symbol === null ? null : await definitionNamed(file.path, lines, symbol, near);
  const around =
    near === null ? { start: 1, end: lines.length } : { start: near - AROUND, end: near + AROUND };
  const { start, end } = definition ?? around;
  const first = Math.max(1, start);
  return nearest(lines, code, { start: first, end: Math.min(end, lines.length, first + MOST_LINES) }, near);
}

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
