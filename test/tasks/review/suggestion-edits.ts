import { rewrites } from "./suggestion-rewrites.ts";
import type { Language, Sample } from "./suggestion-samples.ts";

/** A change that is right: these lines become those. Lines are 1-indexed and inclusive. */
export interface Edit {
  sample: Sample;
  what: string;
  start: number;
  end: number;
  replacement: readonly string[];
}

export const indentOf = (line: string) => /^\s*/.exec(line)![0];
const isBlank = (line: string) => line.trim() === "";

/** The file as it is after an edit. */
export function edited({ sample, start, end, replacement }: Edit): string[] {
  return [...sample.lines.slice(0, start - 1), ...replacement, ...sample.lines.slice(end)];
}

/** Every edit that the generator knows for a file. */
export function editsOf(sample: Sample): Edit[] {
  const lines = sample.lines.map((_, at) => at);
  const small = lines.flatMap((at) => [...lineEdits(sample, at), ...statementEdits(sample, at)]);
  const blocks = lines.flatMap((at) => blockEdits(sample, at, small));
  return [...small, ...blocks, ...rewriteEdits(sample)];
}

/** Operators that may stand in each other's place. */
const operators: Record<string, string> = {
  " > ": " >= ",
  " >= ": " > ",
  " < ": " <= ",
  " <= ": " < ",
  " === ": " !== ",
  " == ": " != ",
  " != ": " == ",
  " && ": " || ",
  " || ": " && ",
  " + ": " - ",
  " - ": " + ",
  " += ": " -= ",
  " -gt ": " -ge ",
};
const keywords = new Set(
  `abstract and async await begin boolean break case catch class const constructor continue default defer done echo elif else end ensure
  enum esac except exit export extends false final finally fmt from func function import interface let local long match module
  mut null None package private public range readonly require rescue return select self sizeof source static std string
  struct super switch then this throw trap true type unless unsigned until use using void when where while with yield
  size_t char raise record void number void echo read`.split(/\s+/),
);

const outsideStrings = (line: string, at: number) => /^(?:[^"'`]|"[^"]*"|'[^']*')*$/.test(line.slice(0, at));
const isComment = (line: string) => /^\s*(?:\/\/|\/?\*|#|""")/.test(line);

function lineEdits(sample: Sample, at: number): Edit[] {
  const line = sample.lines[at]!;
  if (isComment(line) || sample.language.name === "JSON" || line.includes("import "))
    return numberEdit(sample, at);
  const edit = (what: string, changed: string) => oneLine(sample, what, at, [changed]);
  const found: Edit[] = [];
  for (const [operator, other] of Object.entries(operators)) {
    const place = line.indexOf(operator);
    if (place >= 0 && !sample.language.isData && outsideStrings(line, place) && !/<\w|>$|&self/.test(line))
      found.push(edit("operator", line.slice(0, place) + other + line.slice(place + operator.length)));
  }
  const name = line.match(/(?<![<./"'\w$-])[a-z][A-Za-z_]{3,}\b(?!["'])/g)?.find((one) => !keywords.has(one));
  if (name && !sample.language.isData && outsideStrings(line, line.indexOf(name)) && !/[<>]/.test(line))
    found.push(edit("name", line.replaceAll(new RegExp(`\\b${name}\\b`, "g"), `${name}Value`)));
  return [...found, ...numberEdit(sample, at)];
}

function numberEdit(sample: Sample, at: number): Edit[] {
  const line = sample.lines[at]!;
  const changed = line.replace(/(?<![\w.$'"&])\d+(?![\w'.]|_)/, "42");
  return changed === line || isComment(line) ? [] : [oneLine(sample, "number", at, [changed])];
}

const oneLine = (sample: Sample, what: string, at: number, replacement: string[]): Edit => ({
  sample,
  what,
  start: at + 1,
  end: at + 1,
  replacement,
});

const indentBy = (indent: string, lines: readonly string[]) => lines.map((line) => indent + line);

/** A line before, a block around, and the line gone. */
function statementEdits(sample: Sample, at: number): Edit[] {
  const { lines, language } = sample;
  const line = lines[at]!;
  const before = lines.slice(0, at).findLast((one) => !isBlank(one)) ?? "";
  if (!language.isSimple(line, before) || isComment(line) || inText(sample, at)) return [];
  const indent = indentOf(line);
  const edits = [oneLine(sample, "guard", at, [...indentBy(indent, language.added()), line])];
  if (language.wrap) {
    const [head, end] = language.wrap;
    const wrapped = [indent + head, language.unit + line, ...(end === null ? [] : [indent + end])];
    edits.push(oneLine(sample, "wrap", at, wrapped));
  }
  if (mayGo(sample, at)) edits.push(oneLine(sample, "deletion", at, []));
  return edits;
}

/** Whether a line is text of a string or of another language's script. */
export function inText({ path, lines }: Sample, at: number): boolean {
  const isOdd = (mark: RegExp) => lines.slice(0, at + 1).filter((line) => mark.test(line)).length % 2 === 1;
  if (/\.(?:toml|py)$/.test(path)) return isOdd(/^[^"]*"{3}[^"]*$/) || /"{3}/.test(lines[at]!);
  if (path.endsWith(".sh")) return isOdd(/\bTEXT$/) || lines[at] === "TEXT";
  if (!path.endsWith(".yml")) return false;
  const head = lines.slice(0, at).findLastIndex((line) => line.endsWith("|"));
  const depth = indentOf(lines[head] ?? "").length;
  return head >= 0 && lines.slice(head + 1, at + 1).every((line) => indentOf(line).length > depth);
}

/** Whether something of the block remains without the line. */
function mayGo({ lines, language }: Sample, at: number): boolean {
  const [before, line, after] = [lines[at - 1] ?? "", lines[at]!, lines[at + 1] ?? ""];
  if (language.name === "JSON") return line.endsWith(",");
  if (language.name === "TOML") return !/^(?:host|port|name)/.test(line);
  const sameBefore = indentOf(before) === indentOf(line) && !isBlank(before);
  const sameAfter = indentOf(after) === indentOf(line) && !isBlank(after);
  if (language.isIndented) return sameAfter || (sameBefore && !/:$/.test(before));
  return !/\b(?:then|do|else)$|\)$|;;|^\s*(?:when|else)/.test(before);
}

const ends = /^\s*(?:[)}\]]|end\b|fi\b|done\b|esac\b|<\/|\/>)/;
const goesOn = /^\s*(?:\}? ?(?:else|catch|finally|rescue|ensure|elif|except|when)\b)/;

/** The last line of the block that a line begins; undefined when it begins none, or one that is too long. */
export function blockEnd(lines: readonly string[], at: number): number | undefined {
  const indent = indentOf(lines[at]!).length;
  if (isBlank(lines[at]!) || ends.test(lines[at]!) || goesOn.test(lines[at]!) || isComment(lines[at]!))
    return undefined;
  let last = at;
  for (let next = at + 1; next < Math.min(lines.length, at + 16); next++) {
    const line = lines[next]!;
    if (isBlank(line)) continue;
    const depth = indentOf(line).length;
    if (depth < indent) break;
    if (depth === indent && goesOn.test(line)) continue;
    if (depth === indent) {
      if (ends.test(line)) last = next;
      break;
    }
    last = next;
  }
  return last > at ? last : undefined;
}

/** A small edit, with the whole block around it in the suggestion. */
function blockEdits(sample: Sample, at: number, small: readonly Edit[]): Edit[] {
  const end = blockEnd(sample.lines, at);
  if (end === undefined) return [];
  const inside = small.filter((edit) => edit.start > at && edit.end <= end + 1);
  return inside
    .filter((_, nth) => nth % 3 === 0)
    .map((edit) => widened(edit, edit.start - 1 - at, end + 1 - edit.end, "block"));
}

/** The same edit, with unchanged lines before and after it in the suggestion. */
export function widened(edit: Edit, above: number, below: number, what = edit.what): Edit {
  const { lines } = edit.sample;
  const start = Math.max(1, edit.start - above);
  const end = Math.min(lines.length, edit.end + below);
  const replacement = [
    ...lines.slice(start - 1, edit.start - 1),
    ...edit.replacement,
    ...lines.slice(edit.end, end),
  ];
  return { ...edit, what, start, end, replacement };
}

function rewriteEdits(sample: Sample): Edit[] {
  const name = sample.path.replace("src/", "");
  return (rewrites[name] ?? []).map(([old, replacement]) => {
    const [first] = old;
    const at = sample.lines.findIndex(
      (line, index) => line === first && old.every((one, offset) => sample.lines[index + offset] === one),
    );
    if (at < 0) throw new Error(`${name} has no '${first}'`);
    return { sample, what: "rewrite", start: at + 1, end: at + old.length, replacement };
  });
}

/** What brackets and block words of some lines leave open or close; for samples, whose strings hold no odd ones. */
export function netDepth(lines: readonly string[], { words, comment, name }: Language): string {
  const code = lines.map(
    (line) =>
      line
        .replace(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\]){0,60}'/g, (quoted) =>
          name === "Rust" && quoted.length > 4 ? quoted : "0",
        )
        .replace(name === "shell" ? /^\s*[^()\s][^()]*\)/ : "", "")
        .replace(/\$\{[^}]*\}|\$\(\(?[^)]*\)?\)|\$#|/g, "")
        .split(comment === "" ? "\n" : ` ${comment}`)[0]!,
  );
  const count = (pattern: RegExp) => code.reduce((sum, line) => sum + (line.match(pattern)?.length ?? 0), 0);
  const depths = [
    count(/\(/g) - count(/\)/g),
    count(/\[/g) - count(/\]/g),
    count(/\{/g) - count(/\}/g),
    name === "TSX"
      ? (code.join("\n").match(/(?<!\w)<[A-Za-z]\w*[^/]*?(?<!=)>/g)?.length ?? 0) - count(/<\/\w+>/g)
      : 0,
    words
      ? code.filter((line) => words[0].test(line)).length - code.filter((line) => words[1].test(line)).length
      : 0,
  ];
  return depths.join(" ");
}
