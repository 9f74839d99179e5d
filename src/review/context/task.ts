import { mildestMinimum } from "../../config/repo-config.ts";
import { createPathMatcher } from "../../diff/paths.ts";
import { cutAtLine } from "../../text/cut.ts";
import { wrapUntrusted } from "../../text/fence.ts";
import { count } from "../../tools/show.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import { countKnown } from "../known/files-to-read.ts";
import type { ContextParts, MessageParts } from "./parts.ts";

const MAX_SUMMARY_BYTES = 4_000;

export function taskSection(parts: MessageParts): string {
  const { input, shas } = parts;
  const into = wrapless(input.targetBranch);
  const task = `Review the change that is to be merged into ${into}: everything between merge base ${shas.mergeBase.slice(0, 12)} and head ${shas.head.slice(0, 12)}.`;
  return [task, laterRound(parts)].filter((text) => text !== "").join("\n\n");
}

/** What is asked of a review that follows others. */
function laterRound({ known, allFiles, input }: MessageParts): string {
  if (!known) return "";
  const hunks = allFiles.reduce((sum, { reviewable, totalHunks }) => sum + (reviewable ? totalHunks : 0), 0);
  const summary = cutAtLine(input.history?.summary ?? "", MAX_SUMMARY_BYTES).text;
  return [
    "# A later round",
    `Earlier reviews have read ${countKnown(allFiles, known)} of the ${count(hunks, "hunk")} of this change; they are unchanged and need not be read again. Review what is new, together with what it touches: what it calls, who relies on it, and what it makes wrong or newly reachable in the rest of the change, which the tools still show. A fault that lies in hunks read before is raised only when it is critical.`,
    summary === ""
      ? "The summary at the end is to be one of the change as a whole, not of this round."
      : `The summary at the end is to be one of the change as a whole, not of this round. The last review summed it up so:\n${wrapUntrusted("summary of the last review", summary)}`,
  ].join("\n");
}

/** A branch name within a sentence: it may hold anything but white space and control characters. */
const wrapless = (name: string) => `\`${name.replaceAll("`", "'")}\``;

/** Language, severity and the instructions for paths, by the configuration of the base. */
export function settingsSection({ input, allFiles }: ContextParts): string {
  const { config } = input;
  const minimum = mildestMinimum(config);
  const lines = [
    config.language ? `Write findings and summary in ${config.language}.` : "",
    // Otherwise the second look sets the severity, and what seems mild may turn out not to be.
    minimum === "low" || config.effort !== "low"
      ? ""
      : `Report findings of severity ${minimum} and above only.`,
    ...config.instructions.flatMap((one) => instruction(one, allFiles)),
  ].filter((line) => line !== "");
  return lines.length > 0 ? `# What the repository's maintainers ask for\n${lines.join("\n")}` : "";
}

function instruction(one: { path: string; text: string }, files: readonly ChangedFile[]): string[] {
  const matches = createPathMatcher([one.path]);
  const concerned = files.some((file) => file.reviewable && matches(file.change.path).matched);
  return concerned ? [`For files matching ${one.path}:\n${one.text}`] : [];
}
