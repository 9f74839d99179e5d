import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as AstGrep from "@ast-grep/napi";
import { once } from "./source.ts";

export type { NapiConfig, SgNode } from "@ast-grep/napi";

/** `javascript` is the whole family: JavaScript, TypeScript, JSX and TSX. */
export type Language =
  | "javascript"
  | "python"
  | "go"
  | "java"
  | "c"
  | "cpp"
  | "rust"
  | "ruby"
  | "kotlin"
  | "csharp"
  | "php";

export interface Grammar {
  language: Language;
  /** The name of the grammar in ast-grep. */
  dialect: string;
  extensions: readonly string[];
}

const allGrammars: readonly Grammar[] = [
  { language: "javascript", dialect: "JavaScript", extensions: ["js", "jsx", "mjs", "cjs"] },
  { language: "javascript", dialect: "TypeScript", extensions: ["ts", "mts", "cts"] },
  { language: "javascript", dialect: "Tsx", extensions: ["tsx"] },
  { language: "python", dialect: "python", extensions: ["py", "pyi"] },
  { language: "go", dialect: "go", extensions: ["go"] },
  { language: "java", dialect: "java", extensions: ["java"] },
  { language: "c", dialect: "c", extensions: ["c", "h"] },
  { language: "cpp", dialect: "cpp", extensions: ["cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "cu"] },
  { language: "rust", dialect: "rust", extensions: ["rs"] },
  { language: "ruby", dialect: "ruby", extensions: ["rb", "rake", "gemspec"] },
  { language: "kotlin", dialect: "kotlin", extensions: ["kt", "kts"] },
  { language: "csharp", dialect: "csharp", extensions: ["cs"] },
  { language: "php", dialect: "php", extensions: ["php"] },
];

/** The dialects that ast-grep parses by itself. For each other one a library is registered. */
const builtIn = ["JavaScript", "TypeScript", "Tsx"];

/** The dialects for which a library is registered; the package `@ast-grep/lang-<dialect>` brings it. */
export const registeredDialects: readonly string[] = allGrammars
  .map(({ dialect }) => dialect)
  .filter((dialect) => !builtIn.includes(dialect));

const grammars = once(() =>
  allGrammars.filter(({ dialect }) => builtIn.includes(dialect) || parsers().has(dialect)),
);

/** The file name's last extension in lower case, without the dot; empty if there is none. */
export function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
}

/** The grammar for a path; null if there is none, or no parser for this machine. */
export function grammarOf(path: string): Grammar | null {
  const extension = extensionOf(path);
  return grammars().find((grammar) => grammar.extensions.includes(extension)) ?? null;
}

/** Other names of languages in ast-grep's rule files, by dialect. https://ast-grep.github.io/reference/languages.html */
const otherNames: Record<string, string> = {
  js: "JavaScript",
  jsx: "JavaScript",
  ts: "TypeScript",
  py: "python",
  golang: "go",
  kt: "kotlin",
  cc: "cpp",
  "c++": "cpp",
  cxx: "cpp",
  cs: "csharp",
  rb: "ruby",
  rs: "rust",
};

/** The dialect that a rule file of ast-grep means; null if it is unknown, or this machine has no parser for it. */
export function dialectNamed(name: string): string | null {
  const lower = name.toLowerCase();
  const wanted = Object.hasOwn(otherNames, lower) ? otherNames[lower] : lower;
  const known = grammars().find(({ dialect }) => dialect === wanted || dialect.toLowerCase() === lower);
  return known?.dialect ?? null;
}

/** All grammars of a language: its dialects. None if there is no parser for this machine. */
export function grammarsOf(language: Language): Grammar[] {
  return grammars().filter((grammar) => grammar.language === language);
}

/** The languages that have a parser on some machines, but not on this one: they are read by their layout. */
export function languagesWithoutParser(): Language[] {
  return allGrammars.filter((grammar) => !grammars().includes(grammar)).map(({ language }) => language);
}

type Parser = AstGrep.DynamicLangRegistrations[string];

/** The parsers for this machine, by dialect. A library that cannot be loaded is left out, because ast-grep would abort the process. */
const parsers = once((): ReadonlyMap<string, Parser> => {
  const parserOf = shippedParsers() ?? parserOfPackage;
  const found = new Map<string, Parser>();
  for (const dialect of registeredDialects) {
    const parser = parserOf(dialect);
    if (parser && canLoad(parser.libraryPath)) found.set(dialect, parser);
  }
  return found;
});

/** Only the built program has this folder. `scripts/grammars.ts` writes it. */
const shipped = join(import.meta.dirname, "../../grammars");

function shippedParsers(): ((dialect: string) => Parser | null) | null {
  let text: string;
  try {
    text = readFileSync(join(shipped, "parsers.json"), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  const facts: Record<string, Omit<Parser, "libraryPath">> = JSON.parse(text);
  const platform = `${process.platform}-${process.arch}`;
  return (dialect) => {
    const known = facts[dialect];
    return known ? { ...known, libraryPath: join(shipped, platform, `${dialect}.so`) } : null;
  };
}

function parserOfPackage(dialect: string): Parser | null {
  const parser: Parser = createRequire(import.meta.url)(`@ast-grep/lang-${dialect}`);
  try {
    // A getter that throws if the package has no library for this machine.
    return { ...parser, libraryPath: parser.libraryPath };
  } catch {
    return null;
  }
}

/** Node loads only its own addons. Its complaint that a library is none means that the system has loaded it. */
function canLoad(library: string): boolean {
  try {
    process.dlopen({ exports: {} }, library);
    return true;
  } catch (error) {
    return String(error).includes("did not self-register");
  }
}

let engine: Promise<typeof AstGrep> | undefined;

/** ast-grep with all grammars of this machine: it ignores all but the first registration of grammars. */
export function loadAstGrep(): Promise<typeof AstGrep> {
  engine ??= (async () => {
    const astGrep = await import("@ast-grep/napi");
    astGrep.registerDynamicLanguage(Object.fromEntries(parsers()));
    return astGrep;
  })();
  return engine;
}
