import { readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "../../../fixtures/suggestions");

/** How a language of the samples looks: what the generator needs to write edits that are right in it. */
export interface Language {
  name: string;
  /** Whether the parser of the gate is no grammar: brackets and words alone. */
  withoutGrammar?: boolean;
  /** Whether indentation makes blocks. */
  isIndented?: boolean;
  isData?: boolean;
  unit: string;
  comment: string;
  /** Whether a line is a statement, key or item of its own, before and after which others may stand. */
  isSimple(line: string, before: string): boolean;
  /** Lines that may stand before a simple one. */
  added(): string[];
  wrap?: readonly [head: string, end: string | null];
  /** Words that open and close blocks; brackets do besides. */
  words?: readonly [opens: RegExp, closes: RegExp];
}

export interface Sample {
  path: string;
  lines: readonly string[];
  language: Language;
}

const balanced = (line: string) => /^[^()[\]{}]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()[\]{}]*)*$/.test(line);
const behindStatement = (before: string) => /[{};]$|\*\/$/.test(before.trimEnd());
const statement = (indent: RegExp) => (line: string, before: string) =>
  indent.test(line) &&
  line.endsWith(";") &&
  /[(=]|\breturn\b/.test(line) &&
  balanced(line) &&
  !/^\s*(?:\}|private|readonly|break|continue|case)\b/.test(line) &&
  behindStatement(before);

const typescript: Language = {
  name: "TypeScript",
  unit: "  ",
  comment: "//",
  isSimple: statement(/^ {4}/),
  added: () => ["if (!this.ready) {", "  return null;", "}"],
  wrap: ["if (this.ready) {", "}"],
};
const tsx: Language = {
  ...typescript,
  name: "TSX",
  isSimple: (line, before) => statement(/^ {2}/)(line, before) && !line.endsWith(": void;"),
};
const java: Language = {
  ...typescript,
  name: "Java",
  unit: "    ",
  isSimple: (line, before) => statement(/^ {8}/)(line, before) && !line.includes("default"),
  added: () => ["if (name.isEmpty()) {", "    throw new IllegalStateException();", "}"],
  wrap: ["if (count > 0) {", "}"],
};
const c: Language = {
  ...typescript,
  name: "C",
  withoutGrammar: true,
  unit: "    ",
  isSimple: statement(/^ {4}/),
  added: () => ["if (ring == NULL) {", "    return 0;", "}"],
  wrap: ["if (ring->used > 0) {", "}"],
  words: [/^#ifn?(?:def)?\b/, /^#endif\b/],
};
const rust: Language = {
  ...c,
  name: "Rust",
  added: () => ["if text.is_empty() {", "    return Default::default();", "}"],
  wrap: ["if !text.is_empty() {", "}"],
};
const go: Language = {
  ...typescript,
  name: "Go",
  unit: "\t",
  isSimple: (line, before) =>
    /^\t+[\w.]/.test(line) &&
    /[(=]|\+\+|\breturn\b/.test(line) &&
    /[\w)\]"]$|\+\+$/.test(line) &&
    !/^\t*(?:case|if|for|select|default)\b/.test(line) &&
    /[{}\w)\]:"]$|\+\+$/.test(before),
  added: () => ["if s == nil {", "\tpanic(1)", "}"],
  wrap: ["if s.maxAge > 0 {", "}"],
};
const python: Language = {
  name: "Python",
  isIndented: true,
  unit: "    ",
  comment: "#",
  isSimple: (line, before) =>
    /^ {8,}[a-z_]/.test(line) &&
    /[\w)\]"]$/.test(line) &&
    /[(=]|^\s*(?:return|continue|break|raise)\b/.test(line) &&
    !/^\s*(?:for|if|def|class|else|f")/.test(line) &&
    balanced(line.replace(/\[\w*\d?:?\]/g, "")) &&
    !/[[(,]$/.test(before) &&
    !/^ +"{3}|cents:$/.test(before),
  added: () => ["if not self.name:", "    raise ValueError(self.name)"],
  wrap: ["if self.limit:", null],
};
const ruby: Language = {
  name: "Ruby",
  withoutGrammar: true,
  unit: "  ",
  comment: "#",
  isSimple: (line) =>
    /^ {4,}[@\w]/.test(line) && !/^\s*(?:if|until|case|when|else|begin|rescue|end|yield)\b|\bdo\b/.test(line),
  added: () => ["unless @store", "  return nil", "end"],
  wrap: ["if @jobs.any?", "end"],
  words: [/^\s*(?:class|def|if|unless|until|case|begin)\b|\bdo\b/, /^\s*end\b/],
};
const shell: Language = {
  name: "shell",
  withoutGrammar: true,
  unit: "  ",
  comment: "#",
  isSimple: (line) =>
    /^\s*(?:log|rm|exit|break|sleep|tar|count|keep|stamp|archive|aws s3 rm)\b/.test(line) &&
    !line.endsWith("{") &&
    !line.includes("<<"),
  added: () => ['if [ -z "$bucket" ]; then', "  exit 3", "fi"],
  wrap: ['if [ -n "$keep" ]; then', "fi"],
  words: [/^\s*(?:if|case)\b|\bdo$/, /^\s*(?:fi|esac|done)\b/],
};
const json: Language = {
  name: "JSON",
  isData: true,
  unit: "  ",
  comment: "",
  isSimple: (line) => /^\s*"\w+": [^{[]+,?$/.test(line),
  added: () => ['"added": true,'],
};
const yaml: Language = {
  name: "YAML",
  isData: true,
  isIndented: true,
  unit: "  ",
  comment: "#",
  isSimple: (line) => /^\s*[A-Za-z_-]+: [^|]+$/.test(line),
  added: () => ["added: 1"],
};
const toml: Language = {
  name: "TOML",
  isData: true,
  unit: "  ",
  comment: "#",
  isSimple: (line) => /^\w+ = (?!"""|\[)/.test(line),
  added: () => ["added = 1"],
};

const languages: Record<string, Language> = {
  "cart.ts": typescript,
  "OrderTable.tsx": tsx,
  "report.py": python,
  "store.go": go,
  "Ledger.java": java,
  "settings.json": json,
  "deploy.yml": yaml,
  "queue.rb": ruby,
  "ring.c": c,
  "lines.rs": rust,
  "backup.sh": shell,
  "service.toml": toml,
};

/** Files as people write them, one for each language. */
export const samples: readonly Sample[] = Object.entries(languages).map(([path, language]) => ({
  path: `src/${path}`,
  lines: readFileSync(join(folder, path), "utf8").trimEnd().split("\n"),
  language,
}));
