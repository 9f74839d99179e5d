import type * as AstGrep from "@ast-grep/napi";

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

const grammars: readonly Grammar[] = [
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

/** The file name's last extension in lower case, without the dot; empty if there is none. */
export function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1).toLowerCase() : "";
}

/** The grammar for a path; null if there is none. */
export function grammarOf(path: string): Grammar | null {
  const extension = extensionOf(path);
  return grammars.find((grammar) => grammar.extensions.includes(extension)) ?? null;
}

/** All grammars of a language: its dialects. */
export function grammarsOf(language: Language): Grammar[] {
  return grammars.filter((grammar) => grammar.language === language);
}

let engine: Promise<typeof AstGrep> | undefined;

/**
 * ast-grep with all known grammars. It uses only the first registration of grammars and ignores later ones silently, so all are registered
 * at once; a grammar's library is a memory-mapped file that costs nothing until it parses.
 */
export function loadAstGrep(): Promise<typeof AstGrep> {
  engine ??= (async () => {
    const [astGrep, python, go, java, c, cpp, rust, ruby, kotlin, csharp, php] = await Promise.all([
      import("@ast-grep/napi"),
      import("@ast-grep/lang-python"),
      import("@ast-grep/lang-go"),
      import("@ast-grep/lang-java"),
      import("@ast-grep/lang-c"),
      import("@ast-grep/lang-cpp"),
      import("@ast-grep/lang-rust"),
      import("@ast-grep/lang-ruby"),
      import("@ast-grep/lang-kotlin"),
      import("@ast-grep/lang-csharp"),
      import("@ast-grep/lang-php"),
    ]);
    astGrep.registerDynamicLanguage({
      python: python.default,
      go: go.default,
      java: java.default,
      c: c.default,
      cpp: cpp.default,
      rust: rust.default,
      ruby: ruby.default,
      kotlin: kotlin.default,
      csharp: csharp.default,
      php: php.default,
    });
    return astGrep;
  })();
  return engine;
}
