import { escapeInvisible } from "../../../core/text/escape-invisible.ts";
import { fence } from "../../../core/text/fence.ts";
import { extensionOf } from "../../../repo/code/languages.ts";
import { reasonByName } from "../../../repo/diff/skipped-names.ts";
import { type AnalyzedFile, type Analyzer, addedLinesOf, type Diagnostic } from "./analyzer.ts";

/** Files that people write by hand and machines execute. */
const codeExtensions = new Set(
  [
    "js jsx mjs cjs ts mts cts tsx vue svelte astro py pyi pyx go java kt kts scala groovy clj cljs rs rb rake gemspec erb",
    "c h cc cpp cxx hh hpp hxx m mm cs fs vb swift php phtml pl pm lua r jl dart ex exs erl hrl elm hs ml sol zig nim d",
    "sh bash zsh fish ps1 psm1 psd1 bat cmd awk sql tf hcl gradle cmake mk nix bzl yml yaml",
  ].flatMap((line) => line.split(" ")),
);
const codeNames = new Set(["makefile", "dockerfile", "jenkinsfile", "rakefile", "gemfile", "vagrantfile"]);
/** Windows tools save these in UTF-16. */
const wideExtensions = new Set(["ps1", "psm1", "psd1", "bat", "cmd", "vb", "sql"]);

/** Words in paths of files that are not written by hand; the second pattern only counts for linguist attributes. */
const notWritten =
  /(?:^|[/._-])(?:auto|gen|generated?|autogen(?:erated)?|vendor(?:ed)?|third[_-]?party|external|extern|dist|build|out|min|bundle[ds]?|fixtures?|testdata|snapshots?|mocks?|stubs?|protos?|pb|openapi|swagger|i18n|locales?|lock|docs?)(?=[/._-]|$)|\.d\.[cm]?ts$/i;
const notOurs = /(?:^|[/._-])(?:assets|public|static|data|sdk|migrations?|examples?|samples?)(?=[/._-]|$)/i;
/** Programs that people use for whole folders: they store large files or secrets elsewhere. */
const usualFilters = new Set(["lfs", "git-crypt", "transcrypt", "crypt", "sops", "agebox"]);

const effects = {
  diff: "git and GitHub show no diff of such files",
  generated: "GitHub collapses their diffs and does not count them",
  vendored: "GitHub treats them as third-party code",
  encoding: "the files on disk have other bytes than the reviewed ones, and may contain other code",
  filter: "a program changes them at checkout, so the code that runs is not the code that is reviewed",
} as const;
type Effect = keyof typeof effects;

/** Finds attributes that hide code from readers of the diff. They hide nothing from our reviews. */
export const hidingAttributesAnalyzer: Analyzer = {
  name: "hiding-attributes",
  async analyze(file) {
    if (!/(?:^|\/)\.gitattributes$/.test(file.path)) return [];
    const macros = hidingMacros(file.text);
    return addedLinesOf(file).flatMap(({ line, text }) => {
      const effect = hiddenBy(text, macros);
      return effect === undefined ? [] : [toDiagnostic(file, line, text, effect)];
    });
  },
};

/** A line's pattern, quoted or not, and its attributes; undefined for a comment or an empty line. */
function partsOf(line: string): { pattern: string; attributes: string[] } | undefined {
  const text = line.trim();
  if (text === "" || text.startsWith("#")) return undefined;
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(text);
  const end = quoted ? quoted[0].length : text.search(/\s|$/);
  const pattern = quoted?.[1]?.replace(/\\(.)/g, "$1") ?? text.slice(0, end);
  const attributes = text
    .slice(end)
    .split(/\s+/)
    .filter((one) => one !== "");
  return { pattern, attributes };
}

/** Names of the file's own macros (`[attr]hide -diff`) that hide, with their effect. */
function hidingMacros(text: string): ReadonlyMap<string, Effect> {
  const macros = new Map<string, Effect>([["binary", "diff"]]);
  for (const line of text.split("\n")) {
    const { pattern = "", attributes = [] } = partsOf(line) ?? {};
    if (!pattern.startsWith("[attr]")) continue;
    const effect = effectOf(attributes, macros, ALL);
    if (effect !== undefined) macros.set(pattern.slice("[attr]".length), effect);
  }
  return macros;
}

function hiddenBy(line: string, macros: ReadonlyMap<string, Effect>): Effect | undefined {
  const { pattern = "", attributes = [] } = partsOf(line) ?? {};
  const kind = pattern === "" || pattern.startsWith("[attr]") ? undefined : codeKind(pattern);
  const effect = kind === undefined ? undefined : effectOf(attributes, macros, kind);
  if (effect === "generated" || effect === "vendored") {
    return isNotWritten(pattern) || notOurs.test(pattern) ? undefined : effect;
  }
  // A program that runs at the checkout, or different bytes than in the repository, matter for generated files, too.
  return effect === "diff" && isNotWritten(pattern) ? undefined : effect;
}

function effectOf(
  attributes: readonly string[],
  macros: ReadonlyMap<string, Effect>,
  kind: string,
): Effect | undefined {
  for (const attribute of attributes) {
    const effect = effectOfOne(attribute, kind) ?? macros.get(attribute);
    if (effect !== undefined) return effect;
  }
  return undefined;
}

function effectOfOne(attribute: string, kind: string): Effect | undefined {
  const [name = "", value = "true"] = attribute.split("=");
  const isOn = !/^(?:false|0|no|off)$/i.test(value);
  if (name === "-diff") return "diff";
  if (name === "linguist-generated" && isOn) return "generated";
  if (name === "linguist-vendored" && isOn) return "vendored";
  if (name === "working-tree-encoding" && !isUsualEncoding(value, kind)) return "encoding";
  return name === "filter" && !(kind === SOME && usualFilters.has(value)) ? "filter" : undefined;
}

const isUsualEncoding = (encoding: string, kind: string) =>
  /^utf-?8$/i.test(encoding) || (wideExtensions.has(kind) && /^utf-?16/i.test(encoding));

/** Kinds of a pattern that matches every file, and of one that matches all files of a folder. */
const [ALL, SOME] = ["every file", "files in some folder"];

/** The extension or name of the code that a pattern matches, or one of the constants above; undefined for a pattern of other files. */
function codeKind(pattern: string): string | undefined {
  const path = pattern.replace(/\/$/, "");
  if (/^(?:\*|[/.])+$/.test(path)) return ALL;
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (codeNames.has(name.toLowerCase())) return name;
  const extension = extensionOf(name);
  if (codeExtensions.has(extension)) return extension;
  return /[*?[]/.test(extension === "" ? name : extension) ? SOME : undefined;
}

function isNotWritten(pattern: string): boolean {
  const path = pattern.replace(/^\//, "").replaceAll("**/", "").replaceAll("*", "x");
  return notWritten.test(path) || reasonByName(path) !== null || reasonByName(`${path}/x`) !== null;
}

function toDiagnostic(file: AnalyzedFile, line: number, text: string, effect: Effect): Diagnostic {
  return {
    path: file.path,
    line,
    severity: "medium",
    category: "security",
    title: "These attributes hide code from reviewers",
    body: `The pattern matches code that people write, and with these attributes ${effects[effect]}:\n\n${fence(escapeInvisible(text.slice(0, 300)), "text")}\n\nName only files that no one writes by hand, or remove the line.`,
    source: `hiding-attributes/${effect}`,
  };
}
