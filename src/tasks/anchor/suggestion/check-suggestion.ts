import type { Finding } from "../../../core/finding.ts";
import { escapeInvisible } from "../../../core/text/escape-invisible.ts";
import { fence } from "../../../core/text/fence.ts";
import { faultInData, isData, isPlainJson } from "../../../repo/code/data-formats.ts";
import { isWorthParsing } from "../../../repo/code/parse.ts";
import type { AnchorFile } from "../anchor.ts";
import {
  type Anchored,
  breaksStyle,
  filled,
  indentOf,
  isBlank,
  isIndented,
  isProse,
  isSignificant,
  type Repaired,
  repair,
  stepOf,
  unitOf,
} from "./repair.ts";
import { hasGrammar, readSyntax, type SyntaxFault } from "./syntax-faults.ts";

type Suggesting = Pick<Finding, "path" | "side" | "line" | "start_line" | "body" | "suggestion">;

interface Checked<T> {
  finding: T;
  /** For the model; null if the suggestion is unchanged, or there was none. */
  note: string | null;
}

/** Keeps a suggestion only if it can be applied to a copy of the file; otherwise the proposal becomes prose. */
export async function withCheckedSuggestion<T extends Suggesting>(
  finding: T,
  { lines }: Pick<AnchorFile, "lines">,
): Promise<Checked<T>> {
  const { path, side, line, start_line, suggestion } = finding;
  if (suggestion === null) return { finding, note: null };
  // GitHub applies suggestions to the head's file only.
  if (side === "LEFT" || lines.RIGHT === null) return asProse(finding, "it would replace removed lines");
  const replaced = { path, lines: lines.RIGHT, suggestion, start: start_line ?? line, end: line };
  const checked = await checkSuggestion(replaced);
  if (!checked.ok) return asProse(finding, checked.reason);
  const note =
    checked.repairs.length > 0 ? `the suggestion was repaired: ${checked.repairs.join(", ")}` : null;
  return { finding: { ...finding, suggestion: checked.suggestion }, note };
}

function asProse<T extends Suggesting>(finding: T, reason: string): Checked<T> {
  return {
    finding: withoutSuggestion(finding, reason),
    note: `the suggestion becomes prose, because ${reason}`,
  };
}

/** Moves the proposed code into the body, so that nothing is lost. `reason` is a clause of ours. */
export function withoutSuggestion<T extends Pick<Finding, "body" | "suggestion">>(
  finding: T,
  reason: string,
): T {
  if (finding.suggestion === null) return finding;
  const proposal = `Proposed replacement (not offered as a suggestion: ${reason}):`;
  return {
    ...finding,
    suggestion: null,
    body: `${finding.body}\n\n${proposal}\n\n${fence(finding.suggestion)}`,
  };
}

/** The lines to replace the anchored ones with, which are deleted if it is empty, and the repairs in words; or why not, as a clause. */
type CheckedSuggestion =
  | { ok: true; suggestion: string; repairs: readonly string[] }
  | { ok: false; reason: string };

interface SuggestionToCheck {
  path: string;
  /** The head's file, without line feeds but with any carriage return. */
  lines: readonly string[];
  /** 1-indexed and inclusive: exactly the lines that are replaced. */
  start: number;
  end: number;
  suggestion: string;
}

/**
 * Applies a suggestion to a copy of the file. It is accepted if it changes something, is a version of the lines it replaces, and
 * leaves the file no worse. Fences, diff signs, indentation and copied neighboring lines are repaired first. In doubt it is refused:
 * a suggestion as prose costs little.
 */
export async function checkSuggestion(given: SuggestionToCheck): Promise<CheckedSuggestion> {
  const { path, start, end, suggestion } = given;
  const unfit = outOfBounds(given);
  if (unfit) return { ok: false, reason: unfit };
  if (suggestion !== "" && isBlank(suggestion)) return { ok: false, reason: "it contains only white space" };
  const lines = given.lines.map((line) => line.replace(/\r$/, ""));
  const around: Anchored = {
    path,
    before: lines.slice(0, start - 1),
    old: lines.slice(start - 1, end),
    after: lines.slice(end),
  };
  const repaired = repair(suggestion, around);
  if (!repaired) return { ok: false, reason: "it only repeats the lines around the finding" };
  const reason = await reasonToRefuse(repaired, around);
  if (reason !== null) return { ok: false, reason };
  return { ok: true, suggestion: withLineEnds(repaired.lines, given), repairs: repaired.repairs };
}

/** Why the lines or the suggestion cannot be checked; null if they can. */
function outOfBounds({ lines, start, end, suggestion }: SuggestionToCheck): string | null {
  if (start < 1 || end < start || end > lines.length) return "the file has no such lines";
  const characters = lines.reduce((sum, line) => sum + line.length + 1, 0);
  if (characters > 300_000) return "the file is too large to check it";
  const old = lines.slice(start - 1, end);
  if (end - start >= 500 || suggestion.length > 20_000 || old.join("\n").length > 20_000)
    return "it is too long to check it";
  // Patterns with lookbehind are slow on longer lines.
  if ([...old, ...suggestion.split("\n")].some((line) => line.length > 2_000))
    return "its lines are too long to check them";
  return isWorthParsing(lines.join("\n")) ? null : "the file's lines are too long to check it";
}

/** Adds the carriage returns of the replaced lines; the file's last line may have none. */
function withLineEnds(replacement: readonly string[], { lines, start, end }: SuggestionToCheck): string {
  const isCrlf =
    lines[start - 1]?.endsWith("\r") || (start === lines.length && lines[start - 2]?.endsWith("\r"));
  const lastHasOne = lines[end - 1]?.endsWith("\r");
  return replacement
    .map((line, at) => (isCrlf && (at < replacement.length - 1 || lastHasOne) ? `${line}\r` : line))
    .join("\n");
}

/** Why lines must not replace the anchored ones, as a clause; null if they may. Slow checks come last. */
async function reasonToRefuse({ lines: now, hadCopies }: Repaired, around: Anchored): Promise<string | null> {
  if (texts(now).join("\n") === texts(around.old).join("\n")) return "it changes nothing";
  return (
    noCode(now, around) ??
    (isProse(around.path) ? null : otherLines(now, around, hadCopies ? 0 : 1)) ??
    misplaced(now, around) ??
    (isProse(around.path) ? null : cutOff(now, around, hadCopies)) ??
    (await worseFile(now, around))
  );
}

const texts = (lines: readonly string[]) => filled(lines).map((line) => line.trim());

const marks =
  /^\s*(?:`{3,}|~{3,})|^(?:<{7}|>{7}|={7}|\|{7})(?: |$)|^\s*(?:__END__|__DATA__|__halt_compiler\(\);?)\s*$/;
/** Comments with which models say that they leave code out. */
const omission =
  /^\W*(?:\.{3}|\u2026)\W*$|^\s*(?:\/\/|#|--|;|%|\/\*|<!--|\{\/\*|\*)\W*(?:\.{3}|\u2026|(?:the )?rest of the (?:code|file|class|function|method)|existing code|(?:code )?(?:remains )?(?:unchanged|omitted)|same as (?:before|above))/i;
const emojiParts = /(?<=\p{Extended_Pictographic}\p{Emoji_Modifier}?)(?:\uFE0F|\u200D)/gu;

/** Why the lines cannot be code, in any file. */
function noCode(now: readonly string[], { old }: Anchored): string | null {
  const known = new Set(old.join(""));
  const isHidden = (one: string) => !known.has(one) && escapeInvisible(one) !== one;
  if ([...new Set(now.join("").replace(emojiParts, ""))].some(isHidden))
    return "it contains invisible characters";
  if (now.some((line, at) => !isBlank(line) && [1, 2, 3].every((step) => now[at + step] === line)))
    return "it keeps repeating the same text";
  const added = texts(now).filter((line) => !texts(old).includes(line));
  if (added.some((line) => marks.test(line)))
    return "it contains a Markdown fence, a merge marker or the end of the code";
  // Grammars accept a heredoc without an end mark if it reaches to the end of the file.
  const ends = added.flatMap((line) => [...line.matchAll(/<<[-~]?["'`]?([A-Z_]\w*)/g)].map(([, end]) => end));
  if (ends.some((end) => !texts(now).includes(end ?? ""))) return "a text in it has no end";
  return added.some((line) => omission.test(line)) ? "it omits code and says so" : null;
}

/** The words of some lines; short ones only if there are no longer ones. */
const wordsOf = (lines: readonly string[]) => {
  const text = lines.join("\n");
  return new Set(text.match(/[A-Za-z_]\w{2,}/g) ?? text.match(/[A-Za-z_]\w?/g) ?? []);
};
const keywords =
  /^(?:and|const|def|do|done|elif|else|end|esac|false|fi|for|if|in|let|new|nil|none|not|null|or|return|then|this|self|true|undefined|var|while)$/i;

/** Whether the new lines keep at least half of the old words, including a name; if there are no names, all words. */
function isVersion(now: readonly string[], old: readonly string[]): boolean {
  const own = [...wordsOf(now)];
  const words = [...wordsOf(old)];
  const kept = words.filter((word) =>
    own.some((other) => other === word || (word.length > 2 && other.includes(word))),
  );
  const isName = (word: string) => !keywords.test(word);
  if (words.some(isName)) return kept.length * 2 >= words.length && kept.some(isName);
  return kept.length === words.length || filled(now).length <= filled(old).length;
}

/** Why a suggestion is no version of the lines it replaces: it loses lines or words, or repeats lines around them. */
function otherLines(now: readonly string[], around: Anchored, mostLost: number): string | null {
  const { before, old, after } = around;
  if (
    lostLines(texts(old), texts(now)) > mostLost ||
    lostLines(texts(old).toReversed(), texts(now).toReversed()) > mostLost
  )
    return "it omits some of the lines that it replaces";
  if (isUnclear(now, around)) return "its first or last line may be a copy of the neighboring line";
  const isDeletion = texts(now).every((line) => texts(old).includes(line));
  const isWord = [now, old].every((lines) => lines.length === 1 && wordsOf(lines).size === 1);
  if (!isDeletion && !isWord && !isVersion(now, old))
    return "it has little in common with the lines it replaces";
  const added = texts(now).filter((line) => !texts(old).includes(line));
  const near = new Set(texts([...before.slice(-40), ...after.slice(0, 40)]));
  // A different value for what the next line sets.
  const setting = (line = "") => /^[^=(]*\w\s*=(?![=>~])/.exec(line)?.[0];
  const last = setting(added.find((line) => line === texts(now).at(-1)));
  const isSet = last !== undefined && last === setting(texts(after)[0]);
  return isSet || added.some((line) => /\w\W+\w+\W+\w/.test(line) && near.has(line))
    ? "it repeats lines next to those that it replaces"
    : null;
}

/** Whether brackets or `end` at both ends may be copies of those outside: no parser notices a pair that is too many. */
function isUnclear(now: readonly string[], { path, before, old, after }: Anchored): boolean {
  const [own, was] = [texts(now), texts(old)];
  const above = repeats(own, texts(before.slice(-40)).toReversed());
  const below = repeats(own.toReversed(), texts(after.slice(0, 40)));
  const [isNewHead, isNewEnd] = [own[0] !== was[0], own.at(-1) !== was.at(-1)];
  if (above && below && (isNewHead || isNewEnd)) return true;
  return !hasGrammar(path) && ((above && isNewHead) || (below && isNewEnd));
}

/** Whether some first lines are brackets, and in the same order the last ones outside, which are given nearest first. */
function repeats(lines: readonly string[], outside: readonly string[]): boolean {
  const brackets = lines.findIndex(isSignificant);
  const most = brackets < 0 ? lines.length : brackets;
  return Array.from({ length: most }, (_, at) => lines.slice(0, at + 1)).some((copy) =>
    copy.toReversed().every((line, at) => line === outside[at]),
  );
}

function lostLines(old: readonly string[], now: readonly string[]): number {
  let [from, left] = [0, 0];
  for (const line of now.filter(isSignificant)) {
    const at = old.indexOf(line, from);
    if (at >= 0) [from, left] = [at + 1, 0];
    else if (!old.includes(line)) left += 1;
  }
  return old.slice(from).filter(isSignificant).length - left;
}

/** Whether fewer lines than before begin or end with a version of another line: then a deletion may not be intended. */
function cutOff(now: readonly string[], { old }: Anchored, hadCopies: boolean): string | null {
  const isOpen = (at: 0 | -1) => {
    const [line = "", before = ""] = [texts(now).at(at), texts(old).at(at)];
    return !isSignificant(before) && line !== before;
  };
  if (hadCopies && (isOpen(0) || isOpen(-1))) return "its first or last line may be missing";
  const [own, was] = [texts(now).filter(isSignificant), texts(old).filter(isSignificant)];
  const isDeletion = texts(now).every((line) => texts(old).includes(line));
  const isKept = (at: 0 | -1) => isVersion(own.slice(at).slice(0, 1), was.slice(at).slice(0, 1));
  if (isDeletion || own.length >= was.length || (isKept(0) && isKept(-1))) return null;
  return "its first or last line may be missing";
}

const widthOf = (line: string) => indentOf(line).replaceAll("\t", " ".repeat(8)).length;
/** Why the indentation does not match the replaced lines. */
function misplaced(now: readonly string[], { path, before, old, after }: Anchored): string | null {
  const file = [...before, ...old, ...after];
  const unit = unitOf(file, old);
  if (breaksStyle(now, unit) && !breaksStyle(old, unit))
    return "its indentation differs from that of the file";
  // Preprocessor directives start at the margin.
  const widths = (lines: readonly string[]) =>
    filled(lines)
      .filter((line) => !/^#/.test(line))
      .map(widthOf);
  const least = Math.min(...widths(old));
  if (widths(now).some((width) => width < least && Number.isFinite(least)))
    return "it is indented less than the lines it replaces";
  const [[first], [oldFirst]] = [filled(now), filled(old)];
  const isKept = oldFirst === undefined || texts(now).includes(oldFirst.trim()) || /^#/.test(oldFirst);
  if (first !== undefined && !isKept && widthOf(first) > widthOf(oldFirst))
    return "the head of a block would be lost";
  const below = after.find((line) => !isBlank(line)) ?? "";
  const [last, oldLast] = [filled(now).at(-1), filled(old).at(-1)];
  const isHead = oldLast !== undefined && widthOf(below) > widthOf(oldLast);
  if (isHead && (last === undefined || widthOf(last) !== widthOf(oldLast)))
    return "the block behind it would lose its head";
  return isIndented(path) ? brokenLayout(filled(now), filled(old), { path, before, old, after }) : null;
}

/** In languages with significant indentation, a deeper line belongs to the line above. */
function brokenLayout(own: string[], was: string[], { before, old, after }: Anchored): string | null {
  if (leavesBlock(own, was, stepOf([...before, ...old, ...after])))
    return "a line would move out of its block";
  const above = before.findLast((line) => !isBlank(line)) ?? "";
  const below = widthOf(after.find((line) => !isBlank(line)) ?? "");
  const [last, oldLast] = [own.at(-1) ?? above, was.at(-1) ?? above];
  const isHead = /:\s*$/.test(last) && !/:\s*$/.test(oldLast);
  const isEmptied = own.length === 0 && widthOf(was[0] ?? "") > widthOf(above) && below <= widthOf(above);
  if (below > widthOf(oldLast)) return null;
  return below > widthOf(last) || isEmptied || isHead ? "a block would get other lines, or none" : null;
}

/** Whether a line has an impossible indentation, or an old line moves without a new block head above it. */
function leavesBlock(own: string[], was: string[], step: number): boolean {
  const base = widthOf(was[0] ?? "");
  const shifts = own.map((line) => {
    const same = was.filter((other) => other.trim() === line.trim());
    if (same.includes(line)) return 0;
    return same.length === 0 ? null : widthOf(line) - widthOf(same[0] ?? "");
  });
  return own.some((line, at) => {
    const [shift, above = ""] = [shifts[at] ?? null, own[at - 1]];
    if (shift === 0) return false;
    const isDeeper = at > 0 && widthOf(line) > widthOf(above.replace(/^(\s*)-(?= )/, "$1 "));
    const isHeaded = isDeeper && /[:([{,|>\\-]$|"""/.test(above.trimEnd());
    if (shift === null) return (widthOf(line) - base) % step !== 0 || isDeeper !== isHeaded;
    const previous = at > 0 ? (shifts[at - 1] ?? null) : 0;
    return shift < 0 || (previous === null ? !isHeaded : previous !== shift);
  });
}

/** Why the file would be worse with the lines: by a parser, or else by brackets, quotes and keywords. */
async function worseFile(now: readonly string[], around: Anchored): Promise<string | null> {
  const { path, before, old, after } = around;
  const whole = (lines: readonly string[]) => [...before, ...lines, ...after].join("\n");
  if (!isWorthParsing(whole(now))) return "the file would be too large to check it";
  if (hasGrammar(path)) return worseSyntax(path, { old: whole(old), now: whole(now) }, now, around);
  if (isData(path)) return worseData({ old: whole(old), now: whole(now) }, now, around);
  if (isProse(path)) return null;
  const isSame =
    now.length === old.length && now.every((line, at) => shapeOf(line) === shapeOf(old[at] ?? ""));
  return isSame
    ? null
    : "no parser here supports its language, and it changes more than words within the lines";
}

/** The characters and keywords of a line that may form blocks, for languages without a parser. */
const shapeOf = (line: string) =>
  indentOf(line) +
  (
    line.match(
      /[()[\]{}"'`\\;#]|<<|[^\w\s]+\s*$|<\/?[\w-]*|\b(?:begin|case|class|def|do|done|elif|else|elsif|end|esac|fi|for|function|if|in|loop|repeat|then|try|until|when|while|with)\b/g,
    ) ?? []
  ).join(" ");

interface Versions {
  old: string;
  now: string;
}

async function worseSyntax(
  path: string,
  text: Versions,
  now: readonly string[],
  { before, old }: Anchored,
): Promise<string | null> {
  const start = before.length + 1;
  const was = await readSyntax(path, text.old, { start, end: before.length + old.length });
  const is = await readSyntax(path, text.now, { start, end: before.length + now.length });
  if (!was || !is) return "the file is nested too deeply or too dense to check it";
  // A fault outside of the lines must match at its shifted line.
  const placeOf = (count: number) => (fault: SyntaxFault) => {
    if (fault.endLine < start) return `${fault.what} ${fault.line}`;
    return fault.line >= start + count ? `${fault.what} ${fault.line - count}` : fault.what;
  };
  const known = new Set(was.faults.map(placeOf(old.length)));
  const added = is.faults.find((fault) => !known.has(placeOf(now.length)(fault)));
  if (added) return added.what;
  const reaches = ({ isGuess, line, endLine }: SyntaxFault) =>
    isGuess && endLine >= start && line < start + now.length;
  if (is.faults.some(reaches)) return "the file does not parse at these lines as it is";
  const isJoined = is.below === was.below && (now.length === 0 || is.above === was.above);
  return isJoined ? null : "lines around it would belong to other blocks";
}

async function worseData(
  text: Versions,
  now: readonly string[],
  { path, old }: Anchored,
): Promise<string | null> {
  const [was, is] = [await faultInData(path, text.old), await faultInData(path, text.now)];
  if (is !== null)
    return was === null ? `the file would not parse: ${is}` : "the file does not parse as it is";
  const lines = { old: old.join("\n"), now: now.join("\n") };
  // A section of TOML, and a document or an anchor of YAML, applies to the lines after it.
  const heads = /\.toml$/i.test(path) ? /^\s*\[.*\]/gm : /^(?:---|\.\.\.)|(?<=\s)&[\w-]+/gm;
  const isWhole = unpaired(lines.old) === unpaired(lines.now);
  if (!isWhole || String(lines.old.match(heads)) !== String(lines.now.match(heads)))
    return "lines around it would belong to other blocks";
  return isPlainJson(text.old) && !isPlainJson(text.now)
    ? "JSON has neither comments nor trailing commas"
    : null;
}

function unpaired(text: string): string {
  const left: string[] = [];
  for (const bracket of text.replace(/"(?:\\.|[^"\\])*"|'[^'\n]*'/g, "").match(/[()[\]{}]/g) ?? [])
    if (["()", "[]", "{}"].includes(`${left.at(-1)}${bracket}`)) left.pop();
    else left.push(bracket);
  return left.join("");
}
