import { type DataError, dataFormatOf, firstError } from "../../../repo/code/data-formats.ts";
import { grammarOf } from "../../../repo/code/languages.ts";
import { parseText } from "../../../repo/code/parse.ts";
import { isTestFile } from "../../../repo/code/test-file.ts";
import type { LockFault } from "../../../repo/diff/locks/compare.ts";
import { type AnalyzedFile, type Analyzer, baseText, type Diagnostic, seamLines } from "./analyzer.ts";

/** Names that tests give to data that is broken on purpose. */
const onPurpose = /broken|invalid|malformed|corrupt|bad|wrong|error|fail/i;

/** Markers of a merge conflict break every format, and another analyzer reports them. */
const conflict = /^(?:<{7}|>{7})(?: |$)/m;

/** Whether a text is broken for a known reason: a conflict, or a test's need. Blank texts are not data. */
const isBrokenOnPurpose = ({ path, text }: Pick<AnalyzedFile, "path" | "text">): boolean =>
  text.trim() === "" || conflict.test(text) || (isTestFile(path) && onPurpose.test(path));

/** Finds JSON, YAML and TOML files that can no longer be parsed, if this change broke them. */
export const brokenDataAnalyzer: Analyzer = {
  name: "broken-data",
  async analyze(file) {
    const format = dataFormatOf(file.path);
    if (!format || isBrokenOnPurpose(file)) return [];
    const error = await firstError(format, file.path, file.text);
    if (!error) return [];
    const before = baseText(file);
    const wasBroken = before !== null && (await firstError(format, file.path, before)) !== null;
    const line = wasBroken ? error.line : lineOfChange(file, error.line);
    const source = `broken-data/${format.toLowerCase()}`;
    const named = { line, title: `The file is not valid ${format}`, category: "data", source } as const;
    return file.addedLines.has(line) || !wasBroken ? [brokenFile(file, named, error)] : [];
  },
};

/** The changed line nearest to the parser's error; lines before it come first. */
function lineOfChange(file: AnalyzedFile, line: number): number {
  const changed = [...new Set([...file.addedLines, ...seamLines(file)])].sort((a, b) => a - b);
  return changed.findLast((one) => one <= line) ?? changed[0] ?? line;
}

function brokenFile(
  file: AnalyzedFile,
  { line, ...named }: Pick<Diagnostic, "line" | "title" | "category" | "source">,
  error: Pick<DataError, "line" | "message">,
): Diagnostic {
  const place = line === error.line ? "here" : `on line ${error.line}, because of what changed here`;
  const body = `Parsing fails ${place}: ${error.message}. Programs that read this file will reject all of it.`;
  return { ...named, path: file.path, line, severity: "high", body };
}

/** The languages whose parser was wrong about at most one in 2,000 real changes: the table is in docs/analyzers.md. */
export const proven: ReadonlySet<string> = new Set(["go", "java", "javascript", "php", "python", "ruby"]);

/** In tags, browsers and compilers take signs such as `&` that the parser refuses: programs with tags are a language of their own. */
const tags = /<\/[A-Za-z>]|\/>/;
const languageOf = (dialect: string, text: string) =>
  dialect === "JavaScript" && tags.test(text) ? "jsx" : dialect.toLowerCase();

/** Finds code that no longer parses: for certain in languages with a proven parser, else for a model to judge. */
export const brokenCodeAnalyzers: readonly Analyzer[] = [
  brokenCode("broken-code", (language) => proven.has(language)),
  brokenCode("parse-errors", (language) => !proven.has(language)),
];

const title = "The file no longer parses";
const message = "before this change, the parser of this language read the whole file";

function brokenCode(name: string, isMine: (language: string) => boolean): Analyzer {
  return {
    name,
    async analyze(file) {
      const { path, text } = file;
      if (grammarOf(path) === null || isBrokenOnPurpose(file)) return [];
      const tree = (await parseText(path, text))?.tree;
      const language = languageOf(tree?.dialect ?? "", text);
      const fault = tree && isMine(language) ? tree.faultLine() : null;
      const before = fault === null ? null : baseText(file);
      if (fault === null || !before?.trim()) return [];
      const wasSound = (await parseText(path, before))?.tree?.isSound() === true;
      const named = { line: lineOfChange(file, fault), source: `${name}/${language}` };
      return wasSound
        ? [brokenFile(file, { ...named, title, category: "correctness" }, { line: fault, message })]
        : [];
    },
  };
}

const mostListed = 20;

/** The one finding about a lock file; none without faults. No text of the file can act in it. */
export function lockDiagnostics(file: AnalyzedFile, faults: readonly LockFault[]): Diagnostic[] {
  if (faults.length === 0) return [];
  const entries = new Set(faults.map(({ entry }) => entry)).size;
  const isOne = entries === 1;
  const listed = faults
    .slice(0, mostListed)
    .map(({ entry, text, line }) => `- line ${line}: \`${entry}\` ${text}`);
  const more = faults.length > mostListed ? [`- and ${faults.length - mostListed} more`] : [];
  const first = Math.min(...faults.slice(0, mostListed).map(({ line }) => line));
  const found: Diagnostic = {
    path: file.path,
    // A fault that a removal causes is reported beside the removal.
    line: lineOfChange(file, first),
    severity: "critical",
    category: "security",
    source: "lock-files/entries",
    title: `The lock file has ${isOne ? "an entry" : `${entries} entries`} that no package manager would write`,
    body: [
      `Compared with the base branch, ${isOne ? "this entry" : "each of these entries"} lets other code be installed under a known name, or code that nothing needs:`,
      [...listed, ...more].join("\n"),
      "Write the lock file again with the package manager, from the lock file of the base branch. If the change is intended, say so here.",
    ].join("\n\n"),
  };
  return [found];
}
