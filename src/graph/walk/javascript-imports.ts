import type { Context } from "./context.ts";
import type { Reduced } from "./reduced-tree.ts";
import type { Scope } from "./scope.ts";

const from = /\bfrom\s*["']([^"'\n]{1,500})["']/;
const bare = /^import\s*["']([^"'\n]{1,500})["']/;
const loading = /^(?:require|import)\(\s*["'`]([^"'`\n]{1,500})["'`]\s*\)/;

/** What `import` and `export … from` bring, and under which names a file exports what it has. */
export function importsOf(node: Reduced, { text, notes }: Context): void {
  const statement = text(node);
  const line = node.line;
  const clauseEnd = Math.max(0, statement.search(from));
  const clause = statement.slice(0, clauseEnd || statement.length);
  const specifier = from.exec(statement)?.[1] ?? bare.exec(statement)?.[1] ?? "";
  if (node.kind === "export_statement") {
    for (const [there, here] of listed(clause))
      notes.import({ specifier, imported: there, local: here, line, again: true });
    const all = /^export\s+(?:type\s+)?\*\s*(?:as\s+([\w$]+))?/.exec(clause);
    if (all) notes.import({ specifier, imported: "*", local: all[1] ?? "*", line, again: true });
    const main =
      /^export\s+default\s+(?:(?:async\s+)?function\s*\*?\s*|(?:abstract\s+)?class\s+)?([\p{L}_$][\p{L}\p{N}_$]*)\s*(?:[;({<]|$|extends|implements)/u.exec(
        statement.slice(0, 300),
      );
    if (main?.[1] && main[1] !== "class" && main[1] !== "function")
      notes.import({ specifier: "", imported: main[1], local: "default", line, again: true });
    return;
  }
  const add = (imported: string, local: string) =>
    notes.import({ specifier, imported, local, line, again: false });
  const main = /^import\s+(?:type\s+)?([\p{L}_$][\p{L}\p{N}_$]*)\s*(?:,|$)/u.exec(clause.trimEnd());
  if (main?.[1]) add("default", main[1]);
  const all = /\*\s*as\s+([\p{L}_$][\p{L}\p{N}_$]*)/u.exec(clause);
  if (all?.[1]) add("*", all[1]);
  const names = listed(clause);
  for (const [there, here] of names) add(there, here);
  if (!main && !all && names.length === 0) add("", "");
}

/** Pairs of the name there and the name here in `{ a, b as c }`. */
function listed(clause: string): [string, string][] {
  const list = /^(?:import|export)\b[^{(]{0,200}\{([^}]{0,20000})\}/.exec(clause)?.[1];
  if (
    list === undefined ||
    /^export\s+(?:default|const|let|var|class|function|async|abstract|enum|interface|namespace|declare)\b/.test(
      clause,
    )
  )
    return [];
  return list.split(",").flatMap((one): [string, string][] => {
    const words = one
      .replace(/\/\*.*?\*\/|\/\/.*/g, "")
      .trim()
      .replace(/^type\s+(?=[\w$])/, "")
      .split(/\s+as\s+/);
    const [there = "", here = there] = words.map((word) => word.trim());
    return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(there) ? [[there, here]] : [];
  });
}

/** The module that a call loads: `require("…")`, `import("…")`. */
export const importedBy = (text: string): string | null => {
  const found = loading.exec(text);
  return found && found[0].length === text.length ? (found[1] ?? null) : null;
};

/** The module that a variable is given, whole. */
export function loads(node: Reduced, { text }: Context): string | null {
  const value = /^[^=]{1,2000}=\s*(?:\(?await\s+)?((?:require|import)\([\s\S]{1,300})$/.exec(text(node))?.[1];
  return value === undefined ? null : importedBy(value.trim());
}

/** Names that a loaded module gives: `const { a, b: c } = require("…")`. */
export function loadedFrom(
  specifier: string,
  pattern: Reduced,
  scope: Scope,
  { text, notes }: Context,
): void {
  const line = pattern.line;
  const add = (imported: string, local: string) =>
    notes.importIn(scope, { specifier, imported, local, line, again: false });
  if (pattern.kind === "identifier") {
    add("*", text(pattern));
    return;
  }
  for (const one of pattern.children) {
    const [value] = one.children;
    const key = /^[\w$]+/.exec(text(one))?.[0];
    if (one.kind === "shorthand_property_identifier_pattern") add(text(one), text(one));
    else if (one.kind === "pair_pattern" && key && value) add(key, text(value));
  }
}
