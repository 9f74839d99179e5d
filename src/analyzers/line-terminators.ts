import { extensionOf } from "../code/languages.ts";

/** What ends a line of a language besides a line feed. */
export interface LineTerminators {
  /** The characters, for a class of a regular expression. */
  characters: string;
  /** How a comment begins that ends with its line. */
  comment: RegExp;
  /** Whether a text may hold these characters outside of comments and strings: then only the end of a comment tells anything. */
  isData: boolean;
}

const slashes = /\/\//y;
const hash = /#/y;

/**
 * Only languages whose definition, or whose compiler, says so; all of them take a line feed, and a carriage return before it, for one
 * line end. In Go, Rust, Ruby and shells a lone carriage return is white space, and nothing else but a line feed ends a line.
 *
 * - ECMAScript, and TypeScript's scanner: ECMA-262, 12.3 "Line Terminators". Since ES2019 strings may hold U+2028 and U+2029.
 * - C#: ECMA-334, 6.3.2 "Line terminators".
 * - Java: JLS 3.4. Kotlin: language specification 1.2.1, `NL`. Swift: reference, "Lexical structure", `line-break`. Dart:
 *   specification, `NEWLINE`.
 * - Python: language reference 2.1.2 "Physical lines".
 * - PHP: `NEWLINE` of Zend's scanner.
 * - C, C++: left to the implementation. Clang: `isVerticalWhitespace`, which ends its line comments.
 * - YAML: 1.2, 5.4 "Line Break Characters", has the carriage return; 1.1 and the libraries that follow libyaml have the others too.
 */
const languages: readonly (LineTerminators & { extensions: string })[] = [
  {
    extensions: "js jsx mjs cjs ts mts cts tsx",
    ...{ characters: "\\r\\u2028\\u2029", comment: slashes, isData: false },
  },
  { extensions: "cs csx", characters: "\\r\\x85\\u2028\\u2029", comment: slashes, isData: false },
  {
    extensions: "java kt kts swift dart c h cc cpp cxx hh hpp hxx ipp m mm cu",
    ...{ characters: "\\r", comment: slashes, isData: false },
  },
  { extensions: "py pyi", characters: "\\r", comment: hash, isData: false },
  // `#[` begins an attribute.
  { extensions: "php", characters: "\\r", comment: /\/\/|#(?!\[)/y, isData: false },
  { extensions: "yml yaml", characters: "\\r\\x85\\u2028\\u2029", comment: /(?<!\S)#/y, isData: true },
];

/** Undefined for files of languages in which only a line feed ends a line, or of which nobody knows. */
export function lineTerminatorsOf(path: string): LineTerminators | undefined {
  const extension = extensionOf(path);
  return languages.find(({ extensions }) => extensions.split(" ").includes(extension));
}
