import { asks } from "../ledger/words.ts";
import type { Command } from "../queue/job.ts";
import { openingOf } from "./opening.ts";

/** A review that a person asks for. */
export interface ReviewCommand {
  name: "review";
  /** Everything, not only what is new. */
  full: boolean;
  /** Show what would be posted, post nothing. */
  dryRun: boolean;
}

/** What a person can ask for in a comment. */
export type AskedFor = ReviewCommand | Command;

/** In characters; what is longer is no list of arguments. */
const longestLine = 200;
/** A longer question is cut, in characters. A rule may not be so long by far: the job refuses it, rather than to propose a part. */
const longestText = 4_000;

/**
 * Reads a command from the first line that a person wrote in a comment: `/NAME`, or `@slug NAME` with the App's slug, and its
 * arguments. `ask` and `remember` take the rest of the comment, the others ignore the lines that follow. `@slug` before
 * anything else that asks something is an `ask`. What is not understood to the last word is no command, nor is one behind
 * other text, in a quote, in code or in an HTML comment. Spaces and tabs alone count as white space, and `/` alone as a slash.
 */
export function parseCommand(body: string, appSlug: string | null): AskedFor | null {
  const opening = openingOf(body);
  if (!opening) return null;
  const { line, rest } = opening;
  if (line.startsWith("/")) return named(line.slice(1), rest);
  const said = behindMention(line, appSlug);
  if (said === null) return null;
  const command = /^[ \t]/.test(said) ? named(said.replace(/^[ \t]+/, ""), rest) : null;
  if (command) return command;
  const question = freeText(`${said.replace(/^[,:]/, "")}\n${rest}`);
  return asks(question) ? { name: "ask", question } : null;
}

/** Whether a comment begins with a mention of somebody else: what it asks is asked of them. */
export function speaksToAnother(body: string, appSlug: string | null): boolean {
  const line = openingOf(body)?.line ?? "";
  return /^@[a-z\d]/i.test(line) && behindMention(line, appSlug) === null;
}

/** What stands behind `@slug`, or `@slug[bot]` as GitHub writes it; null when the line speaks to nobody we know. */
function behindMention(line: string, appSlug: string | null): string | null {
  if (!appSlug) return null;
  const mention = `@${appSlug.toLowerCase()}`;
  if (line.slice(0, mention.length).toLowerCase() !== mention) return null;
  const rest = line.slice(mention.length).replace(/^\[bot\]/i, "");
  return rest === "" || /^[ \t,:]/.test(rest) ? rest : null;
}

/** A command by its name, with what stands behind the name and on the following lines. */
function named(request: string, rest: string): AskedFor | null {
  const [written = ""] = /^[^ \t]*/.exec(request) ?? [];
  const behind = request.slice(written.length);
  const name = written.toLowerCase();
  switch (name) {
    case "ask": {
      const question = freeText(`${behind}\n${rest}`);
      return question === "" ? null : { name, question };
    }
    case "remember": {
      const rule = freeText(`${behind}\n${rest}`);
      return rule === "" ? null : { name, rule };
    }
    case "fix": {
      const words = wordsOf(behind);
      const isUnderstood = words?.length === 0 || (words?.length === 1 && words[0] === "all");
      return isUnderstood ? { name, all: words.length === 1 } : null;
    }
    case "review":
      return reviewWith(wordsOf(behind));
    case "resolve":
    case "pause":
    case "resume":
    case "help":
      return wordsOf(behind)?.length === 0 ? { name } : null;
    default:
      return null;
  }
}

function reviewWith(options: readonly string[] | null): ReviewCommand | null {
  if (options === null) return null;
  const wanted = new Set(options);
  const [full, dryRun] = [wanted.delete("full"), wanted.delete("--dry-run")];
  const understood = wanted.size === 0 && options.length === Number(full) + Number(dryRun);
  return understood ? { name: "review", full, dryRun } : null;
}

/** The words of a line; null for one that is too long to be arguments. */
function wordsOf(line: string): string[] | null {
  return line.length > longestLine ? null : line.split(/[ \t]+/).filter((word) => word !== "");
}

/** A text without what is too much of it; empty where it says nothing that a person would see. */
function freeText(text: string): string {
  // A character takes one or two units.
  const cut = [...text.trim().slice(0, 2 * longestText)].slice(0, longestText).join("").trimEnd();
  return /[\p{L}\p{N}]/u.test(cut.replace(/<!--[\s\S]*?(?:-->|$)/g, "")) ? cut : "";
}
