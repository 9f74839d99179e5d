import { isGo, isPython } from "./imports.ts";
import type { Binding, Definition, Import } from "./source.ts";
import { findOn, type Tree, textOfNode, wholeText } from "./tree.ts";

const pythonKinds = ["import_statement", "import_from_statement"];
const goKinds = ["import_spec"];

/** Longest statement that is read: a longer one is data. */
const MAX_STATEMENT = 20_000;
const MAX_MEMBERS = 500;

const MAX_BINDINGS = 5_000;

/** The imports and exports of JavaScript, Python and Go by their names; `definitions` are those on the top level. */
export function bindingsOf(tree: Tree, definitions: readonly Definition[]): Binding[] {
  const isIn = { python: isPython(tree.path), go: isGo(tree.path) };
  const kinds = isIn.python ? pythonKinds : isIn.go ? goKinds : scriptKindsIn(tree.text);
  const found = findOn(tree, kinds, wholeText).flatMap((node) => {
    const line = tree.index.lineAt(node.extent.from);
    const text = textOfNode(tree, node).slice(0, MAX_STATEMENT);
    if (isIn.python) return pythonImports(text, line);
    if (isIn.go) return goImport(text, line);
    if (node.kind === "import_statement") return scriptImports(text, line);
    if (node.kind === "export_statement") return scriptExports(text, line);
    return node.kind === "assignment_expression" ? moduleExports(text, line) : loadedNames(text, line);
  });
  const objects =
    isIn.python || isIn.go ? [] : definitions.flatMap((one) => objectMembers(one, tree.index.lines));
  return [...found, ...objects].slice(0, MAX_BINDINGS);
}

const scriptKindsIn = (text: string): string[] => [
  "import_statement",
  "export_statement",
  ...(/\b(?:require|import)\(/.test(text) ? ["variable_declarator"] : []),
  ...(text.includes("exports") ? ["assignment_expression"] : []),
];

/** A list of names without comments. Strings are not read: a list of names has none. */
function withoutComments(text: string): string {
  let bare = "";
  for (let at = 0; at < text.length; ) {
    const [line, block] = [text.indexOf("//", at), text.indexOf("/*", at)];
    const isLine = line >= 0 && (block < 0 || line < block);
    const start = isLine ? line : block;
    if (start < 0) return bare + text.slice(at);
    bare += text.slice(at, start);
    const end = isLine ? text.indexOf("\n", start) : text.indexOf("*/", start + 2);
    if (end < 0) return bare;
    at = isLine ? end : end + 2;
  }
  return bare;
}

const plainName = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

/** The bindings of a language whose imports name no names: the last part of a specifier is usually the name that is used. */
export function bindingsOfImports(imports: readonly Import[]): Binding[] {
  return imports.map(({ specifier, line }) => {
    const last = specifier.split(/[/\\.]|::/).at(-1) ?? "";
    const local = plainName.test(last) ? last : "";
    return { specifier, imported: local === "" ? "" : "*", local, line, reexport: false };
  });
}

const from = /\bfrom\s*["']([^"'\n]{1,500})["']/;
const bare = /^import\s*["']([^"'\n]{1,500})["']/;

function scriptImports(statement: string, line: number): Binding[] {
  const source = from.exec(statement);
  const specifier = source?.[1] ?? bare.exec(statement)?.[1] ?? "";
  const clause = statement.slice(0, source?.index).trimEnd();
  const main = /^import\s+(?:type\s+)?([\p{L}_$][\p{L}\p{N}_$]*)\s*(?:,|$)/u.exec(clause)?.[1];
  const all = /\*\s*as\s+([\p{L}_$][\p{L}\p{N}_$]*)/u.exec(clause)?.[1];
  const taken = [
    ...(main === undefined ? [] : [["default", main] as const]),
    ...(all === undefined ? [] : [["*", all] as const]),
    ...namePairs(/\{([^}]*)\}/.exec(clause)?.[1] ?? "", " as "),
  ];
  return bindPairs(taken.length > 0 ? taken : [["", ""]], { specifier, line, reexport: false });
}

const bindPairs = (
  pairs: readonly (readonly [string, string])[],
  rest: Pick<Binding, "specifier" | "line" | "reexport">,
): Binding[] => pairs.map(([imported, local]) => ({ imported, local, ...rest }));

const MAX_ITEM = 300;

/** Pairs of the name in the other module and the name in this file, of the list `a, b as c` or `a, b: c`. */
function namePairs(list: string, renaming: " as " | ":"): [string, string][] {
  return withoutComments(list)
    .split(",")
    .flatMap((one): [string, string][] => {
      const item = one
        .trim()
        .slice(0, MAX_ITEM)
        .replace(/\s+/g, " ")
        .replace(/^type (?=[\w$])/, "");
      const [there = "", here = there] = item.split(renaming).map((word) => word.trim());
      // A default value may follow: `a = 1`.
      return plainName.test(there) ? [[there, /^[^\s=]*/.exec(here)?.[0] ?? here]] : [];
    });
}

/** `export { a as b }`, `export * from "…"`, `export default name`. */
function scriptExports(statement: string, line: number): Binding[] {
  const offered = /^export\s+(?:type\s+)?(?:\{([^}]*)\}|\*\s*(?:as\s+([\w$]+))?)/.exec(statement);
  const specifier = offered ? (from.exec(statement)?.[1] ?? "") : "";
  if (offered?.[1] !== undefined)
    return bindPairs(namePairs(offered[1], " as "), { specifier, line, reexport: true });
  if (offered) return [{ specifier, imported: "*", local: offered[2] ?? "*", line, reexport: true }];
  const main =
    /^export\s+default\s+(?:(?:async\s+)?function\s*\*?\s*|(?:abstract\s+)?class\s+)?([\p{L}_$][\p{L}\p{N}_$]*)\s*(?:[;({<]|$|extends|implements)/u.exec(
      statement.slice(0, 300),
    )?.[1];
  if (main === undefined || main === "class" || main === "function") return [];
  return [{ specifier: "", imported: main, local: "default", line, reexport: true }];
}

const loading =
  /^(?:\(?await\s+)?(?:require|import)\(\s*["'`]([^"'`\n]{1,500})["'`]\s*\)\)?(?:\.([\p{L}_$][\p{L}\p{N}_$]*))?;?$/u;

/** The module that an expression loads, and the name that it takes: `require("…")`, `(await import("…")).name`. */
function loadedBy(value: string): Pick<Binding, "specifier" | "imported"> | null {
  const [, specifier, imported = "*"] = (value.length < 600 && loading.exec(value)) || [];
  return specifier === undefined ? null : { specifier, imported };
}

/** `const { a, b: c } = require("…")`, `const all = require("…")`. */
function loadedNames(declarator: string, line: number): Binding[] {
  const at = declarator.indexOf("=");
  const loaded = at < 0 ? null : loadedBy(declarator.slice(at + 1).trim());
  if (loaded === null) return [];
  const pattern = declarator.slice(0, at).trim();
  if (plainName.test(pattern)) return [{ ...loaded, local: pattern, line, reexport: false }];
  if (loaded.imported !== "*") return [];
  const { specifier } = loaded;
  const pairs = namePairs(pattern.replace(/^\{|\}$/g, ""), ":");
  return bindPairs(pairs, { specifier, line, reexport: false });
}

const exporting =
  /^(?:exports\s*=\s*)?(?:module\.exports|exports)(?:\.([\p{L}_$][\p{L}\p{N}_$]*))?\s*=(?!=)/u;
const chained = /^(?:module\.)?exports(?:\.[\p{L}_$][\p{L}\p{N}_$]*)?\s*=(?!=)\s*/u;
const MAX_CHAIN = 20;

/** `module.exports = …`, `exports.name = …`. */
function moduleExports(statement: string, line: number): Binding[] {
  const head = exporting.exec(statement);
  if (!head) return [];
  let value = statement.slice(head[0].length).trim();
  for (let left = MAX_CHAIN; left > 0 && chained.test(value); left--) value = value.replace(chained, "");
  if (head[1] === undefined && value.startsWith("{")) return members(value, "", line);
  return offeredValue(value, head[1] ?? "export=", line);
}

/** The members of an object literal that are names: `const api = { a, b: c, ...d }`. Its functions are definitions. */
function objectMembers({ name, kind, start, end }: Definition, lines: readonly string[]): Binding[] {
  if (kind !== "constant" && kind !== "variable") return [];
  const text = lines
    .slice(start - 1, end)
    .join("\n")
    .slice(0, MAX_STATEMENT);
  const [, declared, value = ""] = objectOf.exec(text) ?? [];
  return declared === name ? members(value, `${name}.`, start) : [];
}

const objectOf =
  /^\s*(?:export\s+)?(?:const|let|var)\s+([\p{L}_$][\p{L}\p{N}_$]*)[^={]{0,200}=\s*(\{[\s\S]*)$/u;

function members(value: string, prefix: string, line: number): Binding[] {
  const end = value.lastIndexOf("}");
  return splitTop(withoutComments(value.slice(1, end))).flatMap((one) => {
    const spread = /^\.\.\.\s*([\s\S]+)$/.exec(one)?.[1];
    if (spread !== undefined) return offeredValue(spread, `${prefix}*`, line);
    const [, key = "", given = key] = /^([\p{L}_$][\p{L}\p{N}_$]*)\s*(?::\s*([\s\S]+))?$/u.exec(one) ?? [];
    return key === "" ? [] : offeredValue(given, prefix + key, line);
  });
}

function offeredValue(value: string, local: string, line: number): Binding[] {
  const loaded = loadedBy(value);
  if (loaded) return [{ ...loaded, local, line, reexport: true }];
  const name = value.replace(/;$/, "");
  return plainName.test(name) ? [{ specifier: "", imported: name, local, line, reexport: true }] : [];
}

/** The parts of a list between commas outside of brackets, the first of them. */
function splitTop(list: string): string[] {
  const parts: string[] = [];
  let [depth, start] = [0, 0];
  for (let at = 0; at <= list.length && parts.length < MAX_MEMBERS; at++) {
    const sign = list[at] ?? ",";
    if ("([{".includes(sign)) depth += 1;
    else if (")]}".includes(sign)) depth -= 1;
    else if (sign === "," && depth <= 0) {
      parts.push(list.slice(start, at).trim());
      start = at + 1;
    }
  }
  return parts;
}

/** `import a.b`, `import a.b as c`, `from a import b as c`, `from a import *`. */
function pythonImports(text: string, line: number): Binding[] {
  const statement = text
    .replace(/#[^\n]*/g, " ")
    .replace(/[()\\]/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  const given = /^from ([\p{L}\p{N}_.]*) ?import (.+)$/u.exec(statement);
  const names = (given?.[2] ?? statement.replace(/^import /, "")).split(",").map((one) => one.trim());
  return names.filter(Boolean).flatMap((one): Binding[] => {
    const [there = "", here] = one.split(" as ").map((word) => word.trim());
    const rest = { line, reexport: false };
    if (given) return [{ specifier: given[1] ?? "", imported: there, local: here ?? there, ...rest }];
    if (here !== undefined) return [{ specifier: there, imported: "*", local: here, ...rest }];
    // `import a.b` declares `a`, through which `a.b` is reached.
    const top = there.split(".")[0] ?? there;
    const whole = { specifier: top, imported: "*", local: top, ...rest };
    return top === there ? [whole] : [whole, { specifier: there, imported: "", local: "", ...rest }];
  });
}

/** `import alias "path"`. A package usually has the name of its folder, without a version, or a prefix or suffix for the language. */
function goImport(text: string, line: number): Binding[] {
  const [, alias = "", specifier = ""] = /^([\w.]*)\s*["`]([^"`]+)["`]/.exec(text) ?? [];
  const last =
    specifier
      .replace(/\/v\d+$/, "")
      .split("/")
      .at(-1) ?? "";
  const local = alias === "_" ? "" : alias || last.replace(/^go-|[-.]go$|\.v\d+$/g, "").replaceAll("-", "");
  return specifier === ""
    ? []
    : [{ specifier, imported: local === "" ? "" : "*", local, line, reexport: false }];
}
