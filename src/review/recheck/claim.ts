import { textBelowTitle } from "../../ledger/entry.ts";
import type { Message } from "../../llm/model.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { showPath } from "../../tools/show.ts";
import type { AnchorFile } from "../anchor.ts";
import { recheckPrompt } from "../prompts/prompts.ts";
import type { LineRange } from "../quote.ts";
import type { PlaceRun } from "../run-loop.ts";
import { changeAround } from "../verify/claim.ts";
import { roomFor } from "../window.ts";
import { type ClaimedSpot, codeNow } from "./code-now.ts";

/** An earlier finding as it was told, and where its code is now. */
export interface OldClaim extends ClaimedSpot {
  /** Name of the loop that checks it. */
  loop: string;
  title: string;
  text: string;
  /** Other files that were named as evidence, as `path`. */
  files: readonly string[];
}

const MAX_TEXT_BYTES = 4_000;

/** What the check of an earlier finding begins with: the code as it is now, what the change does there, and what was said. */
export async function oldClaimMessages(run: PlaceRun, claim: OldClaim): Promise<Message[]> {
  const file = await run.anchorFile(claim.path);
  const sections = [
    ...(await codeNow(run, claim, file)),
    await changeOf(run, claim),
    whatWasSaid(run, claim, file),
  ];
  return [
    { role: "system", content: recheckPrompt },
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}

async function changeOf(run: PlaceRun, { path, side, line, place }: OldClaim): Promise<string> {
  const { text } = await changeAround(run, { path, side, line: place?.end ?? line ?? 1 });
  return text;
}

function whatWasSaid(run: PlaceRun, claim: OldClaim, file: AnchorFile | undefined): string {
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
