import type { Message } from "../../agent/llm/model.ts";
import { textBelowTitle } from "../../core/ledger/entry.ts";
import { inlineCode, wrapUntrusted } from "../../core/text/fence.ts";
import { showPath } from "../../repo/show.ts";
import type { AnchorFile } from "../anchor/anchor.ts";
import type { PlaceRun } from "../loop/review-run.ts";
import { cut, openingMessages, pullSection } from "../loop/run-loop.ts";
import { fixPrompt } from "../prompts/prompts.ts";
import { codeNow } from "../review/followup/recheck.ts";
import { changeAround } from "../review/verify/claim.ts";
import type { FixInput, FixTarget } from "./fix-input.ts";

const MAX_FINDING_BYTES = 6_000;
const MAX_SAID_BYTES = 6_000;

export interface FixRun extends PlaceRun {
  input: FixInput;
}

/** A finding with its name in the conversation ("F1") and its file. */
export interface NamedTarget {
  name: string;
  target: FixTarget;
  file: AnchorFile | undefined;
}

/**
 * The first messages of a fix: the text of each finding and its current code.
 *
 * @param commands the allowed commands, by name; empty if none
 */
export async function fixMessages(
  run: FixRun,
  targets: readonly NamedTarget[],
  commands: Readonly<Record<string, string>>,
): Promise<Message[]> {
  const { pull, targetBranch } = run.input;
  const sections = [pullSection(run, pull)];
  for (const target of targets) sections.push(...(await targetSections(run, target)));
  sections.push(commandsSection(commands));
  const names = targets.map(({ name }) => name).join(", ");
  sections.push(`Repair ${names}. The change is to be merged into \`${targetBranch.replaceAll("`", "'")}\`.`);
  return openingMessages(fixPrompt, sections);
}

/** The commands come from the configuration of the base branch. */
function commandsSection(commands: Readonly<Record<string, string>>): string {
  const lines = Object.entries(commands).map(([name, line]) => `- ${name}: ${inlineCode(line)}`);
  return lines.length === 0 ? "" : ["# What run_command runs", ...lines].join("\n");
}

async function targetSections(run: FixRun, { name, target, file }: NamedTarget): Promise<string[]> {
  const spot = spotOf(target);
  const place = spot.line === null ? "" : `:${spot.line}${target.side === "LEFT" ? " (removed)" : ""}`;
  const finding = cut(run, `${target.title}\n\n${textBelowTitle(target.finding)}`, MAX_FINDING_BYTES);
  return [
    `# ${name}: what was found at ${showPath(target.path)}${place}\n${wrapUntrusted("finding", finding)}`,
    ...(await codeNow(run, spot, file)),
    await changeAround(run, [{ ...target, line: spot.line ?? 1 }]),
    testOf(target),
    conversationOf(run, target),
  ];
}

/** The location of a finding as far as it is known without reading files. */
export function spotOf({ path, side, line, original_line, symbol }: FixTarget) {
  const place = line === null ? null : { start: line, end: line };
  return { path, side, symbol, place, line: line ?? original_line };
}

/** The model may read the test, but not change it. */
function testOf({ test }: FixTarget): string {
  if (!test) return "";
  return [
    `# Its test, ${showPath(test.path)}`,
    wrapUntrusted("test", test.text),
    "It fails on the present files. After finish_fix it runs on yours, without your changes to tests, and is added to the repair as it is: do not write it.",
  ].join("\n");
}

function conversationOf(run: FixRun, { conversation }: FixTarget): string {
  if (conversation.length === 0) return "";
  const said = conversation.map(({ by, body }) => `${by} wrote:\n  ${body.replaceAll("\n", "\n  ")}`);
  return `# What was said in its thread since\n${wrapUntrusted("conversation", cut(run, said.join("\n\n"), MAX_SAID_BYTES))}`;
}
