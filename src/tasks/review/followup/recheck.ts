import type { Message } from "../../../agent/llm/model.ts";
import { settlingTools } from "../../../agent/tools/index.ts";
import type { Settlement } from "../../../agent/tools/tool.ts";
import { AppError, asValue, publicLine } from "../../../core/errors.ts";
import type { Side } from "../../../core/finding.ts";
import { textBelowTitle } from "../../../core/ledger/entry.ts";
import { cutAtLine } from "../../../core/text/cut.ts";
import { wrapUntrusted } from "../../../core/text/fence.ts";
import { lineAtHead, shorten } from "../../../repo/diff/file-diff.ts";
import { showPath } from "../../../repo/show.ts";
import type { AnchorFile } from "../../anchor/anchor.ts";
import type { LineRange } from "../../anchor/quote.ts";
import { definitionNamed, definitionOf } from "../../anchor/symbols.ts";
import type { PlaceRun } from "../../loop/review-run.ts";
import { filesSection, openingMessages, roomFor, runLoop } from "../../loop/run-loop.ts";
import { recheckPrompt } from "../../prompts/prompts.ts";
import { publicModelError, whyNoResult } from "../../shapes/review-result.ts";
import { changeAround } from "../verify/claim.ts";

const MAX_CODE_BYTES = 16_000;
const MAX_LIST_BYTES = 3_000;
const AROUND = 40;
const MAX_LINES = 250;

/** The location of a comment, and the current lines of its code. */
interface ClaimedSpot {
  /** The path at head, or the old one if the change has no such file. */
  path: string;
  side: Side;
  /** The line when it was posted; null for a comment on a file. */
  line: number | null;
  symbol: string | null;
  /** The current lines of its code; null if the code is gone. */
  place: LineRange | null;
}

/** The definition that a comment is about as it is now, or the lines around; also the changed files, if neither is left. */
export async function codeNow(
  run: PlaceRun,
  spot: ClaimedSpot,
  file: AnchorFile | undefined,
): Promise<string[]> {
  const { path, side, symbol, place } = spot;
  const lines = file?.lines.RIGHT ?? null;
  const near = nearestLine(spot, file);
  const currentPlace = side === "RIGHT" ? place : null;
  const definition =
    symbol === null || currentPlace
      ? await definitionOf(file?.path ?? path, lines, near)
      : await definitionNamed(file?.path ?? path, lines, symbol, near);
  const around = shownLines(definition, currentPlace ?? { start: near, end: near });
  const isFound = currentPlace !== null || (symbol !== null && definition !== null);
  const title = isFound ? "The code as it is now" : "The lines around the place now";
  const here = file && lines ? [codeSection(run, title, file.path, lines, around)] : [];
  if (lines && (currentPlace || symbol === null || isMoreThanDeclared(definition))) return here;
  return [...here, changedFiles(run)];
}

function nearestLine({ side, line, place }: ClaimedSpot, file: AnchorFile | undefined): number {
  const old = place?.end ?? line ?? 1;
  const stated = side === "LEFT" && file ? lineAtHead(file.hunks, old) : old;
  return Math.max(1, Math.min(stated, file?.lines.RIGHT?.length ?? stated));
}

/** The whole definition if it is short enough, else the lines around the location, or around its start if it has moved. */
function shownLines(definition: LineRange | null, place: LineRange): LineRange {
  if (definition && definition.end - definition.start < MAX_LINES) return definition;
  const isInside = !definition || (definition.start <= place.end && place.start <= definition.end);
  const { start, end } = isInside ? place : { start: definition.start, end: definition.start };
  return { start: start - AROUND, end: end + AROUND };
}

function codeSection(
  { deps: { models } }: PlaceRun,
  title: string,
  path: string,
  lines: readonly string[],
  { start, end }: LineRange,
): string {
  const first = Math.max(1, start);
  const shown = lines.slice(first - 1, end).map((text, at) => `${first + at}|${shorten(text)}`);
  if (shown.length === 0) return "";
  const { text } = cutAtLine(shown.join("\n"), roomFor(models.verify, MAX_CODE_BYTES, 0.15));
  return `# ${title}\n${wrapUntrusted("code", `## ${showPath(path)}\n${text}`)}`;
}

/** A definition of one line may only declare what another file defines. */
const isMoreThanDeclared = (definition: LineRange | null) =>
  definition !== null && definition.end > definition.start;

function changedFiles({ change: { files }, deps }: PlaceRun): string {
  const paths = files.flatMap(({ change: { path, oldPath, type } }) => {
    if ([path, oldPath ?? path].some(deps.isPrivate)) return [];
    return [`${showPath(path)}${oldPath === null ? "" : ` (was ${showPath(oldPath)})`}  ${type}`];
  });
  return filesSection("Changed files", paths, roomFor(deps.models.verify, MAX_LIST_BYTES, 0.05));
}

/** An earlier finding as it was posted, and the current lines of its code. */
export interface PriorClaim extends ClaimedSpot {
  loop: string;
  title: string;
  text: string;
  files: readonly string[];
  /** The named rule that it breaks, for the model; empty or omitted if there is none. */
  ruleText?: string;
}

const MAX_TEXT_BYTES = 4_000;

async function recheckMessages(run: PlaceRun, claim: PriorClaim): Promise<Message[]> {
  const file = await run.change.anchorFile(claim.path);
  const { path, side, line, place } = claim;
  return openingMessages(recheckPrompt, [
    ...(await codeNow(run, claim, file)),
    await changeAround(run, [{ path, side, line: place?.end ?? line ?? 1 }]),
    commentSection(run, claim, file),
  ]);
}

function commentSection(run: PlaceRun, claim: PriorClaim, file: AnchorFile | undefined): string {
  const { path, side, line, symbol, title, text, files } = claim;
  const room = roomFor(run.deps.models.verify, MAX_TEXT_BYTES, 0.06);
  const at = line === null ? "" : `:${line}${side === "LEFT" ? " (removed)" : ""}`;
  const inside = symbol === null ? "" : ` in ${symbol}`;
  const others = files.filter((one) => !run.deps.isPrivate(one)).map(showPath);
  const rests = others.length > 0 ? `\n\nCode that supports it: ${others.join(", ")}` : "";
  const comment = cutAtLine(`${title}\n\n${textBelowTitle(text)}`, room).text;
  return [
    "# The comment to check",
    `An earlier review of this change, which is to be merged into \`${run.input.targetBranch.replaceAll("`", "'")}\`, posted it. ${fateOf(claim, file)}`,
    ...(claim.ruleText ? [claim.ruleText] : []),
    wrapUntrusted("comment", `${showPath(path)}${at}${inside}\n${comment}${rests}`),
  ].join("\n");
}

/** Where the code of a comment is now. A move is only detected within its definition, or near the old line. */
function fateOf({ side, place }: PriorClaim, file: AnchorFile | undefined): string {
  if (!file?.lines.RIGHT)
    return "Its file does not exist any more, or cannot be read. It may have another name now.";
  const rest = file.inChange ? "" : " The change does not touch this file any more.";
  if (side === "LEFT")
    return `It is about a line that the change removed at that time. ${removedNow(place, file)}${rest}`;
  return place === null
    ? `The code that it was posted on is gone: changed, moved or removed.${rest}`
    : `Its code is on line ${place.end} now.${rest}`;
}

function removedNow(place: LineRange | null, file: AnchorFile): string {
  if (place === null) return "The merge base does not have this line now.";
  const now = file.isRemoved(place.end) ? "still removes it" : "does not remove it any more";
  return `The change ${now}; in the old file it is line ${place.end}.`;
}

const TURNS = 12;
const TOKENS = 300_000;
const TIME_SHARE = 0.6;

/** The result of a re-check. One that did not finish decides nothing and stays due. */
interface Checked extends Settlement {
  ended: boolean;
}

/** Lets a model check, in a loop of its own, whether an earlier finding is fixed. */
export async function recheckFinding(run: PlaceRun, claim: PriorClaim): Promise<Checked> {
  const messages = await recheckMessages(run, claim).catch(asValue);
  if (messages instanceof AppError) return unsure(publicLine(messages));
  let settlement: Settlement | null = null;
  const { modelError, stopReason } = await runLoop(run, {
    loop: claim.loop,
    role: "verify",
    messages,
    outputTools: settlingTools,
    ports: {
      settle: {
        settle(given) {
          settlement = given;
        },
      },
    },
    turns: TURNS,
    tokens: TOKENS,
    milliseconds: run.limits.timeLeft() * TIME_SHARE,
  });
  if (settlement) return { ...(settlement as Settlement), ended: true };
  return unsure(
    modelError ? publicModelError(modelError) : whyNoResult(stopReason, "the model gave no answer"),
  );
}

const unsure = (reason: string): Checked => ({
  ended: false,
  state: "unsure",
  reason: `The check did not finish: ${reason.replace(/\.$/, "")}.`,
});
