import { extensionOf } from "../../syntax/grammars.ts";

/** Words that open and close blocks; each match of a pattern is one. They see code without comments and strings. */
export interface BlockWords {
  opens: RegExp;
  closes: RegExp;
  /** Words that belong together one by one: a shell's `if` wants a `then`. */
  partners?: readonly (readonly [RegExp, RegExp])[];
}

/** What has to be known of a language to tell its code from its comments and strings. */
export interface Lexis {
  lineComments: readonly string[];
  blockComments: readonly (readonly [open: string, close: string])[];
  /** Characters that delimit strings which end on their line. */
  quotes: string;
  /** Whether `'` delimits single characters alone, and is an apostrophe or a lifetime elsewhere. */
  characterQuotes?: boolean;
  /** The quotes in which a backslash is a backslash. */
  rawQuotes?: string;
  /** Delimiters of strings that may go over several lines. */
  longStrings: readonly string[];
  /** The mark of a text that ends on a line with its own word; the word is the last group. */
  heredoc?: RegExp;
  /** Whether `r#"..."#` is a string. */
  hashStrings?: boolean;
  brackets: boolean;
  /** Whether a statement ends with a semicolon; `mostly`: unless it is the value of its block. */
  semicolons?: "always" | "mostly";
  /** Whether tags are blocks: anywhere, or only at the beginning of a line where code stands beside them. */
  tags?: "everywhere" | "leading";
  words?: BlockWords;
  /** Whether `pattern)` begins an arm of a case, and `;;` ends it. */
  arms?: boolean;
  /** Whether what a line of code belongs to is told by its indentation. */
  indented?: boolean;
  /** Whether `[section]` lines head the lines after them. */
  sections?: boolean;
}

const preprocessor: BlockWords = { opens: /^\s*#\s*if(?:n?def)?\b/g, closes: /^\s*#\s*endif\b/g };

const slashes: Lexis = {
  lineComments: ["//"],
  blockComments: [["/*", "*/"]],
  quotes: `"'`,
  longStrings: [],
  brackets: true,
};
const c: Lexis = { ...slashes, quotes: `"`, characterQuotes: true, words: preprocessor };
const withSemicolons: Lexis = { ...c, semicolons: "always" };
const hashes: Lexis = { ...slashes, lineComments: ["#"], blockComments: [] };

const python: Lexis = { ...hashes, longStrings: ['"""', "'''"], indented: true };
const data: Lexis = { ...hashes, longStrings: [] };

const rubyWords: BlockWords = {
  // At the head of a statement: behind one they are modifiers. A method that is an expression has no end.
  opens:
    /^\s*(?:(?:private|public|protected|private_class_method|[\w.@[\]:, ]+(?:\|\||&&)?=)\s+)?(?:class|module|if|unless|case|begin|def(?!\s+[\w.?!]+(?:\([^)]*\))?\s*=\s))\b|^\s*(?:while|until|for)\b|(?<!^\s*(?:while|until|for)\b.*)(?<![.:\w])do\b(?!:)/g,
  closes: /(?<![.:\w@$])end\b(?![:?!\w])/g,
};
const shellWords: BlockWords = {
  opens: /(?<=^\s*|[;&|({]\s*|\b(?:then|else|do|elif|while|until|if)\s+|!\s+)(?:if|case|do)\b(?![-=./])/g,
  closes: /(?<=^\s*|[;&|({]\s*|\b(?:then|else|do)\s+)(?:fi|esac|done)\b(?![-=./])/g,
  partners: [
    [/(?<=^\s*|[;&|({]\s*)(?:if|elif)\b/g, /(?<=^\s*|;\s*)then\b/g],
    [/(?<=^\s*|[;&|({]\s*)(?:for|while|until|select)\b/g, /(?<=^\s*|;\s*)do\b/g],
  ],
};
const luaWords: BlockWords = {
  opens: /\b(?:function|if|do|repeat)\b/g,
  closes: /\b(?:end|until)\b/g,
  partners: [[/\b(?:else)?if\b/g, /\bthen\b/g]],
};
const elixirWords: BlockWords = {
  opens: /(?<![.:\w])(?:do|fn)\b(?!:)/g,
  closes: /(?<![.:\w])end\b(?!:)/g,
};
const juliaWords: BlockWords = {
  opens:
    /^\s*(?:@\w+\s+)*(?:function|macro|if|for|while|begin|let|quote|(?:bare)?module|(?:mutable\s+)?struct|try)\b|\bdo\b(?:\s+[\w, ]+)?$|=\s*(?:if|begin|let|try)\b/g,
  closes: /^\s*end\b/g,
};
const makeWords: BlockWords = {
  opens: /^\s*(?:ifn?eq|ifn?def|define)\b/g,
  closes: /^\s*(?:endif|endef)\b/g,
};
/** For languages that nobody has described here. */
const anyWords: BlockWords = {
  opens:
    /^\s*(?:begin|if|for|while|case|do|loop|function|procedure|sub|class|module|record|select|try|with)\b|\bbegin\s*$/gi,
  closes: /^\s*end\b/gi,
};

const shell: Lexis = {
  ...hashes,
  rawQuotes: "'",
  heredoc: /<<-?\s*(["']?)(\w+)\1/y,
  words: shellWords,
  arms: true,
};
const markup: Lexis = {
  ...slashes,
  lineComments: [],
  blockComments: [["<!--", "-->"]],
  quotes: "",
  brackets: false,
  tags: "everywhere",
};
const prose: Lexis = { ...markup, tags: "leading" };

const families: readonly (readonly [extensions: string, Lexis])[] = [
  ["c h cc cpp cxx hh hpp hxx m mm ino cu glsl hlsl zig", withSemicolons],
  ["cs", { ...withSemicolons, longStrings: ['"""'] }],
  ["rs", { ...c, hashStrings: true, semicolons: "mostly" }],
  ["java", { ...c, longStrings: ['"""'] }],
  ["swift scala sc kt kts", { ...c, longStrings: ['"""'] }],
  ["go", { ...c, longStrings: ["`"] }],
  ["js jsx mjs cjs ts mts cts tsx", { ...slashes, longStrings: ["`"] }],
  ["dart", { ...slashes, longStrings: ['"""', "'''"], semicolons: "always" }],
  ["groovy gradle", { ...slashes, longStrings: ['"""', "'''"] }],
  [
    "php",
    { ...slashes, lineComments: ["//", "#"], heredoc: /<<<\s*(["']?)(\w+)\1/y, tags: "leading" as const },
  ],
  ["scss less sol proto thrift prisma bicep jsonnet json jsonc json5 webmanifest code-workspace", slashes],
  ["css", { ...slashes, lineComments: [] }],
  ["py pyi", python],
  ["coffee nim gd", python],
  ["sass styl", { ...slashes, indented: true }],
  ["haml slim pug jade", { ...prose, indented: true }],
  ["fs fsx hs elm purs", { ...c, lineComments: ["//", "--"], indented: true }],
  [
    "rb rake gemspec cr",
    {
      ...hashes,
      blockComments: [["=begin", "=end"]],
      heredoc: /<<[-~]?(["'`]?)([A-Z_]\w*)\1/y,
      words: rubyWords,
    },
  ],
  ["sh bash zsh ksh", shell],
  ["pl pm", { ...hashes, heredoc: /<<~?(["']?)([A-Z_]\w*)\1/y }],
  [
    "tf hcl tfvars",
    { ...hashes, lineComments: ["#", "//"], quotes: `"`, heredoc: /<<-?(["']?)([A-Z_]\w*)\1/y },
  ],
  ["ex exs", { ...hashes, longStrings: ['"""', "'''"], words: elixirWords }],
  ["jl", { ...hashes, longStrings: ['"""'], quotes: `"`, characterQuotes: true, words: juliaWords }],
  ["lua", { ...hashes, lineComments: ["--"], blockComments: [["--[[", "]]"]], words: luaWords }],
  ["mk", { ...hashes, quotes: "", words: makeWords }],
  ["r nix ps1 cmake graphql gql dockerfile", hashes],
  ["sql", { ...slashes, lineComments: ["--"], rawQuotes: "'", words: anyWords }],
  ["yml yaml", { ...hashes, quotes: "", brackets: false, indented: true }],
  ["toml", { ...data, longStrings: ['"""', "'''"], sections: true }],
  ["ini cfg conf properties editorconfig", { ...data, lineComments: ["#", ";"], quotes: "", sections: true }],
  ["env", { ...data, quotes: "" }],
  ["html htm xml xhtml svg xsd xsl xslt csproj fsproj vbproj props targets plist hbs", markup],
  ["vue svelte astro", { ...slashes, longStrings: ["`"], tags: "leading" as const }],
  ["md markdown mdx rst txt adoc text", prose],
];

const byExtension = new Map(
  families.flatMap(([extensions, lexis]) => extensions.split(" ").map((extension) => [extension, lexis])),
);
const byName: Record<string, Lexis> = {
  makefile: { ...hashes, quotes: "", words: makeWords },
  dockerfile: hashes,
  gemfile: { ...hashes, words: rubyWords },
  rakefile: { ...hashes, words: rubyWords },
};

const proseNames =
  /^(?:readme|licen[cs]e|copying|changelog|changes|authors|contributors|contributing|notice|todo)$/;

const unknown: Lexis = { ...slashes, lineComments: [], blockComments: [], quotes: "", words: anyWords };

/** What is known of a path's language; of an unknown one that it has brackets. */
export function lexisOf(path: string): Lexis {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  if (proseNames.test(name)) return prose;
  return byName[name] ?? byExtension.get(extensionOf(path)) ?? unknown;
}

/** Files that people read as text: no sign in them has a meaning for a compiler. */
export const isProse = (path: string) => lexisOf(path) === prose;
