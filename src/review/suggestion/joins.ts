import { hasGrammar } from "../../analyzers/syntax-faults.ts";
import { isData } from "./data-faults.ts";
import { isProse, type Lexis, lexisOf } from "./lexis.ts";
import { type MaskedLine, maskLines } from "./mask.ts";
import type { Overlay } from "./overlay.ts";

/** Why the last line of a suggestion would run into the next line, or be cut off from it, where no grammar tells. */
export function brokenJoin(overlay: Overlay): string | null {
  const { path, before, after, start, oldEnd, newEnd } = overlay;
  if (isProse(path) || isData(path) || newEnd === start) return null;
  const lexis = lexisOf(path);
  const old = codeOf(maskLines(before.slice(0, oldEnd), lexis).slice(start));
  const now = codeOf(maskLines(after.slice(0, newEnd), lexis).slice(start));
  const [oldLast, last] = [old.at(-1), now.at(-1)];
  if (oldLast === undefined || last === undefined) return null;
  const isOpen = hasGrammar(path) ? goesOnByMark : lexis.arms ? goesOnInShell : goesOn;
  if (isOpen(oldLast) !== isOpen(last))
    return "its last line does not join the next as the replaced one does";
  const next = codeOf(maskLines(after, lexis).slice(newEnd))[0] ?? "";
  return lacksSemicolon(lexis, oldLast, now, next) ? "a semicolon would be missing" : null;
}

const codeOf = (masked: readonly MaskedLine[]) =>
  masked.map(({ code }) => code.trim()).filter((code) => code !== "");

const goesOnByMark = (code: string) => code.endsWith("\\");

const goesOnInShell = (code: string) => goesOnByMark(code) || /(?:&&|\|)$/.test(code);

/** Whether a line ends in what wants something behind it: a mark that says so, or an operator. */
const goesOn = (code: string) =>
  // Not behind the names that a block of Ruby takes.
  !/\|[\w\s,*&()]*\|$/.test(code) &&
  (goesOnByMark(code) || /(?:&&|\|\||(?<!\+)\+|(?<!-)-|(?<![\w\])"])[*/]|[%^=<|]|\.)$/.test(code));

/** Whether a statement at the end of the suggestion, or between its lines, has no end where the language wants one. */
function lacksSemicolon(
  { semicolons }: Lexis,
  oldLast: string,
  now: readonly string[],
  next: string,
): boolean {
  if (!semicolons) return false;
  const isValue = semicolons === "mostly" && next.startsWith("}");
  const isLast = oldLast.endsWith(";") && !isValue && !/[;{}:\\]$/.test(now.at(-1) ?? "");
  return isLast || now.some((code, at) => isStatement(code) && /^[A-Za-z_*]/.test(now[at + 1] ?? ""));
}

/** A call or an assignment, whole but for its end. A name in capitals may be a macro, which brings its own. */
const isStatement = (code: string) =>
  /[\w)\]"]$/.test(code) &&
  /^(?!(?:if|for|while|switch|else|case|catch|using|lock|foreach|fn|pub|impl|match|unsafe|where|static|inline|extern|void|struct|return)\b)[a-z][\w.>\]-]*(?:\[[^\]]*\])?\s*(?:[-+*/|&^%]?=[^=]|\()/.test(
    code,
  ) &&
  count(code, "(") === count(code, ")");

const count = (text: string, sign: string) => text.split(sign).length;
