import { lineAtHead } from "../../diff/line-index.ts";
import { shorten } from "../../diff/render.ts";
import type { Side } from "../../finding.ts";
import { textBelowTitle } from "../../ledger/comment-title.ts";
import type { Message } from "../../llm/model.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { count, showPath } from "../../tools/show.ts";
import type { AnchorFile } from "../anchor.ts";
import { recheckPrompt } from "../prompts/prompts.ts";
import type { LineRange } from "../quote.ts";
import type { ReviewRun } from "../review-run.ts";
import { definitionNamed, definitionOf } from "../symbols.ts";
import { changeAround } from "../verify/claim.ts";
import { roomFor } from "../window.ts";

/** An earlier finding as it was told, and where its code is now. */
export interface OldClaim {
  /** Name of the loop that checks it. */
  loop: string;
  /** At head, or as it was told where the change knows no such file. */
  path: string;
  side: Side;
  /** Where it was told to be; null on a file. */
  line: number | null;
  symbol: string | null;
  title: string;
  text: string;
  /** Other files that were named as evidence, as `path`. */
  files: readonly string[];
  /** Where its code stands now; null where it is gone. */
  place: LineRange | null;
}

const MAX_TEXT_BYTES = 4_000;
const MAX_CODE_BYTES = 16_000;
const MAX_LIST_BYTES = 3_000;
/** Lines before and behind a place that has no definition around it. */
const AROUND = 40;
/** A longer definition is shown around the place alone. */
const MAX_LINES = 250;

/** What the check of an earlier finding begins with: the code as it is now, what the change does there, and what was said. */
export async function oldClaimMessages(run: ReviewRun, claim: OldClaim): Promise<Message[]> {
  const file = await run.anchorFile(claim.path);
  const sections = [
    ...(file?.lines.RIGHT ? await codeNow(run, claim, file, file.lines.RIGHT) : [changedFiles(run)]),
    await changeOf(run, claim),
    whatWasSaid(run, claim, file),
  ];
  return [
    { role: "system", content: recheckPrompt },
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}

async function changeOf(run: ReviewRun, { path, side, line, place }: OldClaim): Promise<string> {
  const { text } = await changeAround(run, { path, side, line: place?.end ?? line ?? 1 });
  return text;
}

function whatWasSaid(run: ReviewRun, claim: OldClaim, file: AnchorFile | undefined): string {
  const { path, side, line, symbol, title, text, files } = claim;
  const room = roomFor(run.models.verify, MAX_TEXT_BYTES, 0.06);
  const at = line === null ? "" : `:${line}${side === "LEFT" ? " (removed)" : ""}`;
  const inside = symbol === null ? "" : ` in ${symbol}`;
  const others = files.filter((one) => !run.deps.isPrivate(one)).map(showPath);
  const rests = others.length > 0 ? `\n\nIt rests on: ${others.join(", ")}` : "";
  const said = cutAtLine(`${title}\n\n${textBelowTitle(text)}`, room).text;
  return [
    "# The comment to check",
    `An earlier review of this change, which is to be merged into \`${run.input.targetBranch.replaceAll("`", "'")}\`, posted it. ${standing(claim, file)}`,
    wrapUntrusted("comment", `${showPath(path)}${at}${inside}\n${said}${rests}`),
  ].join("\n");
}

/** Where the code of a comment is now. Whether it moved is known within its definition, or close to where it was, alone. */
function standing({ side, place }: OldClaim, file: AnchorFile | undefined): string {
  if (!file?.lines.RIGHT)
    return "Its file is not there any more, or cannot be read: it may go by another name.";
  const rest = file.inChange ? "" : " The change leaves this file alone now.";
  if (side === "LEFT")
    return `It is about a line that the change removed then. ${removedNow(place, file)}${rest}`;
  return place === null
    ? `The code that it stood on is not there any more: changed, moved or removed.${rest}`
    : `Its code stands on line ${place.end} now.${rest}`;
}

function removedNow(place: LineRange | null, file: AnchorFile): string {
  if (place === null) return "It is not found in what the change starts from now.";
  const now = file.isRemoved(place.end) ? "still removes it" : "does not remove it any more";
  return `The change ${now}; in the old file it is line ${place.end}.`;
}

/** The definition that the comment is about as it is now, or else the lines around the place. */
async function codeNow(
  run: ReviewRun,
  { side, symbol, line, place }: OldClaim,
  file: AnchorFile,
  lines: readonly string[],
): Promise<string[]> {
  const was = place?.end ?? line ?? 1;
  const near = side === "RIGHT" ? was : lineAtHead(file.hunks, was);
  const isKnown = symbol === null || (place && side === "RIGHT");
  const definition = isKnown
    ? await definitionOf(file.path, lines, near)
    : await definitionNamed(file.path, lines, symbol, near);
  const { start, end } = shownLines(
    definition,
    side === "RIGHT" && place ? place : { start: near, end: near },
  );
  const first = Math.max(1, start);
  const shown = lines.slice(first - 1, end).map((text, at) => `${first + at}|${shorten(text)}`);
  if (shown.length === 0) return [];
  const { text } = cutAtLine(shown.join("\n"), roomFor(run.models.verify, MAX_CODE_BYTES, 0.15));
  return [`# The code as it is now\n${wrapUntrusted("code", `## ${showPath(file.path)}\n${text}`)}`];
}

/** A whole definition that can be read, or else the lines around the place, or around its beginning where it has moved. */
function shownLines(definition: LineRange | null, place: LineRange): LineRange {
  if (definition && definition.end - definition.start < MAX_LINES) return definition;
  const isInside = !definition || (definition.start <= place.end && place.start <= definition.end);
  const { start, end } = isInside ? place : { start: definition.start, end: definition.start };
  return { start: start - AROUND, end: end + AROUND };
}

/** Of a file that is not there any more the code may be in one of these. */
function changedFiles({ files, models, deps }: ReviewRun): string {
  const paths = files.flatMap(({ change: { path, oldPath, type } }) => {
    if ([path, oldPath ?? path].some(deps.isPrivate)) return [];
    return [`${showPath(path)}${oldPath === null ? "" : ` (was ${showPath(oldPath)})`}  ${type}`];
  });
  const { text, omittedLines } = cutAtLine(paths.join("\n"), roomFor(models.verify, MAX_LIST_BYTES, 0.05));
  const more = omittedLines > 0 ? `\n${count(omittedLines, "more file")}: see changed_files.` : "";
  return `# Changed files\n${wrapUntrusted("changed files", text)}${more}`;
}
