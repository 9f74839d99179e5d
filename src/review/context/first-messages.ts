import { shownBytes } from "../../diff/file-diff.ts";
import type { Message } from "../../llm/model.ts";
import { systemPrompt } from "../prompts/prompts.ts";
import { candidatesSection } from "./candidates-section.ts";
import { codeContext } from "./code-context.ts";
import { diffSection } from "./diff-section.ts";
import { earlierCommitsSection } from "./earlier-commits.ts";
import { guidelinesSection } from "./guidelines.ts";
import { overviewSection, unitSection } from "./overview.ts";
import type { MessageParts } from "./parts.ts";
import { annotationsSection, pullSections } from "./pull-request.ts";
import { settingsSection, taskSection } from "./task.ts";

export type { MessageParts } from "./parts.ts";

/**
 * The conversation's beginning. What is the same for every review stands first, then what is the same for every unit of this
 * change, then the unit, and what one pass looks for at the very end: so that a provider's prompt cache holds as much as can be.
 */
export async function firstMessages(parts: MessageParts): Promise<Message[]> {
  const { input, files, candidates, commits } = parts;
  const diff = await diffSection(parts);
  const code = await codeContext(parts, diff.shown);
  // What the code leaves of its room: the whole never grows by it.
  const earlier = earlierCommitsSection(parts, parts.contextBytes - shownBytes(code));
  const sections = [
    taskSection(parts),
    settingsSection(parts),
    await guidelinesSection(parts),
    ...pullSections(input, commits),
    overviewSection(parts),
    unitSection(parts),
    candidatesSection(candidates),
    annotationsSection(input, files),
    earlier,
    code,
    diff.text,
  ];
  return [
    { role: "system", content: systemPrompt },
    { role: "user", content: sections.filter((section) => section !== "").join("\n\n") },
  ];
}
