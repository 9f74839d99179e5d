import { grammarOf } from "../code/languages.ts";
import { parseText } from "../code/parse.ts";
import { type Analyzer, baseText } from "./analyzer.ts";
import { brokenFile, isBrokenOnPurpose, lineOfChange } from "./data-formats.ts";

/** The languages whose parser was wrong about at most one in 2,000 real changes: the table is in docs/analyzers.md. */
export const proven: ReadonlySet<string> = new Set(["go", "java", "javascript", "php", "python", "ruby"]);

/** In tags, browsers and compilers take signs such as `&` that the parser refuses: programs with tags are a language of their own. */
const tags = /<\/[A-Za-z>]|\/>/;
const languageOf = (dialect: string, text: string) =>
  dialect === "JavaScript" && tags.test(text) ? "jsx" : dialect.toLowerCase();

/**
 * Finds code that its parser read before the change and does not read after it: the first analyzer in languages whose parser is as good as
 * the compiler, the second in the others, where a model judges.
 */
export const createBrokenCodeAnalyzers = (): Analyzer[] => [
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
      const told = { line: lineOfChange(file, fault), source: `${name}/${language}` };
      return wasSound
        ? [brokenFile(file, { ...told, title, category: "correctness" }, { line: fault, message })]
        : [];
    },
  };
}
