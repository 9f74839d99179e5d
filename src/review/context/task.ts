import { createPathMatcher } from "../../diff/path-matcher.ts";
import type { ChangedFile } from "../../tools/tool.ts";
import type { ContextParts } from "./parts.ts";

export function taskSection({ input, shas }: ContextParts): string {
  const into = wrapless(input.targetBranch);
  return `Review the change that is to be merged into ${into}: everything between merge base ${shas.mergeBase.slice(0, 12)} and head ${shas.head.slice(0, 12)}.`;
}

/** A branch name within a sentence: it may hold anything but white space and control characters. */
const wrapless = (name: string) => `\`${name.replaceAll("`", "'")}\``;

/** Language, severity and the instructions for paths, by the configuration of the base. */
export function settingsSection({ input, allFiles }: ContextParts): string {
  const { config } = input;
  const lines = [
    config.language ? `Write findings and summary in ${config.language}.` : "",
    // Otherwise the second look sets the severity, and what seems mild may turn out not to be.
    config.minimum_severity === "low" || config.effort !== "low"
      ? ""
      : `Report findings of severity ${config.minimum_severity} and above only.`,
    ...config.instructions.flatMap((one) => instruction(one, allFiles)),
  ].filter((line) => line !== "");
  return lines.length > 0 ? `# What the repository's maintainers ask for\n${lines.join("\n")}` : "";
}

function instruction(one: { path: string; text: string }, files: readonly ChangedFile[]): string[] {
  const matches = createPathMatcher([one.path]);
  const concerned = files.some((file) => file.reviewable && matches(file.change.path).matched);
  return concerned ? [`For files matching ${one.path}:\n${one.text}`] : [];
}
