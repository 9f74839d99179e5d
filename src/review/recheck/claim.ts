import { shorten } from "../../diff/render.ts";
import type { Side } from "../../finding.ts";
import type { Message } from "../../llm/model.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
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
  /** Where its code stands now; null where it is gone. */
  place: LineRange | null;
}

const MAX_TEXT_BYTES = 4_000;
const MAX_CODE_BYTES = 16_000;
/** Lines before and behind a place that has no definition around it. */
const AROUND = 40;
/** A longer definition is shown around the place alone. */
const MAX_LINES = 250;

/** What the check of an earlier finding begins with: the code as it is now, what the change does there, and what was said. */
export async function oldClaimMessages(run: ReviewRun, claim: OldClaim): Promise<Message[]> {
  const file = await run.anchorFile(claim.path);
  const near = claim.place?.end ?? claim.line ?? 1;
  const { text } = await changeAround(run, { path: claim.path, side: claim.side, line: near });
  const sections = [await codeNow(run, claim, file, near), text, whatWasSaid(run, claim)];
  return [
    { role: "system", content: recheckPrompt },
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}

function whatWasSaid(run: ReviewRun, { path, side, line, symbol, title, text, place }: OldClaim): string {
  const room = roomFor(run.models.verify, MAX_TEXT_BYTES, 0.06);
  const where = line === null ? "the file" : `line ${line}${side === "LEFT" ? " (removed)" : ""}`;
  const inside = symbol === null ? "" : ` (in ${symbol})`;
  const now = place ? ` Its code stands on line ${place.end} now.` : " The code that it stood on is gone.";
  return [
    "# The comment to check",
    `An earlier review of this change, which is to be merged into \`${run.input.targetBranch.replaceAll("`", "'")}\`, posted it on ${showPath(path)}, ${where}.${now}`,
    wrapUntrusted("comment", cutAtLine(`${title}${inside}\n\n${text}`, room).text),
  ].join("\n");
}

/** The definition that the comment is about as it is now, or else the lines around the place. */
async function codeNow(
  run: ReviewRun,
  { path, side, symbol, place }: OldClaim,
  file: AnchorFile | undefined,
  near: number,
): Promise<string> {
  const lines = file?.lines[side] ?? null;
  if (!file || lines === null) {
    return `# The code as it is now\n${showPath(path)} is not there any more, or cannot be read.`;
  }
  const definition =
    symbol === null || place
      ? await definitionOf(file.path, lines, near)
      : await definitionNamed(file.path, lines, symbol, near);
  const { start, end } = shownLines(definition, place ?? { start: near, end: near });
  const first = Math.max(1, start);
  const shown = lines.slice(first - 1, end).map((line, at) => `${first + at}|${shorten(line)}`);
  const { text } = cutAtLine(shown.join("\n"), roomFor(run.models.verify, MAX_CODE_BYTES, 0.15));
  const version = side === "LEFT" ? " at the merge base" : "";
  return `# The code as it is now\n## ${showPath(file.path)}${version}\n${wrapUntrusted("code", text)}`;
}

/** A whole definition that can be read, or else the lines around the place, or around its beginning where it has moved. */
function shownLines(definition: LineRange | null, place: LineRange): LineRange {
  if (definition && definition.end - definition.start < MAX_LINES) return definition;
  const isInside = !definition || (definition.start <= place.end && place.start <= definition.end);
  const { start, end } = isInside ? place : { start: definition.start, end: definition.start };
  return { start: start - AROUND, end: end + AROUND };
}
