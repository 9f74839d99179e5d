import { isDeepStrictEqual } from "node:util";
import { isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument, stringify } from "yaml";
import { parseRepoConfig } from "../../config/parse-config.ts";
import type { RepoConfig } from "../../config/repo-config.ts";

/** What became of a rule: a new text of the file, or why there is none, in words for whoever asked. */
export type AddedRule = { ok: true; text: string } | { ok: false; reason: string };

type Instruction = RepoConfig["instructions"][number];

/**
 * Adds a rule for all files to the text of a configuration; null for a file that is not there yet. What people wrote keeps its
 * comments and its layout: lines are inserted, and only where the list stands in a form that takes none (`[...]`) is the file
 * written anew. A result that says anything but what was said before and the rule is no result.
 */
export function addRule(text: string | null, rule: string): AddedRule {
  const before = parseRepoConfig(text ?? "");
  if (!before.ok)
    return { ok: false, reason: "the configuration is broken, which `hunkwise config check` explains" };
  const isThere = before.config.instructions.some((one) => one.path === "**" && sameWords(one.text, rule));
  if (isThere) return { ok: false, reason: "the configuration has this rule already" };
  const one: Instruction = { path: "**", text: rule };
  for (const made of [inserted(text ?? "", one), rewritten(text ?? "", one)]) {
    if (made !== null && saysBoth(before.config, made, one)) return { ok: true, text: made };
  }
  return { ok: false, reason: "the configuration does not take it: its `instructions` must be a list" };
}

const sameWords = (a: string, b: string) => a.replace(/\s+/g, " ").trim() === b.replace(/\s+/g, " ").trim();

/** Whether a text is the same configuration with one more rule. */
function saysBoth(before: RepoConfig, text: string, rule: Instruction): boolean {
  const parsed = parseRepoConfig(text);
  const wanted = { ...before, instructions: [...before.instructions, rule] };
  return parsed.ok && isDeepStrictEqual(parsed.config, wanted);
}

/** With the rule's lines behind those of the list, or at the end of a file without one; null where they cannot stand there. */
function inserted(text: string, rule: Instruction): string | null {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, logLevel: "silent" });
  const ended = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null)) return ended + listOf(rule);
  if (!isMap<ParsedNode, ParsedNode | null>(contents) || contents.flow) return null;
  const pair = contents.items.find(({ key }) => isScalar(key) && key.value === "instructions");
  if (pair === undefined) return ended + listOf(rule);
  const list = pair.value;
  if (!isSeq(list) || list.flow || list.range == null) return null;
  const column = lines.linePos(list.range[0]).col - 1;
  const at = ended.slice(0, list.range[1]).trimEnd().length;
  const line = ended.indexOf("\n", at) + 1;
  return ended.slice(0, line) + indented(itemOf(rule), column) + ended.slice(line);
}

const itemOf = (rule: Instruction) => stringify([rule], { lineWidth: 0 });
const listOf = (rule: Instruction) => `instructions:\n${indented(itemOf(rule), 2)}`;
const indented = (text: string, columns: number) => text.replace(/^(?=.)/gm, " ".repeat(columns));

function rewritten(text: string, rule: Instruction): string | null {
  const document = parseDocument(text, { logLevel: "silent" });
  try {
    const list = document.get("instructions");
    if (list == null) document.set("instructions", document.createNode([rule]));
    else document.addIn(["instructions"], document.createNode(rule));
    return document.toString({ lineWidth: 0 });
  } catch {
    // The list is none, or the file is broken.
    return null;
  }
}
